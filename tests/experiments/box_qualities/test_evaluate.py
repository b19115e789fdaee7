"""Searches by other qualities are compared with all boxes, and a wrong search is noticed."""

import json

import numpy as np
import pandas as pd
import pytest

from ermlab.detection import BagOfWords, WordGrid, best_boxes, linear, save_word_grids
from reproduction.claims.results import read_results
from reproduction.datasets.voc2007_sample import CLASSES
from reproduction.experiments.box_qualities import evaluate
from reproduction.experiments.box_qualities.evaluate import (
    TITLES,
    all_boxes,
    compare,
    main,
    qualities,
    quality_table,
    summarize,
    train_detector,
)
from reproduction.experiments.detection_strategies.prepare import AnnotatedImages

CAT = CLASSES.index("cat")


@pytest.fixture
def image():
    rng = np.random.default_rng(0)
    points = np.array([(x, y) for x in range(6) for y in range(5)])
    return BagOfWords(points, rng.integers(4, size=30), (5, 6))


def test_all_boxes_of_an_image():
    boxes = all_boxes((1, 3))
    assert boxes.tolist() == [
        [0, 0, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 2, 0],
        [1, 0, 1, 0],
        [1, 0, 2, 0],
        [2, 0, 2, 0],
    ]
    assert len(all_boxes((4, 3))) == 10 * 6


def test_searches_are_exact(image):
    found = qualities(image, np.array([1.0, -0.8, 0.5, -0.3]), np.array([1, 1, 3, 3]))
    assert set(found) == set(TITLES)
    for quality in found.values():
        outcome = compare(quality)
        assert (outcome["hard"], outcome["soft"], outcome["boxes"]) == (True, True, 15 * 21)


def test_a_box_that_is_not_the_best_is_noticed(image, monkeypatch):
    quality = linear(image.points, np.where(image.words == 0, 1.0, -0.5), image.shape)

    def second_first(quality, n, penalty):
        found = best_boxes(quality, n, penalty)
        return found if callable(penalty) else [found[1], *found[1:]]

    monkeypatch.setattr(evaluate, "best_boxes", second_first)
    outcome = compare(quality)
    assert (outcome["hard"], outcome["soft"]) == (False, True)


def test_summary_by_hand():
    table = pd.DataFrame(
        {
            "quality": ["chi2", "chi2", "linear"],
            "boxes": [100, 200, 100],
            "splits": [10, 40, 5],
            "hard": [True, False, True],
            "soft": [True, True, True],
        }
    )
    values = summarize(table)
    assert values["exact_share"] == {"chi2": {"hard": 0.5, "soft": 1}, "linear": {"hard": 1, "soft": 1}}
    assert values["splits_over_boxes"] == pytest.approx({"chi2": 0.15, "linear": 0.05})


def test_rows_of_the_page():
    values = {
        "exact_share": {name: {"hard": 1.0, "soft": 0.5} for name in TITLES},
        "splits_over_boxes": dict.fromkeys(TITLES, 0.0123),
    }
    table = quality_table(values)
    assert table.iloc[0].tolist() == ["bag of words", "100 %", "50 %", "1.2 %"]


def test_training_finds_the_words_of_the_object(image):
    found = train_detector([image], [np.array([1, 1, 3, 3])], 4, 10.0, 0.01)
    assert found["gap"] <= 0.01
    assert found["exact"]


def test_evaluation(tmp_path):
    rng = np.random.default_rng(0)
    grids = [WordGrid(rng.integers(4, size=(1, 4, 5)), (0, 0), 4) for _ in range(2)]
    save_word_grids(tmp_path / "words.npz", {"train": grids[:1], "test": grids[1:]})
    AnnotatedImages(
        train=np.array([0]),
        test=np.array([1]),
        shapes=np.tile([16, 20], (2, 1)),
        images=np.array([0, 1]),
        boxes=np.array([[0, 0, 7, 7], [4, 4, 15, 11]]),
        labels=np.array([CAT, CAT]),
        difficult=np.zeros(2, dtype=bool),
    ).write(tmp_path / "annotations.npz")
    (tmp_path / "model.json").write_text(json.dumps({"classes": ["cat"], "weights": [[1.0, -1, 0.5, -0.5]]}))
    (tmp_path / "receipt.json").write_text('{"kind": "simulated"}')
    files = ("annotations.npz", "words.npz", "model.json", "receipt.json")
    folder = tmp_path / "box_qualities"
    main(
        {name.split(".")[0]: tmp_path / name for name in files},
        {"values": folder / "values.json", "table": folder / "searches.csv"},
        unit=4,
        searches=2,
        images=3,
        C=1.0,
        tol=0.05,
    )
    values = read_results(folder)["values"]
    assert values["training"]["images"] == 1
    assert all(share == {"hard": 1, "soft": 1} for share in values["exact_share"].values())
    table = pd.read_csv(folder / "searches.csv")
    assert set(table["boxes"]) == {10 * 15}
    assert table["class"].unique().tolist() == ["cat"]
