"""Words on grids: where windows lie, what they hold, and files."""

import numpy as np
import pytest

from ermlab.detection.word_grids import WordGrid, learn_words, load_word_grids, save_word_grids, word_grid
from ermlab.exceptions import DataError
from ermlab.features.surf import dense_surf

STEP, SCALES = 4, (1.0, 2.0)


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    return [rng.integers(256, size=shape).astype(np.uint8) for shape in ((22, 31), (40, 26))]


@pytest.fixture(scope="module")
def vocabulary(images):
    return learn_words(images, n_words=5, step=STEP, scales=SCALES, max_samples=60, random_state=0)


def test_words_stand_where_their_descriptors_do(images, vocabulary):
    for image in images:
        grid = word_grid(image, vocabulary, step=STEP, scales=SCALES)
        points, descriptors = dense_surf(image, step=STEP, scales=SCALES)
        words = vocabulary.assign(descriptors)
        n_points = len(points) // len(SCALES)
        for i, (x, y) in enumerate(points):
            column, row = (x - grid.corner[0]) // STEP, (y - grid.corner[1]) // STEP
            assert grid.words[i // n_points, row, column] == words[i]
        assert grid.words.size == len(words)


def test_a_window_is_the_nearest_to_its_box():
    grid = WordGrid(np.zeros((1, 12, 20), dtype=np.int32), (-7, 3), STEP)
    every = np.array([[x, y, x + 4, y + 2] for x in range(16) for y in range(10)])
    rng = np.random.default_rng(0)
    for _ in range(50):
        left, top = rng.integers(-7, 60), rng.integers(0, 40)
        box = np.array([left, top, left + 19 + rng.integers(2), top + 11 + rng.integers(2)])
        window = grid.window_of(box)
        distances = np.abs(grid.boxes_of(every)[:, :2] - box[:2]).sum(axis=1)
        assert np.abs(grid.boxes_of([window])[0, :2] - box[:2]).sum() == distances.min()
        assert tuple(window[2:] - window[:2] + 1) == grid.size_of(box) == (5, 3)


def test_boxes_of_windows_are_windows_of_boxes():
    grid = WordGrid(np.zeros((1, 12, 20), dtype=np.int32), (-7, 3), STEP)
    window = np.array([2, 1, 9, 7])
    np.testing.assert_array_equal(grid.boxes_of([window])[0], [1, 7, 32, 34])
    np.testing.assert_array_equal(grid.window_of([1, 7, 32, 34]), window)


def test_a_margin_moves_no_word():
    words = np.arange(12, dtype=np.int32).reshape(1, 3, 4)
    grid = WordGrid(words, (1, 2), STEP)
    wide = grid.widened(2)
    np.testing.assert_array_equal(wide.words[:, 2:-2, 2:-2], words)
    assert (wide.words == -1).sum() == wide.words.size - words.size
    box = grid.boxes_of([[1, 1, 2, 2]])[0]
    np.testing.assert_array_equal(wide.window_of(box), [3, 3, 4, 4])


def test_a_box_that_is_too_large_is_rejected():
    grid = WordGrid(np.zeros((1, 3, 4), dtype=np.int32), (0, 0), STEP)
    with pytest.raises(ValueError, match="has 5 x 3 places: expected at most 4 x 3"):
        grid.window_of([0, 0, 19, 11])


def test_files_give_back_what_was_written(tmp_path):
    rng = np.random.default_rng(0)
    grids = [
        WordGrid(rng.integers(9, size=(2, rows, 4)).astype(np.int32), (rows, -1), STEP) for rows in (3, 5)
    ]
    save_word_grids(tmp_path / "words.npz", {"some": grids, "last": grids[1:]})
    back = load_word_grids(tmp_path / "words.npz")
    assert list(back) == ["some", "last"]
    for before, after in zip(grids + grids[1:], back["some"] + back["last"], strict=True):
        np.testing.assert_array_equal(before.words, after.words)
        assert before[1:] == after[1:]


@pytest.mark.parametrize("damage", ["cut", "foreign", "short", "missing"])
def test_a_damaged_file_is_rejected(tmp_path, damage):
    path = tmp_path / "words.npz"
    save_word_grids(path, {"some": [WordGrid(np.zeros((1, 3, 4), dtype=np.int32), (0, 0), STEP)]})
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:40])
    elif damage == "foreign":
        path.write_text("no archive")
    elif damage == "short":
        np.savez(path, some_words=np.zeros(5), some_layout=np.array([[1, 3, 4, 0, 0, 4]]))
    else:
        path.unlink()
    with pytest.raises(DataError, match=r"words\.npz"):
        load_word_grids(path)


@pytest.mark.parametrize(
    "layout",
    [
        [1, 2, 2, 0, 0, 5],  # not a row for each grid
        [[1, 2, 2]],
        [[-1, -2, 2, 0, 0, 5]],
        [[1, 2, 2, 0, 0, 0]],
        [[2**32, 2**32, 1, 0, 0, 5]],
        [[1.0, 2.0, 2.0, 0.0, 0.0, 5.0]],
    ],
)
def test_a_layout_that_is_damaged(tmp_path, layout):
    np.savez(tmp_path / "grids.npz", a_words=np.zeros(4, dtype=np.int32), a_layout=np.array(layout))
    with pytest.raises(DataError, match="file that `save_word_grids` wrote"):
        load_word_grids(tmp_path / "grids.npz")


def test_words_below_the_one_of_no_word(tmp_path):
    layout = np.array([[1, 2, 2, 0, 0, 5]])
    np.savez(tmp_path / "grids.npz", a_words=np.full(4, -2, dtype=np.int32), a_layout=layout)
    with pytest.raises(DataError, match="words from -1 on"):
        load_word_grids(tmp_path / "grids.npz")
