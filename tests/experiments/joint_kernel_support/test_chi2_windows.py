"""Expansions with the chi2 kernel, for all windows at once, against the kernel of each window's histogram."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from ermlab.detection.word_grids import WordGrid
from ermlab.kernels.histogram import chi2_kernel
from reproduction.experiments.joint_kernel_support.chi2_windows import Chi2Expansion
from reproduction.experiments.joint_kernel_support.windows import NORMALIZATIONS, PairKernel, Windows

N_WORDS = 5


def random_grid(rng, rows, columns):
    """Two scales with few words that are frequent, a margin without words, and a hole in one scale."""
    words = np.minimum(rng.geometric(0.5, size=(2, rows, columns)) - 1, N_WORDS - 1).astype(np.int32)
    words[:, :, 0] = words[:, -1] = -1
    words[0, rng.integers(rows), rng.integers(columns)] = -1
    return WordGrid(words, (0, 0), 4)


def random_expansion(rng, kernel, n_functions):
    references = rng.random((4, kernel.dimension)) * (rng.random((4, kernel.dimension)) < 0.5)
    weights = rng.normal(size=(n_functions, 4)) * [1, 0, 1, 1]  # the second is not needed
    return references, weights, Chi2Expansion(kernel, csr_array(references), weights)


@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.tuples(st.integers(1, 6), st.integers(1, 5)), min_size=1, max_size=4),
    levels=st.sampled_from([(1,), (1, 2), (1, 2, 3, 4), (3,)]),
    normalization=st.sampled_from(NORMALIZATIONS["chi2"]),
    n_functions=st.sampled_from([1, 3]),
    stride=st.integers(1, 3),
)
def test_scores_are_those_of_each_window(seed, sizes, levels, normalization, n_functions, stride):
    rng = np.random.default_rng(seed)
    kernel = PairKernel(N_WORDS, levels, "chi2", normalization)
    # Sets of one size share divisors, and two sets may share their grid.
    grids = [random_grid(rng, *rng.integers((5, 6), (9, 9))) for _ in sizes] + [random_grid(rng, 6, 6)]
    windows = [
        Windows(grid, size, kernel, stride) for grid, size in zip(grids, [*sizes, sizes[0]], strict=True)
    ]
    windows.append(Windows(grids[0], (2, 3), kernel))
    references, weights, expansion = random_expansion(rng, kernel, n_functions)
    for some, scores in zip(windows, expansion.scores(windows), strict=True):
        histograms = np.array([some.histogram(*place) for place in np.ndindex(some.shape)])
        expected = weights @ chi2_kernel(histograms, references).T
        np.testing.assert_allclose(scores, expected, atol=1e-12)


def test_scores_do_not_depend_on_the_company():
    rng = np.random.default_rng(0)
    kernel = PairKernel(N_WORDS, (1, 2), "chi2", "area")
    windows = [Windows(random_grid(rng, 6, 8), size, kernel) for size in ((3, 2), (2, 2), (3, 2))]
    _, _, expansion = random_expansion(rng, kernel, 2)
    for some, scores in zip(windows, expansion.scores(windows), strict=True):
        np.testing.assert_array_equal(scores, expansion.scores([some])[0])


def test_no_windows_have_no_scores():
    _, _, expansion = random_expansion(np.random.default_rng(0), PairKernel(N_WORDS, (1,), "chi2"), 1)
    assert expansion.scores([]) == []


@pytest.mark.parametrize("weights", [np.ones(4), np.ones((2, 3))])
def test_weights_that_do_not_belong_to_the_references_are_rejected(weights):
    kernel = PairKernel(N_WORDS, (1,), "chi2")
    with pytest.raises(ValueError, match=r"weights of shape .*: expected \(n, 4\)"):
        Chi2Expansion(kernel, csr_array(np.ones((4, N_WORDS))), weights)
