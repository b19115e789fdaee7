"""Snakes of the simulator are read like the real ones; the reader refuses anything else."""

import itertools
import pickle

import numpy as np
import pytest

from ermlab.exceptions import DataError
from reproduction.datasets.snakes import COLORS, LENGTH, SIZES, STEP_COLORS, read_snakes, simulate_snakes


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("snakes")
    simulate_snakes(folder, 3, "smoke")
    return folder


def test_every_color_points_at_the_next_cell(simulated):
    data = read_snakes(simulated)
    assert (len(data.train), len(data.test)) == SIZES["smoke"]
    for colors, labels in zip(data.train.colors, data.train.labels, strict=True):
        cells = [np.argwhere(labels == number)[0] for number in range(1, LENGTH + 1)]
        for cell, following in itertools.pairwise(cells):
            step = list(STEP_COLORS)[colors[tuple(cell)] - 1]
            assert (cell + step == following).all()
        assert ((colors == 0) == (labels == 0)).all()
        border = labels.copy()
        border[1:-1, 1:-1] = 0
        assert not border.any()


def test_same_bytes_for_a_seed(simulated, tmp_path, contents):
    simulate_snakes(tmp_path / "again", 3, "smoke")
    simulate_snakes(tmp_path / "other", 4, "smoke")
    assert contents(tmp_path / "again") == contents(simulated)
    assert contents(tmp_path / "other") != contents(simulated)


def test_an_unknown_size_is_named_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="size is 'huge'"):
        simulate_snakes(tmp_path / "snakes", 0, "huge")
    assert not (tmp_path / "snakes").exists()


def valid():
    labels = np.arange(11, dtype=np.uint8)[None]
    image = COLORS[np.minimum(labels, 4)]
    return {"X_train": [image], "Y_train": [labels], "X_test": [image], "Y_test": [labels]}


def read(folder, content):
    (folder / "snakes.pickle").write_bytes(pickle.dumps(content, protocol=3))
    return read_snakes(folder)


def test_a_tiny_set(tmp_path):
    data = read(tmp_path, valid())
    assert data.train.colors[0].tolist() == [[0, 1, 2, 3, 4, 4, 4, 4, 4, 4, 4]]
    assert data.test.labels[0].tolist() == [list(range(11))]


IMAGE, LABELS = valid()["X_test"][0], valid()["Y_test"][0]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("X_test", None, "no X_test with as many Y_test"),
        ("X_test", [], "no X_test with as many Y_test"),
        ("Y_test", LABELS, "no X_test with as many Y_test"),
        ("X_test", [IMAGE[:, :5]], r"test image 0: an image of another kind; .*\(1, 11, 3\)"),
        ("X_test", [IMAGE.astype(float)], "test image 0: an image of another kind"),
        ("X_test", [IMAGE + 1], "test image 0: a color that is not in use"),
        ("X_test", [IMAGE.tolist()], "test image 0: an image of another kind"),
        ("Y_test", [LABELS.astype(float)], "test image 0: labels of another kind"),
        ("Y_test", [LABELS[0]], "test image 0: labels of another kind"),
        ("Y_test", [np.zeros((0, 0), dtype=int)], "test image 0: an image of another kind"),
        ("Y_test", [np.minimum(LABELS, 9)], "test image 0: another set of labels; expected each of 1 to 10"),
        ("Y_test", [LABELS + 1], "test image 0: another set of labels"),
    ],
)
def test_broken_content(tmp_path, name, value, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path, valid() | {name: value})


@pytest.mark.parametrize("content", [[], 1, {}])
def test_other_content(tmp_path, content):
    with pytest.raises(DataError, match="no X_train with as many Y_train"):
        read(tmp_path, content)
