"""The experiment with aerial cars on a few simulated frames: regions, folds, prices and detections."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from ermlab.detection.boxes import overlap
from ermlab.kernels.slot import windows_shape
from reproduction.datasets.kit_ais_cars import read_kit_ais_cars, simulate_kit_ais_cars
from reproduction.experiments.aerial_cars.measures import squares
from reproduction.experiments.aerial_cars.protocol import (
    METHODS,
    PAD,
    Settings,
    Trainer,
    choose_prices,
    choose_regions,
    chosen_price,
    detect,
    frame_grid,
    read_frames,
    window_centres,
)

SETTINGS = Settings(
    cell=5,
    cells=9,
    tolerance=10.0,
    n_slots=3,
    rotations=4,
    cars=5,
    backgrounds=6,
    slot_windows=60,
    tol=0.1,
    max_boxes=30,
    max_overlap=0.3,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kit")
    simulate_kit_ais_cars(folder, 2, "smoke")
    return folder


@pytest.fixture(scope="module")
def frames(folder):
    return read_frames(folder, 1)


def test_frames_are_spread_evenly_and_know_which_vehicles_are_no_cars(folder, frames):
    data = read_kit_ais_cars(folder)
    assert len(frames.images) == 3
    assert len(read_frames(folder, 5).images) == 6
    assert frames.scene_names == sorted(set(data.scenes))
    first = np.flatnonzero(data.scenes == frames.scenes[0])[0]
    boxes = data.boxes[first]
    np.testing.assert_allclose(frames.centres[0], boxes[:, :2] / 2 + boxes[:, 2:] / 2)
    assert (~frames.others[0]).sum() == len(data.cars(first))


def test_settings_are_taken_out_of_a_larger_mapping():
    values = dataclasses.asdict(SETTINGS)
    assert Settings.of({**values, "seeds": 3}) == SETTINGS
    assert SETTINGS.side == 35


def test_windows_of_a_frame_are_where_their_cells_are():
    """A bright square of the size of a window fills the cells of just one window."""
    image = np.zeros((80, 90), dtype=np.uint8)
    grid = frame_grid(image, 5)
    centres = window_centres(windows_shape(grid.shape[:2]), 5)
    assert centres[PAD - 1, PAD - 1].tolist() == [17, 17]
    assert centres.min() <= 3
    assert (centres[-1, -1] >= (86, 76)).all()
    image[20:55, 30:65] = np.random.default_rng(0).integers(0, 256, (35, 35))
    energy = frame_grid(image, 5).sum(axis=2)
    sums = np.array(
        [
            [energy[i : i + 7, j : j + 7].sum() for j in range(centres.shape[1])]
            for i in range(centres.shape[0])
        ]
    )
    assert centres[np.unravel_index(sums.argmax(), sums.shape)].tolist() == [47, 37]


def test_regions_show_their_car_in_the_middle_or_none_at_all(frames):
    scene = frames.scene_names[0]
    regions, labels = choose_regions(frames, scene, SETTINGS, np.random.default_rng(0))
    assert [len(y) > 0 for y in labels] == [True] * 5 + [False] * 6
    for region, y in zip(regions, labels, strict=True):
        assert region.image in frames.of_scene(scene)
        near = frames.centres[region.image] - (region.x, region.y)
        if len(y):
            assert np.abs(y[0]).max() <= SETTINGS.cell / 2 + 0.5
            # Every vehicle that could be mistaken for the car is in the label.
            close = np.linalg.norm(near, axis=1) < 25
            assert len(y) >= close.sum()
        else:
            assert np.linalg.norm(near, axis=1).min() > SETTINGS.tolerance
    again, _ = choose_regions(frames, scene, SETTINGS, np.random.default_rng(0))
    assert again == regions


def test_no_room_for_background(frames):
    crowded = dataclasses.replace(SETTINGS, tolerance=1000.0)
    with pytest.raises(ValueError, match="no room for 6 regions without a vehicle"):
        choose_regions(frames, frames.scene_names[0], crowded, np.random.default_rng(0))


@pytest.mark.parametrize("method", METHODS)
def test_training_on_two_scenes_looks_at_no_other(frames, method):
    test, *others = frames.scene_names
    trainer = Trainer(frames, SETTINGS, seed=0)
    low, high = trainer.train(method, others, [0.3, 0.03])
    assert {region.image for region in trainer.grids._grids} <= {
        i for scene in others for i in frames.of_scene(scene)
    }
    assert frames.of_scene(test)
    assert low.gap <= SETTINGS.tol
    assert np.linalg.norm(low.w) < np.linalg.norm(high.w)
    assert len(low.w) == (3 if METHODS[method][0] else 1) * 1520
    samples = low.samples * (4 if METHODS[method][1] else 1)
    assert 0 < high.virtual_samples <= samples
    assert trainer.grids.computed == samples
    again = Trainer(frames, SETTINGS, seed=0).train(method, others, [0.03])[0]
    np.testing.assert_array_equal(again.w, low.w)


def test_methods_share_the_cells_of_turned_regions(frames):
    trainer = Trainer(frames, SETTINGS, seed=0)
    scenes = frames.scene_names[:2]
    for method in METHODS:
        trainer.train(method, scenes, [0.1])
    assert trainer.grids.computed == 2 * 11 * 4
    trainer.train("slot_equivariant", frames.scene_names, [0.1])
    assert trainer.grids.computed == 3 * 11 * 4


def test_detections_are_the_best_that_keep_apart():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20, 25)).astype(np.float32)
    centres, values = detect(scores, SETTINGS)
    assert len(centres) <= SETTINGS.max_boxes
    assert (np.diff(values) <= 0).all()
    assert values[0] == scores.max()
    shared = overlap(squares(centres, 35), squares(centres, 35))
    assert (shared[~np.eye(len(centres), dtype=bool)] <= SETTINGS.max_overlap).all()


def test_prices_are_chosen_among_the_training_scenes(frames):
    settings = dataclasses.replace(SETTINGS, rotations=2)
    grids = [frame_grid(image, 5) for image in frames.images]
    rows = pd.DataFrame(choose_prices(Trainer(frames, settings, 0), grids, [0.1, 0.01]))
    assert len(rows) == len(METHODS) * 6 * 2
    assert rows["ap"].between(0, 1).all()
    assert (rows["train"] != rows["test"]).all()
    a, b, c = frames.scene_names
    # Whatever concerns the test scene has no say.
    rows["ap"] = np.where(rows["price"] == 0.01, 0.9, 0.1)
    inner = rows["train"].isin([a, b]) & rows["test"].isin([a, b])
    rows.loc[inner, "ap"] = np.where(rows.loc[inner, "price"] == 0.01, 0.2, 0.3)
    assert chosen_price(rows, "slot", [a, b]) == 0.1
    assert chosen_price(rows, "slot", [a, c]) == 0.01
    with pytest.raises(ValueError, match="no pair of"):
        chosen_price(rows, "cubic", [a, b])
