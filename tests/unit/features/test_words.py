"""Visual words against brute force; histograms against counting cell by cell."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from ermlab.features.words import Vocabulary, histogram, n_cells


def vocabulary_of(centres):
    vocabulary = Vocabulary(n_words=len(centres))
    vocabulary.centers_ = np.asarray(centres, dtype=float)
    return vocabulary


def brute_force(descriptors, centres):
    return ((descriptors[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 40),
    n_words=st.integers(1, 12),
    offset=st.sampled_from([0, 1000, 10**6]),
)
def test_nearest_centre_with_many_ties(seed, n, n_words, offset):
    """Small whole numbers: distances are exact and often equal, far from 0 where single precision is lost."""
    rng = np.random.default_rng(seed)
    descriptors, centres = rng.integers(-2, 3, (n, 3)) + offset, rng.integers(-2, 3, (n_words, 3)) + offset
    found = vocabulary_of(centres).assign(descriptors)
    assert found.tolist() == brute_force(descriptors.astype(float), centres.astype(float)).tolist()


def test_nearest_centre_among_centres_closer_than_single_precision():
    rng = np.random.default_rng(0)
    centre = rng.normal(size=64)
    centres = centre + 1e-9 * rng.normal(size=(50, 64))
    descriptors = centre + 1e-9 * rng.normal(size=(300, 64))
    # Beside one far away, which takes the common part out of the reach of centring.
    centres = np.vstack([centres, centre + 10])
    assert (vocabulary_of(centres).assign(descriptors) == brute_force(descriptors, centres)).all()


def test_words_do_not_depend_on_threads_or_company():
    rng = np.random.default_rng(1)
    descriptors, centres = rng.normal(size=(3001, 16)), rng.normal(size=(100, 16))
    vocabulary = vocabulary_of(centres)
    one = vocabulary.assign(descriptors, n_jobs=1)
    assert (one == vocabulary.assign(descriptors, n_jobs=3)).all()
    assert (one[1000:1010] == vocabulary.assign(descriptors[1000:1010])).all()
    assert (one == brute_force(descriptors, centres)).all()


def test_fit_finds_planted_centres_whatever_the_threads():
    rng = np.random.default_rng(2)
    planted = rng.normal(size=(5, 8)) * 10
    descriptors = planted[rng.integers(0, 5, size=2000)] + 0.01 * rng.normal(size=(2000, 8))
    fitted = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            fitted.append(Vocabulary(5, random_state=0).fit(descriptors))
    assert np.array_equal(fitted[0].centers_, fitted[1].centers_)
    assert np.allclose(np.sort(fitted[0].centers_[:, 0]), np.sort(planted[:, 0]), atol=0.01)


def test_no_descriptors():
    vocabulary = vocabulary_of(np.eye(3))
    assert vocabulary.assign(np.empty((0, 3))).tolist() == []
    assert vocabulary.assign([]).tolist() == []


@pytest.mark.parametrize(
    ("descriptors", "message"),
    [
        (np.ones((2, 4)), r"shape \(2, 4\): expected \(n, 3\)"),
        (np.ones(3), r"shape \(3,\)"),
        ([[0, 1, 2], [0, np.nan, 1]], "descriptors row 1 has NaN"),
    ],
)
def test_bad_descriptors(descriptors, message):
    with pytest.raises(ValueError, match=message):
        vocabulary_of(np.eye(3)).assign(descriptors)


@pytest.mark.parametrize("n_words", [0, 6])
def test_bad_number_of_words(n_words):
    with pytest.raises(ValueError, match=f"{n_words} words: expected 1 to 5"):
        Vocabulary(n_words).fit(np.ones((5, 2)))


def cell_by_cell(points, words, box, n_words, levels):
    left, top, right, bottom = box
    width, height = right - left + 1, bottom - top + 1
    rows = []
    for cells in levels:
        for row in range(cells):
            for column in range(cells):
                inside = [
                    word
                    for (x, y), word in zip(points, words, strict=True)
                    if column * width // cells <= x - left < (column + 1) * width // cells
                    and row * height // cells <= y - top < (row + 1) * height // cells
                ]
                rows.append(np.bincount(np.array(inside, dtype=int), minlength=n_words))
    return np.array(rows)


@given(seed=st.integers(0, 2**32 - 1), levels=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_histogram_counts_cell_by_cell(seed, levels):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 30))
    points, words = rng.integers(0, 12, (n, 2)), rng.integers(0, 5, n)
    left, top = rng.integers(-3, 10, 2)
    box = np.array([left, top, left + rng.integers(0, 9), top + rng.integers(0, 9)])
    found = histogram(points, words, box, 5, levels)
    assert found.shape == (n_cells(levels), 5)
    assert (found == cell_by_cell(points, words, box, 5, levels)).all()
    first = 0
    for cells in levels:  # every level counts each word of the box once
        level = found[first : first + cells**2]
        first += cells**2
        assert (level.sum(axis=0) == histogram(points, words, box, 5)[0]).all()


def test_histogram_of_nothing():
    assert not histogram(np.empty((0, 2), dtype=int), np.empty(0, dtype=int), [0, 0, 3, 3], 4).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"box": [5, 0, 4, 3]}, r"box is \[5, 0, 4, 3\]: expected left <= right"),
        ({"box": [0.5, 0, 4, 3]}, "expected integers left"),
        ({"box": [0, 0, 4]}, "expected integers left"),
        ({"words": [0, 4]}, "words from 0 to 4: expected 0 to 3"),
        ({"words": [0]}, r"points of shape \(2, 2\), words of \(1,\)"),
        ({"words": [0.0, 1.0]}, "expected integers"),
        ({"levels": ()}, r"levels is \(\)"),
        ({"levels": (1, 0)}, r"a level of \(1, 0\) is 0: expected a whole number of at least 1"),
    ],
)
def test_bad_histogram(arguments, message):
    arguments = {"points": [[0, 0], [1, 1]], "words": [0, 3], "box": [0, 0, 5, 5], "n_words": 4} | arguments
    with pytest.raises(ValueError, match=message):
        histogram(**arguments)


@pytest.mark.parametrize("exponent", [-1000, -300, -80, 60, 120, 300])
def test_words_do_not_depend_on_units(exponent):
    rng = np.random.default_rng(0)
    descriptors, unit = rng.normal(size=(300, 6)), 2.0**exponent
    vocabulary = Vocabulary(20, random_state=0).fit(descriptors)
    expected = vocabulary.assign(descriptors)
    vocabulary.centers_ = unit * vocabulary.centers_
    np.testing.assert_array_equal(vocabulary.assign(unit * descriptors), expected)


def test_descriptors_far_beyond_single_precision():
    vocabulary = Vocabulary(2).fit([[-1.0, 0.0], [1.0, 0.0]])
    vocabulary.centers_ = np.array([[-1.0, 0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(vocabulary.assign([[-1e60, 0.0], [1e60, 1.0]]), [0, 1])
    with pytest.raises(ValueError, match=r"descriptors up to 1e\+200: expected at most 1e\+150"):
        vocabulary.assign([[1e200, 0.0]])


@pytest.mark.parametrize("kind", [np.uint8, np.uint64, ">i4"])
def test_whole_numbers_of_any_type(kind):
    points, words = np.array([[1, 2], [7, 3]]), np.array([1, 0])
    expected = histogram(points, words, [0, 0, 7, 7], 2, (1, 2))
    found = histogram(points.astype(kind), words.astype(kind), [0, 0, 7, 7], 2, (1, 2))
    np.testing.assert_array_equal(found, expected)


def test_a_box_whose_cells_overflow_is_refused():
    with pytest.raises(ValueError, match="expected pixels between"):
        histogram([[2**61, 2**61]], [0], [0, 0, 2**62, 2**62], 1, (8,))


@pytest.mark.parametrize("levels", [(2**32,), (2**31, 2**31), (2**20,)])
def test_pyramids_of_more_cells_than_memory_are_refused(levels):
    # The square of 2**32 is 0 in 64 bits: the counts would be written behind an array of no cells.
    with pytest.raises(ValueError, match="GiB of memory"):
        histogram(np.array([[1, 1]]), np.array([0]), [0, 0, 9, 9], 3, levels)


def test_vocabularies_larger_than_memory_are_refused():
    with pytest.raises(ValueError, match="GiB of memory"):
        histogram(np.array([[1, 1]]), np.array([0]), [0, 0, 9, 9], 10**13)


def test_complex_descriptors_are_refused():
    with pytest.raises(ValueError, match=r"descriptors has complex entries|Complex data not supported"):
        Vocabulary(1).fit(np.ones((3, 2)) * 1j)
