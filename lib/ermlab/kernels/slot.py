"""Slot kernels: several linear models of which one is active for each input (equivariant SVM, section 3.1).

A function q assigns one of Q slots to a descriptor phi: the nearest of Q centers found by k-means. The
feature map is ``e_q (x) phi``, with phi in the block of its slot and zeros, which are never stored,
elsewhere. Here phi is a window of cells of a grid and a 1, which gives each slot a bias. One slot is the
linear kernel.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.parallel import over_ranges
from ermlab._utils.saving import SavedModel
from ermlab._utils.validation import largest_magnitude, real_array, whole_number
from ermlab.kernels._slot_numba import add_windows, nearest_windows, score_slots

#: Cells of a window.
WINDOW = (7, 7)
#: Rows of windows whose products with the centers are computed at a time.
_BAND = 64
#: Largest entry of a descriptor that k-means can square in single precision.
_LARGEST = 1e15


class SlotMap(SavedModel, BaseEstimator):
    """Assignment q of descriptors to slots.

    Parameters
    ----------
    n_slots : int, default=18
        Number Q of slots.
    random_state : int, default=None
        Seed of k-means; the centers do not depend on the number of threads.
    window : tuple of int, default=(7, 7)
        Rows and columns of cells that a descriptor covers.

    Attributes
    ----------
    centers_ : ndarray of shape (n_slots, n_features), float32
        Centers of the slots.
    n_features_in_ : int
        Number of features of a descriptor.
    tree_ : scipy.spatial.cKDTree
        KD-tree of the centers.
    """

    _unsaved = ("tree_",)

    def __init__(self, n_slots: int = 18, random_state: int | None = None, window: tuple[int, int] = WINDOW):
        self.n_slots = n_slots
        self.random_state = random_state
        self.window = window

    def fit(self, descriptors: ArrayLike, y: None = None) -> Self:
        """Find the centers by k-means."""
        descriptors = _finite_matrix(descriptors)
        self.n_features_in_ = descriptors.shape[1]
        height, width = checked_window(self.window)
        cells = height * width
        if descriptors.shape[1] % cells or descriptors.shape[1] == 0:
            raise ValueError(
                f"descriptors of {descriptors.shape[1]} numbers: expected a multiple of the window's {cells} "
                "cells"
            )
        if not 1 <= whole_number("n_slots", self.n_slots, 0) <= len(descriptors):
            raise ValueError(f"{self.n_slots} slots: expected 1 to {len(descriptors)}, the descriptors")
        largest = largest_magnitude(descriptors)
        if largest > _LARGEST:
            raise ValueError(f"descriptors up to {largest:.3g}: expected at most {_LARGEST:.3g}")
        model = KMeans(int(self.n_slots), random_state=self.random_state, n_init=1)
        with threadpool_limits(1):  # sums over threads differ in their last bits, which affects the stopping
            model.fit(descriptors)
        self.centers_ = model.cluster_centers_.astype(np.float32)
        self.tree_ = cKDTree(self.centers_)
        return self

    def _after_load(self) -> None:
        if hasattr(self, "centers_"):
            self.tree_ = cKDTree(self.centers_)

    def assign(self, descriptors: ArrayLike) -> NDArray[np.int64]:
        """Return the slot of each descriptor, found with the KD-tree."""
        check_is_fitted(self)
        descriptors = _finite_matrix(descriptors, self.centers_.shape[1])
        return self.tree_.query(descriptors)[1].astype(np.int64)

    def assign_windows(self, grid: ArrayLike, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Return the slot of every window of a grid, the same as `assign` returns.

        The nearest center has the smallest ``|c|^2 - 2 <phi, c>``, so that one correlation with all centers
        serves all windows. It is computed in single precision; where that is not sufficient, the centers in
        question are compared in double precision.

        Parameters
        ----------
        grid : array-like of shape (..., rows, columns, n_channels)
            Cells of a grid, or a stack of such grids.
        n_jobs : int, default=None
            Number of threads; the result does not depend on it.

        Returns
        -------
        ndarray of shape (..., window_rows, window_columns)
        """
        check_is_fitted(self)
        window = checked_window(self.window)
        grid = as_stack(grid, window, self.centers_.shape[1])
        _require_finite_cells(grid)
        stack = grid.reshape(-1, *grid.shape[-3:])
        shape = windows_shape(stack.shape[1:3], window)
        slots = np.zeros((len(stack), *shape), dtype=np.int64)
        if len(self.centers_) > 1:
            self._assign_bands(stack, slots, window, n_jobs)
        return slots.reshape(*grid.shape[:-3], *shape)

    def _assign_bands(
        self, stack: NDArray, slots: NDArray, window: tuple[int, int], n_jobs: int | None
    ) -> None:
        height = window[0]
        rows, columns = slots.shape[1:]
        n_slots = len(self.centers_)
        centers = self.centers_.reshape(n_slots, height, -1)
        squares = np.einsum("kij,kij->k", centers, centers)
        # Columns are pairs (row of the window, center): products with all rows of a window at once.
        filters = np.ascontiguousarray(-2 * centers.transpose(2, 1, 0).reshape(centers.shape[2], -1))
        # Rounding of a sum of products for each row of a window, and of the sum over its rows.
        unit = float(np.finfo(np.float32).eps) * (centers.shape[2] + height + 8)
        bands = [(g, r) for g in range(len(stack)) for r in range(0, rows, _BAND)]

        def work(first: int, last: int) -> None:
            for g, r in bands[first:last]:
                last_row = min(r + _BAND, rows)
                cells = stack[g, r : last_row + height - 1]
                spans = sliding_window_view(cells, window[1], axis=1).swapaxes(2, 3)
                with np.errstate(over="ignore", invalid="ignore"):  # the loop then compares all centers
                    products = np.reshape(spans, (-1, centers.shape[2])) @ filters
                products = products.reshape(len(cells), columns, height, n_slots)
                nearest_windows(products, cells, centers, squares, unit, slots[g, r:last_row])

        with one_blas_thread():
            over_ranges(work, len(bands), n_jobs)


def windows_shape(cells: tuple[int, int], window: tuple[int, int] = WINDOW) -> tuple[int, int]:
    """Return the numbers of rows and columns of windows in a grid with the given numbers of cells."""
    return cells[0] - window[0] + 1, cells[1] - window[1] + 1


def window_descriptors(
    grid: ArrayLike, rows: ArrayLike, columns: ArrayLike, window: tuple[int, int] = WINDOW
) -> NDArray[np.float32]:
    """Return the descriptors phi of the windows with the given upper left cells, (n, n_features)."""
    window = checked_window(window)
    grid = as_stack(grid, window)
    if grid.ndim != 3:
        raise ValueError(f"grid has shape {grid.shape}: expected (rows, columns, channels)")
    _require_finite_cells(grid)
    shape = windows_shape(grid.shape[:2], window)
    rows = _places("rows", rows, shape[0])
    columns = _places("columns", columns, shape[1])
    if rows.shape != columns.shape:
        raise ValueError(f"{len(rows)} rows and {len(columns)} columns: expected the same number")
    picked = sliding_window_view(grid, window, axis=(0, 1))[rows, columns]
    return np.moveaxis(picked, -3, -1).reshape(len(picked), -1)


def score_windows(
    weights: ArrayLike,
    grid: ArrayLike,
    slots: NDArray[np.int64],
    window: tuple[int, int] = WINDOW,
    n_jobs: int | None = None,
) -> NDArray[np.float32]:
    """Compute ``<w, e_q (x) (phi, 1)>`` for every window of a grid or a stack of grids.

    Parameters
    ----------
    weights : array-like of shape (n_slots, n_features + 1), or flat
        Weights of each slot, the bias last.
    grid : array-like of shape (..., rows, columns, n_channels)
        Cells.
    slots : ndarray of shape (..., window_rows, window_columns)
        Slot of each window, see `SlotMap.assign_windows`; zeros for a linear model.
    window : tuple of int, default=(7, 7)
        Rows and columns of cells in a window.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it.
    """
    window = checked_window(window)
    grid = as_stack(grid, window)
    n_features = window[0] * window[1] * grid.shape[-1]
    weights = real_array(weights, "weights", np.float32)
    if weights.size == 0 or weights.size % (n_features + 1):
        raise ValueError(f"weights of shape {weights.shape}: expected (n_slots, {n_features + 1})")
    weights = weights.reshape(-1, n_features + 1)
    shape = (*grid.shape[:-3], *windows_shape(grid.shape[-3:-1], window))
    slots = _whole_numbers("slots", slots)
    if slots.shape != shape or slots.min(initial=0) < 0 or slots.max(initial=0) >= len(weights):
        raise ValueError(
            f"slots of shape {slots.shape} from {slots.min(initial=0)} to {slots.max(initial=0)}: "
            f"expected {shape}, from 0 to {len(weights) - 1}"
        )
    filters = np.ascontiguousarray(weights[:, :-1]).reshape(len(weights), window[0], -1)
    biases = np.ascontiguousarray(weights[:, -1])
    stack = grid.reshape(-1, *grid.shape[-3:])
    slots = slots.reshape(len(stack), *shape[-2:])
    scores = np.empty(slots.shape, dtype=np.float32)
    over_ranges(
        lambda first, last: score_slots(stack, slots, filters, biases, first, last, scores),
        len(stack),
        n_jobs,
    )
    if not np.isfinite(scores).all():
        raise ValueError("a score is not finite: expected finite weights and cells, and products in float32")
    return scores.reshape(shape)


def sum_of_features(
    stack: NDArray[np.float32],
    places: tuple[NDArray, NDArray, NDArray],
    slots: NDArray[np.int64],
    factors: ArrayLike,
    n_slots: int,
    window: tuple[int, int] = WINDOW,
) -> NDArray[np.float64]:
    """Compute ``sum_i factor_i e_q(i) (x) (phi_i, 1)``, one row per slot, without forming the features.

    ``places`` are the number of the grid and the upper left cell (row, column) of each window.
    """
    window, n_slots = checked_window(window), whole_number("n_slots", n_slots, 1)
    stack = as_stack(stack, window)
    if stack.ndim != 4:
        raise ValueError(f"stack has shape {stack.shape}: expected (grids, rows, columns, channels)")
    shape = windows_shape(stack.shape[1:3], window)
    grids = _places("numbers of grids", places[0], len(stack))
    rows, columns = _places("rows", places[1], shape[0]), _places("columns", places[2], shape[1])
    slots = _places("slots", slots, n_slots)
    factors = real_array(factors, "factors")
    sizes = [values.shape for values in (grids, rows, columns, slots, factors)]
    if len(set(sizes)) > 1:
        raise ValueError(f"grids, rows, columns, slots and factors of shapes {sizes}: expected the same")
    out = np.zeros((n_slots, window[0] * window[1] * stack.shape[-1] + 1))
    add_windows(stack, grids, rows, columns, slots, factors, *window, out)
    if not np.isfinite(out).all():
        raise ValueError("a sum is not finite: expected finite factors and cells")
    return out


def as_stack(grid: ArrayLike, window: tuple[int, int], n_features: int | None = None) -> NDArray[np.float32]:
    """Return a grid, or a stack of grids, in contiguous single precision, or raise a ValueError."""
    window = checked_window(window)
    # Values that are infinite in single precision are rejected by the caller.
    grid = np.ascontiguousarray(real_array(grid, "grid", np.float32))
    if grid.ndim < 3 or min(windows_shape(grid.shape[-3:-1], window)) < 1 or grid.shape[-1] == 0:
        raise ValueError(
            f"grid has shape {grid.shape}: "
            f"expected (..., rows, columns, channels) with at least {window} cells"
        )
    if n_features is not None and window[0] * window[1] * grid.shape[-1] != n_features:
        raise ValueError(
            f"windows of {window[0]} x {window[1]} cells with {grid.shape[-1]} numbers: "
            f"expected {n_features} in all"
        )
    return grid


def checked_window(window: tuple[int, int]) -> tuple[int, int]:
    """Return the rows and columns of a window, or raise a ValueError."""
    if np.shape(window) != (2,):
        raise ValueError(f"window is {window!r}: expected rows and columns of cells")
    rows, columns = window
    return whole_number("rows of the window", rows, 1), whole_number("columns of the window", columns, 1)


def _whole_numbers(name: str, values: ArrayLike) -> NDArray[np.int64]:
    values = np.asarray(values)
    if values.size and values.dtype.kind not in "iu":
        raise ValueError(f"{name} are of type {values.dtype}: expected whole numbers")
    return values.astype(np.int64, copy=False)


def _places(name: str, values: ArrayLike, count: int) -> NDArray[np.int64]:
    """Return a vector of whole numbers from 0 to ``count - 1``, or raise a ValueError."""
    values = _whole_numbers(name, values)
    if values.ndim != 1:
        raise ValueError(f"{name} have shape {values.shape}: expected one number per window")
    # As unsigned numbers negative ones are the largest, so that one comparison finds both.
    if values.size and values.view(np.uint64).max() >= count:
        raise ValueError(f"{name} from {values.min()} to {values.max()}: expected 0 to {count - 1}")
    return values


def _require_finite_cells(grid: NDArray[np.float32]) -> None:
    if not np.isfinite(grid).all():
        place = tuple(np.argwhere(~np.isfinite(grid))[0].tolist())
        raise ValueError(f"grid is {grid[place]} at {place}: expected numbers that are finite in float32")


def _finite_matrix(descriptors: ArrayLike, n_features: int | None = None) -> NDArray[np.float32]:
    descriptors = real_array(descriptors, "descriptors", np.float32)
    wanted = "n_features" if n_features is None else n_features
    if descriptors.ndim != 2 or (n_features is not None and descriptors.shape[1] != n_features):
        raise ValueError(f"descriptors have shape {descriptors.shape}: expected (n, {wanted})")
    if not np.isfinite(descriptors).all():
        raise ValueError("descriptors hold values that are not finite")
    return descriptors
