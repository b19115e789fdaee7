"""Boxes, and windows of visual words, with hostile places, words, weights and references."""

from itertools import chain, product

import numpy as np
import pytest
from expectations import refused
from harness import Cases, survive
from hostile_weights import hostile_weights
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ermlab.detection.boxes import best_overlap, overlap, suppress
from ermlab.detection.word_grids import WordGrid
from reproduction.experiments.joint_kernel_support.chi2_windows import Chi2Expansion
from reproduction.experiments.joint_kernel_support.windows import PairKernel, Windows

Vector = NDArray[np.float64]


def boxes() -> Cases:
    """Compare boxes of any size, and suppress some with scores of any size."""
    side = (1 << 31) - 1
    for name, given in {
        "one pixel": [[0, 0, 0, 0]],
        "longest": [[0, 0, side - 1, side - 1]],
        "longest and negative": [[-side, -side, -1, -1]],
        "far away": [[2**53 - 5, 0, 2**53 - 1, 3]],
        "none": [],
        "floats": [[0.0, 1.0, 2.0, 3.0]],
    }.items():
        yield name, lambda given=given: compare_boxes(given)
    for name, given in {
        "too long": [[0, 0, side, 0]],
        "areas overflow": [[0, 0, 2**40, 2**40]],
        "largest": [[0, 0, 2**63 - 1, 2**63 - 1]],
        "least": [[-(2**63), -(2**63), 2**63 - 1, 0]],
        "unsigned": np.array([[0, 0, 2**64 - 1, 1]], dtype=np.uint64),
        "float beyond": [[0, 0, 1e300, 1]],
        "NaN": [[0, 0, np.nan, 1]],
        "infinite": [[0, 0, np.inf, 1]],
        "turned": [[3, 0, 2, 1]],
        "texts": [["a", "b", "c", "d"]],
    }.items():
        yield name, lambda given=given: refused(lambda: overlap(given, given))
    rng = np.random.default_rng(0)
    corners = rng.integers(0, 50, (200, 2))
    drawn = np.hstack([corners, corners + rng.integers(0, 20, (200, 2))])
    for name, scores in hostile_weights(200, rng).items():
        for most in (0, 1, 2**63):
            yield f"{most} of {name}", lambda scores=scores, most=most: suppress(drawn, scores, most, 0.3)
    for most in (-1, 0.5, np.inf, np.nan):
        yield f"at most {most}", lambda most=most: refused(lambda: suppress(drawn, np.zeros(200), most))


def compare_boxes(given: list) -> NDArray:
    """Compare boxes with themselves."""
    shared = overlap(given, given)
    assert (np.diag(shared) == 1).all(), "a box is itself"
    return best_overlap(given, given)


#: The scaling of the chi2 kernel that is tested with each scaling of the linear kernel.
CHI2_SCALINGS = {"counts": "counts", "area": "area", "length": "counts"}


def word_windows() -> Cases:
    """Score windows of hostile words, sizes, weights and references, and compare with sums one by one."""
    rng = np.random.default_rng(0)
    grids = {
        "plain": rng.integers(-1, 4, (2, 6, 8)),
        "no words": np.full((1, 5, 5), -1),
        "one word": np.zeros((3, 6, 6), dtype=int),
        "one place": np.zeros((1, 1, 1), dtype=int),
        "one place without a word": np.full((1, 1, 1), -1),
        "far below": np.full((1, 4, 4), -(2**31)),
        "one row": rng.integers(-1, 4, (1, 1, 9)),
    }
    for grid_name, words in grids.items():
        grid = WordGrid(words.astype(np.int32), (0, 0), 4)
        rows, columns = words.shape[1:]
        for size in {(1, 1), (columns, rows), (max(columns // 2, 1), max(rows // 2, 1))}:
            for levels, normalization in product(((1,), (1, 2), (5,)), ("counts", "area", "length")):
                kernel = PairKernel(4, levels, "linear", normalization)
                for name, w in hostile_weights(kernel.dimension, rng).items():
                    if (levels == (1, 2) and normalization == "length") or name == "plain":
                        yield (
                            f"{grid_name}, {size} places, {levels}, {normalization}, {name}",
                            lambda g=grid, s=size, k=kernel, w=w: score_windows(g, s, k, w),
                        )


def score_windows(grid: WordGrid, size: tuple[int, int], kernel: PairKernel, w: Vector) -> None:
    """Compare scores, linear and by the chi2 kernel, with those of the histogram of each window."""
    windows = Windows(grid, size, kernel)
    places = list(np.ndindex(windows.shape))
    histograms = np.array([windows.histogram(*place) for place in places])
    scores = windows.linear_scores(kernel.by_cell(w)).ravel()
    scale = max(np.abs(w.astype(float)).max(), 1e-300)  # quotients of denormal numbers are not exact
    # Sums over boxes are differences of sums over all, so errors are relative to the largest weight.
    tolerance = 1e-9 * max(histograms.sum(axis=1).max(), 1.0)
    assert np.allclose(scores / scale, histograms @ (w / scale), atol=tolerance), "linear scores are wrong"
    chi2 = PairKernel(kernel.n_words, kernel.levels, "chi2", CHI2_SCALINGS[kernel.normalization])
    windows = Windows(grid, size, chi2)
    histograms = np.array([windows.histogram(*place) for place in places])
    references = np.abs(w / scale)[None]
    found = Chi2Expansion(chi2, csr_array(references), [[1.0]]).scores([windows, windows])[1]
    sums = histograms + references
    expected = np.sum(2 * histograms * references / np.where(sums > 0, sums, 1.0), axis=1)
    assert np.allclose(found[0], expected, rtol=1e-9, atol=1e-9), "chi2 scores are wrong"


def references() -> Cases:
    """Expand kernels of references with bins of 0, with tiny and huge ones, and with wrong bins."""
    rng = np.random.default_rng(0)
    kernel = PairKernel(3, (1, 2), "chi2", "area")
    windows = [Windows(WordGrid(rng.integers(-1, 3, (1, 5, 5)), (0, 0), 4), (3, 3), kernel)]
    n = kernel.dimension
    bins = np.arange(n, dtype=np.int32)
    for name, values in hostile_weights(n, rng).items():
        stored = csr_array((np.abs(values), bins, np.array([0, n])), shape=(1, n))
        yield (
            f"references {name}",
            lambda stored=stored: Chi2Expansion(kernel, stored, [[1.0]]).scores(windows),
        )
        weights = np.abs(values)[None, :4]
        yield (
            f"weights {name}",
            lambda weights=weights: Chi2Expansion(kernel, csr_array(np.ones((4, n))), weights).scores(
                windows
            ),
        )
    none = csr_array((0, n))
    yield "no references", lambda: Chi2Expansion(kernel, none, np.ones((1, 0))).scores(windows)
    yield (
        "no functions",
        lambda: Chi2Expansion(kernel, csr_array(np.ones((1, n))), np.ones((0, 1))).scores(windows),
    )
    yield "no windows", lambda: Chi2Expansion(kernel, csr_array(np.ones((1, n))), [[1.0]]).scores([])
    outside = csr_array((np.ones(1), np.array([0]), np.array([0, 1])), shape=(1, n))
    outside.indices[0] = n + 5
    wrong = {
        "a bin that there is not": outside,
        "too few bins": csr_array(np.ones((1, n - 1))),
        "negative": csr_array(-np.ones((1, n))),
    }
    for name, given in wrong.items():
        yield name, lambda given=given: refused(lambda: Chi2Expansion(kernel, given, [[1.0]]))
    other = Windows(
        WordGrid(rng.integers(-1, 9, (1, 5, 5)), (0, 0), 4), (3, 3), PairKernel(9, (1, 2), "chi2")
    )
    expansion = Chi2Expansion(kernel, csr_array(np.ones((1, n))), [[1.0]])
    yield "windows of more words", lambda: refused(lambda: expansion.scores([*windows, other]))
    grid = windows[0].grid
    for name, build in {
        "words beyond the last": lambda: Windows(grid, (3, 3), PairKernel(2, (1,))),
        "words of fractions": lambda: Windows(grid._replace(words=grid.words / 2), (3, 3), kernel),
        "other byte order": lambda: Windows(grid._replace(words=grid.words.astype(">i4")), (3, 3), kernel),
        "level 0": lambda: Windows(grid, (3, 3), PairKernel(3, (0,))),
        "no levels": lambda: Windows(grid, (3, 3), PairKernel(3, ())),
        "no words": lambda: Windows(grid, (3, 3), PairKernel(0, (1,))),
        "size 0": lambda: Windows(grid, (0, 3), kernel),
        "size NaN": lambda: Windows(grid, (np.nan, 3), kernel),
        "row after the last": lambda: windows[0].filled_bins(3, 0),
        "row -1": lambda: windows[0].histogram(-1, 0),
        "a window outside": lambda: kernel.features([grid], [[3, 3, 5, 5]]),
        "too few weights": lambda: windows[0].linear_scores(np.zeros((kernel.n_cells, 3))),
    }.items():
        yield name, lambda build=build: refused(build)


# Cases of one subject share a process: to start one takes longer than most of them.
SUBJECTS = {"windows": lambda: chain(boxes(), word_windows(), references())}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    survive(__file__, subject)
