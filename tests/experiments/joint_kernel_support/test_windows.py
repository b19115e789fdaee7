"""Windows scored all at once, against each window on its own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ermlab.detection.word_grids import WordGrid
from ermlab.features.words import histogram
from ermlab.kernels.histogram import chi2_kernel
from reproduction.experiments.joint_kernel_support.windows import (
    NORMALIZATIONS,
    PairKernel,
    Windows,
    linear_scores,
)

N_WORDS = 5


def random_grid(rng, rows, columns, scales=2):
    words = rng.integers(N_WORDS, size=(scales, rows, columns)).astype(np.int32)
    # A margin, and places where one scale has no word.
    words[:, :, 0] = -1
    words[0, rng.integers(rows), rng.integers(columns)] = -1
    return WordGrid(words, (0, 0), 4)


def expected_histogram(grid, window, kernel):
    """By the counts of words at points, and the definition of each normalization."""
    left, top, right, bottom = window
    scale, y, x = np.nonzero(grid.words >= 0)
    counts = histogram(
        np.stack([x, y], axis=1), grid.words[scale, y, x], np.array(window), kernel.n_words, kernel.levels
    ).ravel()
    if kernel.normalization == "counts" or not counts.any():
        return counts.astype(float)
    if kernel.normalization == "area":
        places = (right - left + 1) * (bottom - top + 1) * len(grid.words)
        return counts / (places * len(kernel.levels))
    return counts / np.linalg.norm(counts)


@given(
    seed=st.integers(0, 10**6),
    size=st.tuples(st.integers(1, 6), st.integers(1, 5)),
    levels=st.sampled_from([(1,), (1, 2), (1, 2, 3, 4), (3,)]),
    scaled=st.sampled_from([(name, scaling) for name, known in NORMALIZATIONS.items() for scaling in known]),
    stride=st.integers(1, 3),
)
def test_scores_are_those_of_each_window(seed, size, levels, scaled, stride):
    rng = np.random.default_rng(seed)
    grid, kernel = random_grid(rng, 6, 8), PairKernel(N_WORDS, levels, *scaled)
    windows = Windows(grid, size, kernel, stride)
    assert windows.places()[:, :2].tolist() == [
        [left, top] for top in range(0, 7 - size[1], stride) for left in range(0, 9 - size[0], stride)
    ]
    histograms = np.array([expected_histogram(grid, window, kernel) for window in windows.places()])
    for (row, column), expected in zip(np.ndindex(windows.shape), histograms, strict=True):
        np.testing.assert_allclose(windows.histogram(row, column), expected)
    np.testing.assert_allclose(kernel.features([grid], [windows.places()[0]]).toarray()[0], histograms[0])
    w = rng.normal(size=kernel.dimension)
    scores = windows.linear_scores(kernel.by_cell(w))
    np.testing.assert_allclose(scores.ravel(), histograms @ w, atol=1e-12)


def test_histograms_of_length_one_have_a_kernel_of_one_with_themselves():
    grid, kernel = (
        random_grid(np.random.default_rng(0), 6, 8),
        PairKernel(N_WORDS, (1, 2), "linear", "length"),
    )
    features = kernel.features([grid] * 3, [(1, 1, 4, 3), (0, 0, 3, 2), (2, 2, 7, 5)]).toarray()
    np.testing.assert_allclose(np.diag(features @ features.T), 1)


def test_chi2_histograms_inside_the_image_have_a_kernel_of_one_with_themselves():
    grid = WordGrid(np.random.default_rng(0).integers(N_WORDS, size=(2, 6, 8)).astype(np.int32), (0, 0), 4)
    kernel = PairKernel(N_WORDS, (1, 2), "chi2", "area")
    features = kernel.features([grid] * 2, [(1, 1, 4, 3), (0, 0, 7, 5)]).toarray()
    np.testing.assert_allclose(np.diag(chi2_kernel(features)), 1)


def test_sizes_are_scored_together_as_each_alone():
    rng = np.random.default_rng(0)
    grid, kernel = random_grid(rng, 6, 8), PairKernel(N_WORDS, (1, 2, 3), "linear", "length")
    sizes = [Windows(grid, size, kernel, stride) for size, stride in (((3, 2), 1), ((5, 4), 2), ((8, 6), 1))]
    weights = kernel.by_cell(rng.normal(size=kernel.dimension))
    for windows, scores in zip(sizes, linear_scores(sizes, weights), strict=True):
        np.testing.assert_array_equal(scores, windows.linear_scores(weights))
    with pytest.raises(ValueError, match="expected one grid and one kernel"):
        linear_scores([sizes[0], Windows(random_grid(rng, 6, 8), (3, 2), kernel)], weights)


def test_boxes_follow_the_scores():
    grid = random_grid(np.random.default_rng(0), 6, 8)
    windows = Windows(grid, (3, 2), PairKernel(N_WORDS, (1,)))
    np.testing.assert_array_equal(windows.boxes()[windows.shape[1] + 2], [8, 4, 19, 11])
    assert len(windows.boxes()) == windows.shape[0] * windows.shape[1] == 30


@pytest.mark.parametrize("size", [(9, 2), (3, 7), (0, 2)])
def test_windows_that_do_not_fit_are_rejected(size):
    grid = random_grid(np.random.default_rng(0), 6, 8)
    with pytest.raises(ValueError, match=f"windows of {size[0]} x {size[1]} places: expected at least"):
        Windows(grid, size, PairKernel(N_WORDS, (1,)))


@pytest.mark.parametrize("kernel", [PairKernel(5, (1,), "cubic"), PairKernel(5, (1,), "chi2", "length")])
def test_an_unknown_kernel_is_rejected(kernel):
    with pytest.raises(ValueError, match="expected one of"):
        Windows(random_grid(np.random.default_rng(0), 6, 8), (2, 2), kernel)


@pytest.mark.parametrize("size", [(2.5, 2), (np.nan, 2), (2, 2, 2)])
def test_sizes_must_be_two_integers(size):
    grid = random_grid(np.random.default_rng(0), 4, 5)
    with pytest.raises(ValueError, match="expected integer numbers"):
        Windows(grid, size, PairKernel(N_WORDS, (1,)))


def test_weights_that_are_no_numbers_are_refused():
    windows = Windows(random_grid(np.random.default_rng(0), 4, 5), (2, 2), PairKernel(N_WORDS, (1,)))
    with pytest.raises(ValueError, match="finite"):
        windows.linear_scores(np.full((1, N_WORDS + 1), np.nan))
    with pytest.raises(ValueError, match="of shape"):
        windows.linear_scores([1.0, 2.0])


def test_a_kernel_has_no_more_bins_than_its_numbers_have_bits():
    with pytest.raises(ValueError, match=r"4294967296 bins: expected at most 2147483647"):
        PairKernel(2**26, (8,)).checked()


@pytest.mark.parametrize("window", [(5, 0, 9, 2), (-1, 0, 2, 2), (3, 0, 2, 2)])
def test_features_of_a_window_outside_the_grid_are_refused(window):
    grid = random_grid(np.random.default_rng(0), 6, 8)
    with pytest.raises(ValueError, match=r"expected"):
        PairKernel(N_WORDS, (1,)).features([grid], [window])


def test_features_of_no_window_are_refused():
    with pytest.raises(ValueError, match="0 windows of 0 grids"):
        PairKernel(N_WORDS, (1,)).features([], [])
