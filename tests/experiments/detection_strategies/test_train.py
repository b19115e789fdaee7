"""Models of two classes, each with a word of its own, and what is not trained on."""

import json

import numpy as np
import pytest

from ermlab.detection import WordGrid, save_word_grids
from reproduction.datasets.voc2007_sample import CLASSES
from reproduction.experiments.detection_strategies import train
from reproduction.experiments.detection_strategies.prepare import AnnotatedImages

CAT, DOG, BUS = (CLASSES.index(name) for name in ("cat", "dog", "bus"))
N_IMAGES = 6


def a_grid(rng):
    """Return 16 x 16 words of 4 pixels: word 1 in the cat, 2 in the dog, 0 or 3 elsewhere."""
    words = 3 * rng.integers(2, size=(1, 16, 16))
    words[0, :6, :6], words[0, 8:, 8:] = 1, 2
    return WordGrid(words, (0, 0), 4)


@pytest.fixture
def model(tmp_path):
    """Train on images with a cat, a dog and a difficult bus each."""
    rng = np.random.default_rng(0)
    grids = [a_grid(rng) for _ in range(N_IMAGES)]
    save_word_grids(tmp_path / "words.npz", {"train": grids, "test": grids[:1]})
    AnnotatedImages(
        train=np.arange(N_IMAGES),
        test=np.array([N_IMAGES]),
        shapes=np.full((N_IMAGES + 1, 2), 64),
        images=np.repeat(np.arange(N_IMAGES), 3),
        boxes=np.tile([[0, 0, 23, 23], [32, 32, 63, 63], [0, 32, 23, 63]], (N_IMAGES, 1)),
        labels=np.tile([CAT, DOG, BUS], N_IMAGES),
        difficult=np.tile([False, False, True], N_IMAGES),
    ).write(tmp_path / "annotations.npz")
    inputs = {"words": tmp_path / "words.npz", "annotations": tmp_path / "annotations.npz"}
    train.main(inputs, {"model": tmp_path / "model.json"}, seed=0, n_words=4)
    return json.loads((tmp_path / "model.json").read_text())


def test_each_class_has_its_word(model):
    assert model["classes"] == ["cat", "dog"]  # a bus is difficult in every image
    weights = np.array(model["weights"])
    assert weights.argmax(axis=1).tolist() == [1, 2]
    assert weights.shape == (2, 4)


def test_two_objects_and_at_most_ten_background_boxes_per_image(model):
    assert 2 * N_IMAGES < model["boxes"] <= (2 + train.BACKGROUND_PER_IMAGE) * N_IMAGES


def test_the_best_C_is_chosen(model, tmp_path, monkeypatch):
    assert model["C"] == max(model["held_out_auc"], key=lambda entry: entry["auc"])["C"]
    monkeypatch.setattr(train, "cross_validate", lambda samples, C: 1 - abs(C - 1))
    inputs = {"words": tmp_path / "words.npz", "annotations": tmp_path / "annotations.npz"}
    train.main(inputs, {"model": tmp_path / "model.json"}, seed=0, n_words=4)
    assert json.loads((tmp_path / "model.json").read_text())["C"] == 1
