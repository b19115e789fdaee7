"""Loops of `ermlab.kernels.slot` over the windows of stacks of grids, (grids, rows, columns, channels)."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_shifted(products, out):
    """Sum over the rows of a window: ``out[r] = sum_d products[r + d, :, d]``."""
    n_rows, n_columns, n_filters = out.shape
    for r in range(n_rows):
        for j in range(n_columns):
            for k in range(n_filters):
                out[r, j, k] = products[r, j, 0, k]
            for d in range(1, products.shape[2]):
                for k in range(n_filters):
                    out[r, j, k] += products[r + d, j, d, k]


@njit(cache=True, nogil=True)
def nearest_windows(scores, grid, centres, length, squares, unit, slots):
    """Choose the nearest centre of each window from ``scores`` = ``|c|^2 - 2 <window, c>`` up to rounding.

    Centres that rounding cannot tell from the nearest are measured again in double precision. ``centres`` is
    (centres, height, width of the window in numbers), ``length`` the largest norm of a centre, ``unit`` the
    relative error of a scalar product, ``squares`` the sum of squares of each cell of the grid.
    """
    n_rows, n_columns, n_centres = scores.shape
    height, span = centres.shape[1], centres.shape[2]
    n_channels = grid.shape[2]
    cells = span // n_channels
    rows = grid.reshape(grid.shape[0], -1)
    for r in range(n_rows):
        for j in range(n_columns):
            best = scores[r, j, 0]
            slot = 0
            for k in range(1, n_centres):
                if scores[r, j, k] < best:
                    best, slot = scores[r, j, k], k
            norm = 0.0
            for d in range(height):
                for c in range(cells):
                    norm += squares[r + d, j + c]
            limit = best + 4.0 * unit * length * (np.sqrt(norm) + length)
            n_close = 0
            for k in range(n_centres):
                n_close += scores[r, j, k] <= limit
            if n_close > 1:
                smallest = np.inf
                for k in range(n_centres):
                    if scores[r, j, k] > limit:
                        continue
                    distance = 0.0
                    for d in range(height):
                        for s in range(span):
                            difference = np.float64(rows[r + d, j * n_channels + s]) - centres[k, d, s]
                            distance += difference * difference
                    if distance < smallest:
                        smallest, slot = distance, k
            slots[r, j] = slot


@njit(cache=True, nogil=True)
def score_slots(stack, slots, weights, biases, first, last, scores):
    """Score each window of grids ``first`` to ``last - 1`` by the weights of its slot: one product each."""
    n_channels = stack.shape[3]
    height, span = weights.shape[1], weights.shape[2]
    sums = np.empty(span, dtype=np.float32)
    for g in range(first, last):
        rows = stack[g].reshape(stack.shape[1], -1)
        for r in range(slots.shape[1]):
            for j in range(slots.shape[2]):
                w = weights[slots[g, r, j]]
                start = j * n_channels
                sums[:] = 0
                # Sums side by side, not one after the other: so they run in vectors and in a fixed order.
                for d in range(height):
                    cells, filters = rows[r + d, start : start + span], w[d]
                    for s in range(span):
                        sums[s] += cells[s] * filters[s]
                n = span
                while n > 8:
                    half = (n + 1) // 2
                    lower, upper = sums[: n - half], sums[half:n]
                    for s in range(n - half):
                        lower[s] += upper[s]
                    n = half
                total = biases[slots[g, r, j]]
                for s in range(n):
                    total += sums[s]
                scores[g, r, j] = total


@njit(cache=True, nogil=True)
def add_windows(stack, grids, rows, columns, slots, factors, height, width, out):
    """Add ``factor * (window, 1)`` to the row of ``out`` (slots, dimension + 1) that its slot names."""
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
