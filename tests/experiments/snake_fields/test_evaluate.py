"""Features, controls and accuracies of snakes on images that can be counted by hand."""

import numpy as np
import pandas as pd
import pytest

from ermlab.segmentation import grid_edges
from reproduction.datasets.snakes import Snakes, read_snakes, simulate_snakes
from reproduction.experiments.snake_fields import prepare
from reproduction.experiments.snake_fields.evaluate import (
    accuracy_table,
    accuracy_values,
    certificate_values,
    image_table,
    means_of,
)
from reproduction.experiments.snake_fields.features import (
    color_features,
    direction_features,
    window_features,
)
from reproduction.experiments.snake_fields.figures import plot_labelings
from reproduction.experiments.snake_fields.prepare import pack, read_images, split_cells
from reproduction.experiments.snake_fields.train import (
    classify_cells,
    first_images,
    label_fields,
    shuffle_numbers,
)


@pytest.fixture(scope="module")
def snakes(tmp_path_factory) -> Snakes:
    folder = tmp_path_factory.mktemp("snakes")
    simulate_snakes(folder, 0, "smoke")
    return read_snakes(folder)


def test_window_of_a_cell():
    colors = np.array([[1, 2], [3, 0]])
    features = window_features(colors, 1).reshape(4, 3, 3, 5)
    assert features.sum(axis=-1).min() == features.sum(axis=-1).max() == 1
    assert features[0].argmax(axis=-1).tolist() == [[0, 0, 0], [0, 1, 2], [0, 3, 0]]
    assert features[3].argmax(axis=-1).tolist() == [[1, 2, 0], [3, 0, 0], [0, 0, 0]]


def test_edges_know_direction_and_colors():
    colors = np.array([[1, 2, 0], [3, 4, 0]])
    edges = grid_edges(colors.shape)
    directions = direction_features(colors)
    horizontal = edges[:, 1] - edges[:, 0] == 1
    assert directions.tolist() == np.column_stack([horizontal, ~horizontal]).astype(float).tolist()
    features = color_features(colors).reshape(len(edges), 2, 2, 5)
    cells = colors.ravel()
    for (first, second), direction, feature in zip(edges, directions, features, strict=True):
        assert feature[int(direction[1])].argmax(axis=1).tolist() == [cells[first], cells[second]]
        assert feature.sum() == 2


def test_images_survive_packing(snakes, tmp_path, monkeypatch):
    monkeypatch.setattr(prepare, "read_snakes", lambda folder: snakes)
    monkeypatch.setattr(prepare, "read_json", lambda path: {"folder": "."})
    prepare.main({"receipt": "receipt.json"}, {"images": tmp_path / "images.npz"})
    again = read_images(tmp_path / "images.npz", "test")
    assert len(again) == len(snakes.test)
    for name in ("colors", "labels"):
        for before, after in zip(getattr(snakes.test, name), getattr(again, name), strict=True):
            assert before.tolist() == after.tolist()


def test_shuffled_numbers_stay_on_the_snake(snakes):
    shuffled = shuffle_numbers(snakes.train, np.random.default_rng(0))
    changed = 0
    for before, after in zip(snakes.train.labels, shuffled.labels, strict=True):
        assert ((before == 0) == (after == 0)).all()
        assert sorted(before.ravel()) == sorted(after.ravel())
        changed += (before != after).sum()
    assert changed > 0.8 * 10 * len(snakes.train)


def test_both_kinds_of_models_know_the_background(snakes):
    train, test = first_images(snakes.train, 6), first_images(snakes.test, 3)
    labels, certificate = label_fields(train, test, color_features, C=10, tol=0.1, max_iter=40)
    for found in (labels, classify_cells(train, test, 1, None, 0), classify_cells(train, test, 1, 5, 0)):
        for image, truth in zip(found, test.labels, strict=True):
            assert image.shape == truth.shape
            assert ((image == 0) == (truth == 0)).mean() > 0.9
    assert (certificate["bounds"] >= certificate["scores"]).all()


def test_cells_of_images_are_counted():
    truth = np.array([0, 1, 2, 0, 3, 4])
    found = np.array([0, 1, 1, 0, 3, 4])
    table = image_table("colors", found, truth, np.array([[1, 4], [2, 1]]))
    assert table["cells"].tolist() == [4, 2]
    assert table["right"].tolist() == [3, 2]
    assert table["snake_cells"].tolist() == [2, 2]
    assert table["snake_right"].tolist() == [1, 2]


def test_accuracies_by_hand():
    rows = {  # right cells and right cells of the snake, of 10 and 4, in two images
        "window_3": [(7, 1), (8, 2)],
        "window_7": [(6, 0), (8, 2)],
        "forest_7": [(6, 0), (6, 0)],
        "directions": [(8, 2), (9, 3)],
        "colors": [(10, 4), (9, 3)],
        "shuffled": [(6, 0), (7, 1)],
    }
    table = pd.DataFrame(
        [
            {"model": model, "image": i, "cells": 10, "right": right, "snake_cells": 4, "snake_right": snake}
            for model, images in rows.items()
            for i, (right, snake) in enumerate(images)
        ]
    )
    values = accuracy_values(table)
    assert values["cell_accuracy"]["colors"] == 0.95
    assert values["documented_accuracy"] == {"directions": 0.85, "colors": 0.95}
    assert values["snake_accuracy"]["window_3"] == 3 / 8
    assert values["whole_images"]["colors"] == {"repeats": [1, 0], "unit": "image"}
    assert means_of(values["whole_images"]) == {
        "window_3": 0,
        "window_7": 0,
        "forest_7": 0,
        "directions": 0,
        "colors": 0.5,
    }
    assert values["best_classifier"] == "window_3"
    assert values["snake_gain"]["repeats"] == pytest.approx([3 / 4, 1 / 4])
    assert values["shuffled_accuracy"]["repeats"] == [0, 1 / 4]
    assert accuracy_table(values)["whole images"].tolist() == [0, 0, 0, 0, 0.5]


def test_certificates_by_hand():
    arrays = {"scores": np.array([1.0, 2]), "bounds": np.array([1.0, 2.5]), "gap": 0.1, "iterations": 7}
    values = certificate_values({"directions": arrays, "colors": arrays, "shuffled": arrays})
    assert values["certified_share"] == 0.5
    assert values["bound_excess_max"]["colors"] == 0.5
    assert values["training_iterations"]["shuffled"] == 7


def test_wrong_numbers_are_orange():
    shapes = np.array([[1, 3], [2, 2]])
    truth = np.array([0, 1, 2, 0, 1, 2, 0])
    found = np.array([0, 1, 1, 0, 1, 2, 0])
    assert [cells.tolist() for cells in split_cells(truth, shapes)] == [[[0, 1, 2]], [[0, 1], [2, 0]]]
    arrays = {"shapes": shapes, "labels": truth, "colors": np.minimum(truth, 4), "found_colors": found}
    fig = plot_labelings(arrays, ["colors"], [0, 1])
    drawn = [[(text.get_text(), text.get_weight()) for text in ax.texts] for ax in fig.axes]
    assert drawn[2] == [("1", "normal"), ("1", "bold")]
    assert drawn[3] == [("1", "normal"), ("2", "normal")]


def test_packed_arrays_have_the_name_of_their_part(snakes):
    assert set(pack("train", snakes.train)) == {"train_shapes", "train_colors", "train_labels"}
