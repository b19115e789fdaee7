"""Detections and costs of two classes in two small images, counted by hand, and the whole evaluation."""

import json

import numpy as np
import pandas as pd
import pytest

from ermlab.detection import Detection, WordGrid, best_boxes, linear, measure_costs, save_word_grids
from reproduction.claims.results import read_results
from reproduction.datasets.voc2007_sample import CLASSES
from reproduction.experiments.detection_strategies import evaluate
from reproduction.experiments.detection_strategies.evaluate import (
    GAMMAS,
    N_DETECTIONS,
    box_areas,
    found_share,
    main,
    measure,
    same_detections_share,
    shown_detections,
    strategies_by_class,
    tight_over_published,
    weighted_points,
)
from reproduction.experiments.detection_strategies.prepare import AnnotatedImages

NAMES = ["cat", "dog"]
CAT, DOG = (CLASSES.index(name) for name in NAMES)


def annotated(**changes):
    """Image 0 is for training; image 3 has a cat and a difficult dog, image 5 two dogs."""
    arrays = {
        "train": np.array([0]),
        "test": np.array([3, 5]),
        "shapes": np.tile([8, 10], (6, 1)),
        "images": np.array([0, 3, 3, 5, 5]),
        "boxes": np.array([[0, 0, 1, 1], [0, 0, 3, 3], [5, 5, 9, 7], [0, 0, 1, 1], [2, 2, 5, 5]]),
        "labels": np.array([CAT, CAT, DOG, DOG, DOG]),
        "difficult": np.array([False, False, True, False, False]),
    }
    return AnnotatedImages(**(arrays | changes))


def detections(*boxes):
    """Return the same detections for each gamma; boxes after the given ones are the last pixel."""
    boxes = [*boxes, *[(9, 7, 9, 7)] * (N_DETECTIONS - len(boxes))]
    return [[Detection(np.array(box), 10.0 - k, 1) for k, box in enumerate(boxes)] for _ in GAMMAS]


@pytest.fixture
def found():
    """The cat is found, one of the two easy dogs; a gamma other than .5 finds nothing."""
    nothing = detections()
    by_pair = {
        (0, 0): detections((0, 0, 3, 3)),
        (0, 1): detections((0, 0, 9, 7)),
        (1, 0): detections((5, 5, 9, 7)),
        (1, 1): detections((0, 0, 5, 1), (2, 2, 5, 4)),
    }
    middle = GAMMAS.index(0.5)
    for pair, by_gamma in by_pair.items():
        by_pair[pair] = [by_gamma[g] if g == middle else nothing[g] for g in range(len(GAMMAS))]
    return by_pair


def test_objects_of_an_image():
    images = annotated()
    assert images.present(3) == {CAT, DOG}
    assert images.easy_objects(3)[0].tolist() == [[0, 0, 3, 3]]
    assert images.easy_objects(5)[1].tolist() == [DOG, DOG]
    assert images.all_boxes(3).tolist() == [[0, 0, 3, 3], [5, 5, 9, 7]]
    assert images.shape(3) == (8, 10)


def test_share_of_objects_found(found):
    assert found_share(annotated(), [3, 5], NAMES, found) == 2 / 3  # the difficult dog does not count


def test_median_areas(found):
    """All boxes but one or two of ten have one of 80 pixels; with large boxes alone the median is theirs."""
    assert box_areas(found, [(8, 10)] * 2) == pytest.approx(np.full((3, 2), 1 / 80))
    large = [[Detection(np.array([0, 0, 3, 1]), 1.0, 1)] * N_DETECTIONS] * len(GAMMAS)
    areas = box_areas(found | {(1, 0): large, (1, 1): large}, [(8, 10), (8, 20)])
    # Of the dog, ten boxes cover 8 of 80 pixels and ten cover 8 of 160.
    assert areas[0] == pytest.approx([np.median([1 / 80, 1 / 160]), (8 / 80 + 8 / 160) / 2])


def test_detections_shown(found):
    present = np.array([[True, False], [False, True]])
    shown = shown_detections(found, NAMES, [3, 5], present)
    assert list(shown["class"].unique()) == ["cat", "dog"]
    assert shown.groupby("class")["image"].unique().map(list).to_dict() == {"cat": [3], "dog": [5]}
    second = shown[(shown["class"] == "dog") & (shown["gamma"] == 0.5) & (shown["rank"] == 2)].iloc[0]
    assert second[["left", "top", "right", "bottom", "score"]].tolist() == [2, 2, 5, 4, 9]
    absent = shown_detections(found, NAMES, [3, 5], np.array([[False, False], [True, True]]))
    assert list(absent["class"].unique()) == ["dog"]


def test_strategies_are_of_the_sum_over_images():
    """With 5, 9, 9 / 4, 1 / 3 twice and 5, 1, 1 / 5, 1 / 5 once the sums are 15, 19, 19 / 13, 3 / 11."""
    once, keep = (
        np.array(rows) for rows in ([[5.0, 9, 9], [0, 4, 1], [0, 0, 3]], [[5.0, 1, 1], [0, 5, 1], [0, 0, 5]])
    )
    splits = np.stack([[[once, once, keep], [keep, keep, keep]]] * 3)
    table = strategies_by_class(splits, NAMES, np.arange(6.0).reshape(3, 2))
    first = table.iloc[0]
    assert (first["class"], first["gamma"], first["reset"], first["box_area"]) == ("cat", 0.25, "10", 0)
    assert (first["all_reset"], first["no_reset"]) == ((15 + 13 + 11) / 31, (15 + 19 + 19) / 31)
    assert table["box_area"].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.fixture
def grids():
    rng = np.random.default_rng(0)
    return [WordGrid(rng.integers(4, size=(1, 6, 8)), (0, 0), 4) for _ in range(2)]


WEIGHTS = np.array([[1.0, -1, 0.5, -0.7], [-0.9, 0.9, 0.3, 0.2]])


def test_splits_are_those_of_the_search(grids):
    splits, found = measure([(24, 32)] * 2, grids, WEIGHTS, unit=4, threads=1)
    assert splits.shape == (3, len(GAMMAS), 2, 2, N_DETECTIONS, N_DETECTIONS)
    points = weighted_points(grids[1], WEIGHTS[0])
    for search, bound in enumerate(("classical", "tight", "classical")):
        quality = linear(points[["x", "y"]] // 4, points["weight"], (6, 8), bound)
        upper = np.triu_indices(N_DETECTIONS)
        expected = measure_costs(quality, N_DETECTIONS, 0.75)
        np.testing.assert_array_equal(splits[search, 2, 0, 1][upper], expected[upper])
    boxes = [detection.box * 4 + [0, 0, 3, 3] for detection in best_boxes(quality, N_DETECTIONS, 0.75)]
    np.testing.assert_array_equal([detection.box for detection in found[0, 1][2]], boxes)


def test_ratio_of_bounds_is_that_of_searches_from_all_boxes():
    published, tight = np.full((2, 2), 10.0), np.full((2, 2), 99.0)
    tight[[0, 1], [0, 1]] = 5, 8
    assert tight_over_published(tight, published) == 0.8


def test_a_strategy_with_other_detections_is_noticed(grids, monkeypatch):
    points = weighted_points(grids[0], WEIGHTS[0])
    quality = linear(points[["x", "y"]] // 4, points["weight"], (6, 8), "classical")
    assert same_detections_share([quality]) == 1

    def lose_the_second(quality, n_detections, gamma, reset):
        found = best_boxes(quality, n_detections, gamma, reset)
        return found[:1] + found[2:] if reset == "1" * 9 else found

    monkeypatch.setattr(evaluate, "best_boxes", lose_the_second)
    assert same_detections_share([quality]) == pytest.approx(2 / 3)


def test_evaluation_of_two_images(grids, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluate, "CLASSES", (*NAMES, "bus"))
    annotated(shapes=np.tile([24, 32], (6, 1)), labels=np.array([0, 0, 1, 1, 1])).write(
        tmp_path / "annotations.npz"
    )
    save_word_grids(tmp_path / "words.npz", {"train": grids[:1], "test": grids})
    model = {"classes": NAMES, "C": 0.1, "held_out_auc": [], "boxes": 7, "weights": WEIGHTS.tolist()}
    (tmp_path / "model.json").write_text(json.dumps(model))
    (tmp_path / "receipt.json").write_text('{"kind": "simulated"}')
    files = ("annotations.npz", "words.npz", "model.json", "receipt.json")
    results = ("values.json", "timings.json", "costs.csv", "strategies.csv", "examples.csv", "points.csv")
    folder = tmp_path / "detection_strategies"
    main(
        {name.split(".")[0]: tmp_path / name for name in files},
        {name.split(".")[0]: folder / name for name in results},
        seed=0,
        n_words=4,
        test_images=2,
        unit=4,
        threads=1,
    )
    found = read_results(folder)
    values = found["values"]
    assert found["timings"]["detection_seconds"] > 0
    assert values["same_detections_share"] == 1
    assert values["tight_over_published_max"] <= 1
    assert values["shortest_path_minus_brute_force_max"] == 0
    assert values["reset_over_kept_max"] <= 1
    assert (values["classes"], values["left_out"], values["classes_with_and_without"]) == (2, ["bus"], 1)
    # The cat is in one image, the dog in both.
    assert (values["pairs_present"], values["pairs_absent"]) == (3, 1)
    assert (values["train_images"], values["test_images"], values["train_boxes"]) == (1, 2, 7)
    assert (values["words"], values["points_per_image"], values["C"]) == (4, 48, 0.1)
    costs, strategies = pd.read_csv(folder / "costs.csv"), pd.read_csv(folder / "strategies.csv")
    of_search = {
        search: rows["splits"].mean() for search, rows in costs[costs["images"] == "all"].groupby("search")
    }
    # A unit is a step of the grid here: boxes in pixels are boxes of grid points.
    assert of_search["published"] == of_search["places"] > of_search["tight"]
    published = strategies[strategies["search"] == "published"]
    middle = published[published["gamma"] == 0.5]
    assert values["all_reset_ratio"]["max"][1]["value"] == pytest.approx(middle["all_reset"].max())
    assert (
        values["tight"]["resets"]["min"][0] == strategies[strategies["search"] == "tight"]["resets"][:2].min()
    )
    examples, points = pd.read_csv(folder / "examples.csv"), pd.read_csv(folder / "points.csv")
    assert examples.iloc[0][["class", "image", "rank"]].tolist() == ["cat", 3, 1]
    pd.testing.assert_frame_equal(points, weighted_points(grids[0], WEIGHTS[0]))
