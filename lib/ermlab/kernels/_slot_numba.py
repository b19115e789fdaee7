"""Compiled loops of `ermlab.kernels.slot` over the windows of grids, (grids, rows, columns, channels)."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def nearest_windows(products, grid, centres, squares, unit, slots):
    """Write the nearest center of each window, that of the smallest ``|c|^2 - 2 <window, c>``.

    ``products`` are the scalar products of -2 times each row of a center with the cells of each row, (rows of
    cells, columns of windows, rows of a window, centers), ``squares`` the ``|c|^2``, ``unit`` the relative
    error of a scalar product. Centers that rounding cannot distinguish from the nearest are compared in
    double precision; ``centres`` is (centers, height, width of the window in numbers).
    """
    n_rows, n_columns = slots.shape
    n_centres, height, span = centres.shape
    n_channels = grid.shape[2]
    cells = span // n_channels
    rows = grid.reshape(grid.shape[0], -1)
    energy = _energies(grid)
    length = np.sqrt(np.float64(squares.max()))
    scores = np.empty(n_centres, dtype=np.float32)
    for r in range(n_rows):
        for j in range(n_columns):
            scores[:] = squares
            norm = 0.0
            for d in range(height):
                row_products = products[r + d, j, d]
                for k in range(n_centres):
                    scores[k] += row_products[k]
                for c in range(cells):
                    norm += energy[r + d, j + c]
            slot = 0
            for k in range(1, n_centres):
                if scores[k] < scores[slot]:
                    slot = k
            limit = scores[slot] + 4.0 * unit * length * (np.sqrt(norm) + length)
            n_close = 0
            for k in range(n_centres):
                n_close += not scores[k] > limit  # a score that overflowed to NaN excludes nothing
            if n_close > 1:
                slot = _nearest_of_close(rows[r : r + height, j * n_channels :], centres, scores, limit)
            slots[r, j] = slot


@njit(cache=True, nogil=True)
def _energies(grid):
    """Return the sum of squares of each cell."""
    energy = np.zeros(grid.shape[:2])
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            for c in range(grid.shape[2]):
                energy[i, j] += grid[i, j, c] * grid[i, j, c]
    return energy


@njit(cache=True, nogil=True)
def _nearest_of_close(window, centres, scores, limit):
    """Return the nearest, in double precision, of the centers with a score of at most ``limit``."""
    nearest, smallest = 0, np.inf
    for k in range(centres.shape[0]):
        if scores[k] > limit:
            continue
        distance = 0.0
        for d in range(centres.shape[1]):
            for s in range(centres.shape[2]):
                difference = np.float64(window[d, s]) - centres[k, d, s]
                distance += difference * difference
        if distance < smallest:
            nearest, smallest = k, distance
    return nearest


@njit(cache=True, nogil=True)
def score_slots(stack, slots, weights, biases, first, last, scores):
    """Write the scalar product of each window of grids ``first`` to ``last - 1`` with its slot's weights."""
    n_channels = stack.shape[3]
    height, span = weights.shape[1], weights.shape[2]
    for g in range(first, last):
        rows = stack[g].reshape(stack.shape[1], -1)
        for r in range(slots.shape[1]):
            for j in range(slots.shape[2]):
                w = weights[slots[g, r, j]]
                start = j * n_channels
                total = biases[slots[g, r, j]]
                for d in range(height):
                    total += _product(rows[r + d, start : start + span], w[d])
                scores[g, r, j] = total


# Terms may be added in any order, fixed at compile time, so that the loop is vectorized.
@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _product(cells, weights):
    total = np.float32(0.0)
    for s in range(len(cells)):
        total += cells[s] * weights[s]
    return total


@njit(cache=True, nogil=True)
def add_windows(stack, grids, rows, columns, slots, factors, height, width, out):
    """Add ``factor * (window, 1)`` to the row of its slot in ``out``, (slots, dimension + 1)."""
    span = width * stack.shape[3]
    for i in range(grids.size):
        flat = stack[grids[i]].reshape(stack.shape[1], -1)
        start = columns[i] * stack.shape[3]
        q, factor = slots[i], factors[i]
        for d in range(height):
            cells, sums = flat[rows[i] + d, start : start + span], out[q, d * span : (d + 1) * span]
            for s in range(span):
                sums[s] += factor * cells[s]
        out[q, height * span] += factor
