"""Regions, detectors and the selection of C on a few simulated frames."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from ermlab.detection.location import rotations
from ermlab.features.patches import Region, RegionGrids
from ermlab.kernels.slot import score_windows
from reproduction.claims.results import read_json, write_json
from reproduction.datasets.kit_ais_cars import read_kit_ais_cars, simulate_kit_ais_cars
from reproduction.experiments.aerial_cars import prepare
from reproduction.experiments.aerial_cars import train as train_stage
from reproduction.experiments.aerial_cars.detectors import Trainer, choose_regions
from reproduction.experiments.aerial_cars.prepare import frame_grid, read_frames
from reproduction.experiments.aerial_cars.protocol import (
    LATENT,
    METHODS,
    Frames,
    detect,
    keep_best,
    load_grids,
)
from reproduction.experiments.aerial_cars.select import at_edge, best_C, validate_pairs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kit")
    simulate_kit_ais_cars(folder, 2, "smoke")
    return folder


@pytest.fixture(scope="module")
def frames(folder):
    return read_frames(folder, 1)


def test_frames_are_spread_evenly_and_know_which_vehicles_are_not_cars(folder, frames):
    data = read_kit_ais_cars(folder)
    assert len(frames.images) == 3
    assert len(read_frames(folder, 5).images) == 6
    assert frames.scene_names == sorted(set(data.scenes))
    first = np.flatnonzero(data.scenes == frames.scenes[0])[0]
    boxes = data.boxes[first]
    np.testing.assert_allclose(frames.centers[0], boxes[:, :2] / 2 + boxes[:, 2:] / 2)
    assert (~frames.others[0]).sum() == len(data.cars(first))


def test_regions_show_their_car_in_the_middle_or_none_at_all(settings, frames):
    scene = frames.scene_names[0]
    regions, labels = choose_regions(frames, scene, settings, np.random.default_rng(0))
    assert [len(y) > 0 for y in labels] == [True] * 5 + [False] * 6
    for region, y in zip(regions, labels, strict=True):
        assert region.image in frames.of_scene(scene)
        near = frames.centers[region.image] - (region.x, region.y)
        if len(y):
            assert np.abs(y[0]).max() <= settings.cell / 2 + 0.5
            # Every vehicle that could be mistaken for the car is in the label.
            close = np.linalg.norm(near, axis=1) < 25
            assert len(y) >= close.sum()
        else:
            assert np.linalg.norm(near, axis=1).min() > settings.tolerance
    again, _ = choose_regions(frames, scene, settings, np.random.default_rng(0))
    assert again == regions


def test_labels_have_the_vehicles_in_view(settings):
    """Another vehicle comes into view at a distance below 5 (9 + 2) / sqrt(2), about 39 pixels."""
    frames = Frames(
        images=(np.zeros((300, 400), dtype=np.uint8),),
        centers=(np.array([[50.0, 50], [80, 50], [150, 50]]),),  # a car, a truck 30 pixels from it, a car
        others=(np.array([False, True, False]),),
        scenes=np.array(["a"]),
    )
    regions, labels = choose_regions(frames, "a", settings, np.random.default_rng(0))
    views = {
        tuple(map(tuple, np.add(label, (region.x, region.y)).tolist()))
        for region, label in zip(regions[:2], labels, strict=False)
    }
    assert views == {((50, 50), (80, 50)), ((150, 50),)}


def test_no_room_for_background(settings, frames):
    crowded = dataclasses.replace(settings, tolerance=1000.0)
    with pytest.raises(ValueError, match="no room for 6 regions without a vehicle"):
        choose_regions(frames, frames.scene_names[0], crowded, np.random.default_rng(0))


@pytest.mark.parametrize("method", METHODS)
def test_training_on_two_scenes_looks_at_no_other(settings, frames, method):
    test, *others = frames.scene_names
    trainer = Trainer(frames, settings, seed=0)
    low, high = trainer.train(method, others, [0.3, 0.03])
    assert {region.image for region in trainer.grids._grids} <= {
        i for scene in others for i in frames.of_scene(scene)
    }
    assert frames.of_scene(test)
    assert low.gap <= settings.tol
    assert np.linalg.norm(low.w) < np.linalg.norm(high.w)
    assert len(low.w) == (3 if METHODS[method][0] else 1) * 1520
    samples = low.n_samples * (4 if METHODS[method][1] else 1)
    assert 0 < high.n_virtual <= samples
    assert trainer.grids.computed == samples
    again = Trainer(frames, settings, seed=0).train(method, others, [0.03])[0]
    np.testing.assert_array_equal(again.w, low.w)


def test_methods_share_the_cells_of_turned_regions(settings, frames):
    trainer = Trainer(frames, settings, seed=0)
    scenes = frames.scene_names[:2]
    for method in METHODS:
        trainer.train(method, scenes, [0.1])
    assert trainer.grids.computed == 2 * 11 * 4
    trainer.train("slot_equivariant", frames.scene_names, [0.1])
    assert trainer.grids.computed == 3 * 11 * 4


def test_C_is_selected_among_the_training_scenes(settings, frames):
    fewer = dataclasses.replace(settings, rotations=2)
    grids = [frame_grid(image, 5) for image in frames.images]
    rows = pd.DataFrame(
        validate_pairs(Trainer(frames, fewer, 0), grids, {"linear": [0.1, 0.01], "slot": [0.1, 0.01, 1.0]})
    )
    assert rows.groupby("method", sort=False)["price"].nunique().to_dict() == {
        "linear": 2,
        "linear_equivariant": 2,
        "slot": 3,
        "slot_equivariant": 3,
    }
    assert len(rows) == (2 + 2 + 3 + 3) * 6
    assert rows["ap"].between(0, 1).all()
    assert (rows["train"] != rows["test"]).all()
    a, b, c = frames.scene_names
    # Pairs with the test scene are ignored.
    rows["ap"] = np.where(rows["price"] == 0.01, 0.9, 0.1)
    inner = rows["train"].isin([a, b]) & rows["test"].isin([a, b])
    rows.loc[inner, "ap"] = np.where(rows.loc[inner, "price"] == 0.1, 0.3, 0.2)
    assert best_C(rows, "slot", [a, b]) == 0.1
    assert best_C(rows, "slot", [a, c]) == 0.01
    # With three values of C the choice 0.1 is inside the range; 0.01 is at its edge, and so are both of two.
    assert at_edge(rows, [a, b, c]) == [
        ("linear", a, 0.01),
        ("linear", b, 0.01),
        ("linear", c, 0.1),
        ("linear_equivariant", a, 0.01),
        ("linear_equivariant", b, 0.01),
        ("linear_equivariant", c, 0.1),
        ("slot", a, 0.01),
        ("slot", b, 0.01),
        ("slot_equivariant", a, 0.01),
        ("slot_equivariant", b, 0.01),
    ]
    with pytest.raises(ValueError, match="no pair of"):
        best_C(rows, "cubic", [a, b])


def test_stages_hold_out_one_scene_and_use_its_C(settings, folder, tmp_path):
    names = ("receipt", "frames", "grids", "validated", "detections", "training", "timings")
    paths = {name: str(tmp_path / name) for name in names}
    for name in ("frames", "grids"):
        paths[name] += ".npz"
    write_json(paths["receipt"], {"folder": str(folder)})
    prepare.main(paths, paths, frames=1, cell=5)
    frames, grids = Frames.load(paths["frames"]), load_grids(paths["grids"])
    np.testing.assert_array_equal(grids[1], frame_grid(frames.images[1], 5))
    a, b, c = frames.scene_names
    # C = 0.1 is best on the pair of the scenes that fold 1 trains on, and 0.01 on the others.
    pd.DataFrame(
        [
            {
                "method": method,
                "price": C,
                "train": train,
                "test": test,
                "ap": C if b not in (train, test) else -C,
            }
            for method in METHODS
            for train in (a, b, c)
            for test in (a, b, c)
            if train != test
            for C in (0.01, 0.1)
        ]
    ).to_csv(paths["validated"], index=False)
    train_stage.main(paths, paths, seed=3, fold=1, settings=settings)
    found, training = pd.read_csv(paths["detections"]), pd.read_csv(paths["training"])
    (frame,) = frames.of_scene(b)
    assert set(found["frame"]) == {frame}
    assert training["method"].tolist() == [*METHODS, LATENT]
    detection = {"latent_detection", "plain_detection", "slot_scores", "gaussian_scores"}
    assert set(read_json(paths["timings"])) == {*METHODS, LATENT, *detection}
    assert training["samples"].tolist() == [2 * 11] * 5
    assert (training["gap"] <= settings.tol).all()
    for name in ("slot_equivariant", "linear"):
        (detector,) = Trainer(frames, settings, seed=3).train(name, [a, c], [0.1])
        assigned = detector.slots.assign_windows(grids[frame])
        centers, scores = detect(detector.scores(grids[frame], assigned), settings)
        rows = found[found["method"] == name]
        np.testing.assert_array_equal(rows[["x", "y"]], centers)
        np.testing.assert_allclose(rows["score"], scores)
        assert training.set_index("method").loc[name, "virtual_samples"] == detector.n_virtual


def test_the_latent_detector_searches_all_poses_of_a_frame(settings, frames):
    a, b, _ = frames.scene_names
    detector = Trainer(frames, settings, seed=0).train_latent([a, b], 0.1)
    assert detector.gap <= settings.tol
    image = frames.images[0][:101, :131]
    centers, scores = detector.scores(image, settings)
    assert ((centers >= 0) & (centers < (131, 101))).all()
    # The score of a window is that of the region around its center, rotated by one of the angles.
    grids = RegionGrids([image], 9, 5)
    near = np.flatnonzero((np.abs(centers - (65, 50)) < 12).all(axis=1))
    assert len(near) >= 4 * 16
    for i in near[:: len(near) // 12]:
        x, y = map(int, centers[i])
        turned = [grids.grid(Region(0, x, y, t.angle)) for t in rotations(4)]
        candidates = [score_windows(detector.w, grid, np.zeros((3, 3), int))[1, 1] for grid in turned]
        assert np.abs(np.subtract(candidates, scores[i])).min() < 1e-4
    kept, best = keep_best(centers, scores, settings)
    assert best[0] == scores.max()
    assert len(kept) <= settings.max_boxes
