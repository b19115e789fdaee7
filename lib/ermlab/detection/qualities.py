"""Quality functions of boxes for exact search: `linear`, `pyramid`, `histogram` and `loss_augmented`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import check_choice
from ermlab.detection._bounds_numba import (
    ClassicalLinear,
    ClassicalPyramid,
    Histogram,
    Linear,
    MarginRescaled,
    SlackRescaled,
    integral_image,
    upper_bound,
)
from ermlab.detection._pyramid_numba import Pyramid
from ermlab.detection._queue_numba import LARGEST_COORDINATE
from ermlab.detection.boxes import as_boxes_inside

BOUNDS = ("tight", "classical")
#: Largest sum of absolute weights: bounds and differences of scores stay finite.
LARGEST_SUM = 2.0**1000
#: The tight bound of a pyramid adds up to 16 times the sum of absolute weights.
SPARE_BITS = 3
RESCALINGS = {"margin": MarginRescaled, "slack": SlackRescaled}
# Functions of a reference count q and a count h, summed over the bins; 0 for q = h = 0.
KERNELS = {
    "intersection": np.minimum,
    "chi2": lambda q, h: 2 * q * h / np.maximum(q + h, np.finfo(float).tiny),
    "chi2_distance": lambda q, h: -((q - h) ** 2) / np.maximum(q + h, np.finfo(float).tiny),
}


@dataclass(frozen=True)
class Quality:
    """Score of each box of an image, with upper bounds over sets of boxes.

    Attributes
    ----------
    shape : (int, int)
        Height and width of the image.
    tables : NamedTuple
        Arrays of the compiled bound.
    """

    shape: tuple[int, int]
    tables: tuple

    def score(self, box: ArrayLike) -> float:
        """Return the score of a box (left, top, right, bottom)."""
        left, top, right, bottom = check_box(box, self.shape)
        return _bound(self.tables, (left, left, top, top, right, right, bottom, bottom))

    def bound(self, left: tuple, top: tuple, right: tuple, bottom: tuple) -> float:
        """Return the upper bound over all boxes with sides in four intervals (first, last)."""
        intervals = tuple(int(value) for interval in (left, top, right, bottom) for value in interval)
        if len(intervals) != 8:
            raise ValueError(f"{len(intervals)} ends of intervals: expected first and last of four sides")
        l1, l2, t1, t2, r1, r2, b1, b2 = intervals
        for low, high in (((l1, t1), (r1, b1)), ((l2, t2), (r2, b2))):
            check_box((*low, *high), self.shape)
        if l1 > l2 or t1 > t2 or r1 > r2 or b1 > b2:
            raise ValueError(f"intervals {intervals}: expected each to begin before it ends")
        return _bound(self.tables, intervals)


@njit(cache=True)
def _bound(tables, boxes):
    return upper_bound(tables, boxes)


def linear(points: ArrayLike, weights: ArrayLike, shape: Sequence[int], bound: str = "tight") -> Quality:
    """Return the quality that sums the weights of the points in a box.

    Parameters
    ----------
    points : array-like of int, of shape (n_points, 2)
        x and y of each point.
    weights : array-like of shape (n_points,)
        Weight of each point; in a bag of words, that of its word.
    shape : (int, int)
        Height and width of the image.
    bound : {"tight", "classical"}, default="tight"
        ``"classical"`` reads eight numbers; ``"tight"`` scans the sides and needs far fewer splits.

    Returns
    -------
    Quality
    """
    points, shape = check_points(points, shape), check_shape(shape)
    check_choice("bound", bound, BOUNDS)
    weights = on_a_grid(_check_weights(weights, (len(points),)))
    upright = _integral_images(points, weights, shape)
    if bound == "classical":
        return Quality(shape, ClassicalLinear(*upright))
    return Quality(shape, Linear(*upright, *_integral_images(points[:, ::-1], weights, shape[::-1])))


def pyramid(
    points: ArrayLike,
    weights: ArrayLike,
    shape: Sequence[int],
    grids: Sequence[int],
    bound: str = "tight",
) -> Quality:
    """Return the quality that sums weights of points which depend on the cell of the box.

    Parameters
    ----------
    points : array-like of shape (n_points, 2)
        As in `linear`.
    weights : array-like of shape (n_points, n_cells)
        Weight of each point in each cell, ordered by grid and row.
    shape : sequence of int
        As in `linear`.
    grids : sequence of int
        Number g of rows and columns of cells for each level; row i begins at ``top + i * height // g``.
    bound : {"tight", "classical"}, default="tight"
        ``"classical"`` bounds each cell alone; ``"tight"`` all cells together, and needs far fewer splits.

    Returns
    -------
    Quality
    """
    points, shape, grids = check_points(points, shape), check_shape(shape), check_grids(grids)
    n_cells = int(np.sum(grids**2))
    check_choice("bound", bound, BOUNDS)
    weights = on_a_grid(_check_weights(weights, (len(points), n_cells)), SPARE_BITS)
    if bound == "tight":
        return Quality(shape, _merged_grid(points, weights, shape, grids))
    images = [_integral_images(points, np.ascontiguousarray(column), shape) for column in weights.T]
    positive, negative = (np.stack(tables) for tables in zip(*images, strict=True))
    return Quality(shape, ClassicalPyramid(grids, positive, negative))


def histogram(
    points: ArrayLike,
    words: ArrayLike,
    shape: Sequence[int],
    references: ArrayLike,
    coefficients: ArrayLike = 1.0,
    kernel: str = "chi2",
    grids: Sequence[int] = (1,),
) -> Quality:
    """Return the quality ``sum_m coefficients[m] sum_k kernel(references[m, k], h[k])`` of a histogram h.

    Parameters
    ----------
    points : array-like of shape (n_points, 2)
        As in `linear`.
    words : array-like of int, of shape (n_points,)
        Word of each point, from 0.
    shape : sequence of int
        As in `linear`.
    references : array-like of shape (n_references, n_bins) or (n_bins,)
        Non-negative histograms, ordered by cell (see `pyramid`) and word.
    coefficients : float or array-like of shape (n_references,), default=1.0
        Coefficients of any sign.
    kernel : {"chi2", "intersection", "chi2_distance"}, default="chi2"
        ``2 q h / (q + h)``, ``min(q, h)`` or ``-(q - h)^2 / (q + h)``.
    grids : sequence of int, default=(1,)
        Levels of the spatial pyramid, see `pyramid`.

    Returns
    -------
    Quality
    """
    points, shape, grids = check_points(points, shape), check_shape(shape), check_grids(grids)
    check_choice("kernel", kernel, KERNELS)
    references = np.atleast_2d(np.asarray(references, dtype=np.float64))
    n_cells = int(np.sum(grids**2))
    n_words, remainder = divmod(references.shape[-1], n_cells)
    if (
        references.ndim != 2
        or remainder
        or n_words == 0
        or not (np.isfinite(references) & (references >= 0)).all()
    ):
        raise ValueError(
            f"references of shape {references.shape}: expected (m, {n_cells} cells times words), finite, >= 0"
        )
    coefficients = _check_weights(np.broadcast_to(coefficients, len(references)), (len(references),))
    words = check_words(words, len(points), n_words)
    order = np.argsort(words, kind="stable")
    x, y = points[order].T.copy()
    counts = np.bincount(words, minlength=n_words)
    begins = np.concatenate([[0], np.cumsum(counts)])
    values, offsets = _values_at_counts(references, coefficients, KERNELS[kernel], np.tile(counts, n_cells))
    with np.errstate(over="ignore"):
        largest = references.shape[1] * np.abs(values).max()
    if not largest <= LARGEST_SUM:
        raise ValueError(
            f"references up to {references.max()}, coefficients up to {np.abs(coefficients).max()}: expected "
            f"smaller ones, with scores of at most {LARGEST_SUM:.3g}"
        )
    return Quality(
        shape, Histogram(grids, x, y, begins, _range_maxima(values, counts.max(initial=0) + 1), offsets)
    )


def loss_augmented(quality: Quality, truth: ArrayLike, rescaling: str = "margin") -> Quality:
    """Return the quality that measures the violation of the margin, with the loss ``1 - overlap``.

    It is ``loss + score - score(truth)`` for margin and ``loss (1 + score - score(truth))`` for slack
    rescaling (thesis, eq. 2.17 and 2.18).

    Parameters
    ----------
    quality : Quality
        Score of each box.
    truth : array-like of int, of shape (4,)
        True box.
    rescaling : {"margin", "slack"}, default="margin"
        Rescaling by the loss.
    """
    check_choice("rescaling", rescaling, RESCALINGS)
    truth = check_box(truth, quality.shape)
    return Quality(quality.shape, RESCALINGS[rescaling](quality.tables, truth, quality.score(truth)))


def on_a_grid(weights: NDArray[np.float64], spare_bits: int = 0) -> NDArray[np.float64]:
    """Round the weights to multiples of a power of two with which all their sums are exact.

    The change is of the order of the rounding error of their sum. With exact sums equivalent boxes have equal
    scores, and no bound is smaller than a value. Each spare bit doubles the size of sums that are exact.
    """
    with np.errstate(over="ignore"):
        total = np.abs(weights).sum()
    if not total <= LARGEST_SUM:
        raise ValueError(
            f"weights whose sum overflows: absolute values sum to {total}, expected at most {LARGEST_SUM:.3g}"
        )
    shift = 52 - spare_bits - np.frexp(total)[1]
    return np.ldexp(np.rint(np.ldexp(weights, shift)), -shift)


def _integral_images(
    points: NDArray[np.int64], weights: NDArray[np.float64], shape: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the integral images of the positive and of the negative weights."""
    (height, width), (x, y) = shape, np.ascontiguousarray(points.T)
    parts = np.maximum(weights, 0), np.minimum(weights, 0)
    return tuple(integral_image(x, y, part, width, height) for part in parts)


def _merged_grid(
    points: NDArray[np.int64],
    weights: NDArray[np.float64],
    shape: tuple[int, int],
    grids: NDArray[np.int64],
) -> Pyramid:
    """Return the grid with the edges of all levels of a pyramid, see `Pyramid`."""
    fractions = sorted({Fraction(i, g) for g in grids.tolist() for i in range(g + 1)})
    edges = np.array([(fraction.numerator, fraction.denominator) for fraction in fractions])
    (height, width), K = shape, len(edges) - 1
    (x, column), (y, row) = (np.unique(side, return_inverse=True) for side in points.T)
    corners = np.zeros((K + 1, K + 1, len(y) + 1, len(x) + 1))
    for i, j in np.ndindex(K, K):
        at_points, first_cell = np.zeros(len(points)), 0
        for grid in grids:
            cell_row, cell_column = (int(fractions[k] * int(grid)) for k in (i, j))
            at_points += weights[:, first_cell + cell_row * grid + cell_column]
            first_cell += grid**2
        sums = integral_image(column, row, at_points, len(x), len(y))
        corners[j, i] += sums
        corners[j, i + 1] -= sums
        corners[j + 1, i] -= sums
        corners[j + 1, i + 1] += sums
    ranks = (np.searchsorted(of_points, np.arange(n + 1)) for of_points, n in ((y, height), (x, width)))
    return Pyramid(edges, corners, *ranks)


def _values_at_counts(references, coefficients, kernel, counts):
    """Return the scores of each bin at counts 0 to ``counts[bin]``, and the start of each bin."""
    offsets = np.concatenate([[0], np.cumsum(counts + 1)])
    bins = np.repeat(np.arange(len(counts)), counts + 1)
    h = np.arange(offsets[-1]) - offsets[bins]
    values = np.zeros(offsets[-1])
    with np.errstate(over="ignore", invalid="ignore"):  # the caller checks for overflow
        for coefficient, reference in zip(coefficients, references, strict=True):
            values += coefficient * kernel(reference[bins], h)
    return values, offsets


def _range_maxima(values: NDArray[np.float64], longest: int) -> NDArray[np.float64]:
    """Return maxima of 1, 2, 4, ... consecutive values for all ranges up to a length."""
    levels = [values]
    for level in range(1, int(longest).bit_length()):
        below, maxima = levels[-1], levels[-1].copy()
        half = 1 << (level - 1)
        maxima[: len(values) - half] = np.maximum(below[: len(values) - half], below[half:])
        levels.append(maxima)
    return np.stack(levels)


def check_shape(shape: Sequence[int]) -> tuple[int, int]:
    """Return height and width as integers, or raise a ValueError."""
    height, width = shape if np.shape(shape) == (2,) else (0, 0)
    if not all(1 <= side <= LARGEST_COORDINATE + 1 and side == int(side) for side in (height, width)):
        raise ValueError(f"shape is {tuple(shape)}: expected numbers from 1 to {LARGEST_COORDINATE + 1}")
    return int(height), int(width)


def check_points(points: ArrayLike, shape: Sequence[int]) -> NDArray[np.int64]:
    """Return points as an array of integers inside the image, or raise a ValueError."""
    points, (height, width) = np.asarray(points), check_shape(shape)
    if points.size == 0:
        return np.empty((0, 2), np.int64)
    if points.ndim != 2 or points.shape[1] != 2 or not np.issubdtype(points.dtype, np.integer):
        raise ValueError(f"points of type {points.dtype}, shape {points.shape}: expected integers (n, 2)")
    outside = ((points < 0) | (points >= (width, height))).any(axis=1)
    if outside.any():
        i = int(outside.argmax())
        raise ValueError(f"point {i} is {tuple(points[i].tolist())}: expected x < {width}, y < {height}")
    return points.astype(np.int64)


def check_words(words: ArrayLike, n_points: int, n_words: int) -> NDArray[np.int64]:
    """Return the words of points as integers from 0 to ``n_words - 1``, or raise a ValueError."""
    words = np.asarray(words)
    if words.shape != (n_points,) or (n_points and not np.issubdtype(words.dtype, np.integer)):
        raise ValueError(f"words of type {words.dtype}, shape {words.shape}: expected {n_points} integers")
    if n_points and (words.min() < 0 or words.max() >= n_words):
        raise ValueError(f"words from {words.min()} to {words.max()}: expected 0 to {n_words - 1}")
    return words.astype(np.int64)


def check_grids(grids: Sequence[int]) -> NDArray[np.int64]:
    """Return the grids of a pyramid as an array, or raise a ValueError."""
    grids = np.asarray(grids)
    if (
        grids.ndim != 1
        or grids.size == 0
        or not np.issubdtype(grids.dtype, np.integer)
        or not 1 <= grids.min() <= grids.max() <= LARGEST_COORDINATE + 1
    ):
        raise ValueError(
            f"grids are {grids.tolist()}: expected at least one integer, all positive and at most "
            f"{LARGEST_COORDINATE + 1}"
        )
    return grids.astype(np.int64)


def check_box(box: ArrayLike, shape: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return a box as four integers, or raise a ValueError if it is empty or leaves the image."""
    left, top, right, bottom = as_boxes_inside([box], shape, "box")[0].tolist()
    return left, top, right, bottom


def _check_weights(weights: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != shape and not (weights.size == 0 and 0 in shape):
        raise ValueError(f"weights of shape {weights.shape}: expected {shape}")
    if not np.isfinite(weights).all():
        i = int(np.argmin(np.isfinite(weights).ravel()))
        raise ValueError(f"weight {i} is {weights.ravel()[i]}: expected finite numbers")
    return weights.reshape(shape)
