"""Rotations make the slot detector better on real frames, with few regions and rotations."""

import numpy as np

from ermlab.metrics.detection import average_precision
from reproduction.experiments.aerial_cars.detectors import Trainer
from reproduction.experiments.aerial_cars.prepare import frame_grid, read_frames
from reproduction.experiments.aerial_cars.protocol import Settings, car_curve, criteria, detect

SETTINGS = Settings(
    cell=5,
    cells=11,
    tolerance=10.0,
    n_slots=8,
    rotations=8,
    cars=30,
    backgrounds=40,
    slot_windows=1000,
    tol=0.1,
    max_boxes=100,
    max_overlap=0.3,
)


def test_equivariance_carries_a_horizontal_street_to_a_diagonal_one(acquired):
    frames = read_frames(acquired("kit_ais_cars"), 2)
    (frame, *_) = frames.of_scene("MOS74-92")
    grid = frame_grid(frames.images[frame], SETTINGS.cell)
    trainer = Trainer(frames, SETTINGS, seed=0)
    found = {}
    for method in ("slot", "slot_equivariant"):
        (detector,) = trainer.train(method, ["MOS155-179", "MunichStreet02"], [0.1])
        detections = detect(detector.scores(grid, detector.slots.assign_windows(grid)), SETTINGS)
        measure = criteria(SETTINGS.tolerance)["center"]
        curve = car_curve(frames, [frame], [detections], SETTINGS.side, measure)
        found[method] = average_precision(curve.precision, curve.recall)
    assert found["slot_equivariant"] > 0.3
    assert found["slot_equivariant"] > found["slot"] + 0.1


def test_cars_stand_as_far_apart_as_the_tolerance_assumes(acquired):
    frames = read_frames(acquired("kit_ais_cars"), 10)
    nearest = [
        np.min(np.linalg.norm(cars[:, None] - cars[None], axis=-1) + 1e6 * np.eye(len(cars)))
        for cars in (centers[~others] for centers, others in zip(frames.centers, frames.others, strict=True))
    ]
    assert 19 < min(nearest) < 21
