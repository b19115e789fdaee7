"""Words of the simulator are read like the real ones; the reader refuses anything else."""

import pickle

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from ermlab.exceptions import DataError
from reproduction.datasets.letters import ALPHABET, SIZES, WORDS, read_letters, simulate_letters
from reproduction.datasets.simulators.handwriting import FORMS, draw_writer, write_word


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("letters")
    simulate_letters(folder, 3, "smoke")
    return folder


def test_the_reader_reads_what_is_simulated(simulated):
    data = read_letters(simulated)
    assert len(data) == SIZES["smoke"] * len(WORDS)
    assert sorted(set(data.words)) == sorted(set(WORDS))
    assert np.bincount(data.folds).tolist() == [len(data) // 10] * 10
    for images, labels in zip(data.images, data.labels, strict=True):
        assert images.shape == (len(labels), 16, 8)
        assert images.any(axis=(1, 2)).all()
    assert set(ALPHABET) == set("".join(WORDS)) == set(FORMS)


def test_letters_can_be_told_by_their_looks_but_not_all(simulated):
    """A linear classifier errs about as often as on the real data, 29 % with 5000 letters."""
    data = read_letters(simulated)
    X = np.vstack([images.reshape(len(images), -1) for images in data.images]).astype(float)
    y, folds = np.concatenate(data.labels), np.repeat(data.folds, [len(labels) for labels in data.labels])
    test = folds < 2
    error = 1 - LinearSVC(C=0.1, dual=False).fit(X[~test], y[~test]).score(X[test], y[test])
    assert 0.2 < error < 0.4


def test_a_writer_resembles_himself():
    rng = np.random.default_rng(0)
    one, other = draw_writer(rng), draw_writer(rng)
    text = ALPHABET * 5
    images = [write_word(text, writer, rng, (16, 8)).reshape(5, 26, -1) for writer in (one, one, other)]
    apart = [np.abs(images[0].mean(axis=0) - image.mean(axis=0)).mean() for image in images[1:]]
    assert apart[0] < 0.7 * apart[1]


def test_same_bytes_for_a_seed(simulated, tmp_path, contents):
    simulate_letters(tmp_path / "again", 3, "smoke")
    simulate_letters(tmp_path / "other", 4, "smoke")
    assert contents(tmp_path / "again") == contents(simulated)
    assert contents(tmp_path / "other") != contents(simulated)


def test_an_unknown_size_is_named_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="size is 'huge'"):
        simulate_letters(tmp_path / "letters", 0, "huge")
    assert not (tmp_path / "letters").exists()


def valid():
    return {
        "data": [np.zeros((2, 128), dtype=np.uint8), np.ones((1, 128), dtype=np.uint8)],
        "labels": [np.array([0, 25]), np.array([1])],
        "word": ["az", "b"],
        "folds": np.array([0, 9]),
    }


def read(folder, content):
    (folder / "letters.pickle").write_bytes(pickle.dumps(content, protocol=3))
    return read_letters(folder)


def test_a_tiny_set(tmp_path):
    data = read(tmp_path, valid())
    assert data.words == ("az", "b")
    assert data.folds.tolist() == [0, 9]
    assert data.images[0].shape == (2, 16, 8)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("data", None, "no list 'data'"),
        ("data", [], "0 images, 2 labels, 2 texts"),
        ("data", [np.zeros((2, 128), dtype=np.uint8)] * 2, r"word 1: other images; .*\(1, 128\)"),
        ("data", [np.zeros((2, 16, 8), dtype=np.uint8)] * 2, "word 0: other images"),
        ("data", [np.full((2, 128), 2)] * 2, "word 0: other images"),
        ("data", [np.full((2, 128), np.nan)] * 2, "word 0: other images"),
        ("data", [[0] * 128] * 2, "word 0: other images"),
        ("labels", [np.array([0, 26]), np.array([1])], "word 0: labels from 0 to 26; expected 0 to 25"),
        ("labels", [np.array([0, -1]), np.array([1])], "word 0: labels from -1 to 0"),
        ("labels", [np.array([0, 25.0]), np.array([1])], "word 0: labels that are no integers"),
        ("labels", [np.zeros((2, 1), dtype=int), np.array([1])], "word 0: labels that are no integers"),
        ("labels", [np.array([0, 25]), np.array([], dtype=int)], "word 1: labels that are no integers"),
        ("labels", [[0, 25], [1]], "word 0: labels that are no integers"),
        ("word", ["az", "c"], "word 1: a text of the word that its labels do not spell; expected 'b'"),
        ("word", ["az", 7], "word 1: a text"),
        (
            "folds",
            np.array([0, 10]),
            "folds of another type, shape or range; expected 2 integers from 0 to 9",
        ),
        ("folds", np.array([0]), "folds of another"),
        ("folds", [0, 1], "folds of another"),
        ("folds", np.array([0.0, 1.0]), "folds of another"),
    ],
)
def test_broken_content(tmp_path, name, value, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path, valid() | {name: value})


@pytest.mark.parametrize("content", [[], 1, {"data": []}, None])
def test_other_content(tmp_path, content):
    with pytest.raises(DataError, match=r"letters\.pickle: no list"):
        read(tmp_path, content)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(DataError, match=r"letters\.pickle: No such file"):
        read_letters(tmp_path)
    with pytest.raises(DataError, match="no such folder"):
        read_letters(tmp_path / "none")
