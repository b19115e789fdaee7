"""Compiled loops of `windows`: scores of all windows of one size on a grid of words.

``words`` is (scales, rows, columns), -1 without a word. ``cells`` is (rows, columns, levels) of one window:
the cell of the pyramid that contains a place. ``bounds`` is (cells, 4): first row, first column, last row + 1
and last column + 1 of each cell.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_up(words, weights, out):
    """Write the sum of ``weights[word]``, one number for each cell, over all places above and to the left.

    ``words`` are non-negative here, ``weights`` is (words, cells) and ``out`` (rows + 1, columns + 1, cells).
    """
    n_cells = weights.shape[1]
    line = np.empty(n_cells)
    out[0] = 0.0
    for y in range(words.shape[1]):
        line[:] = 0.0
        out[y + 1, 0] = 0.0
        for x in range(words.shape[2]):
            for s in range(words.shape[0]):
                row = weights[words[s, y, x]]
                for cell in range(n_cells):
                    line[cell] += row[cell]
            above, here = out[y, x + 1], out[y + 1, x + 1]
            for cell in range(n_cells):
                here[cell] = above[cell] + line[cell]


@njit(cache=True, nogil=True)
def linear_scores(sums, bounds, stride, out):
    """Write the sum over cells of what `add_up` has added inside the cell, for each window."""
    columns, n_cells = sums.shape[1], sums.shape[2]
    flat = sums.ravel()
    corners = np.empty((n_cells, 4), dtype=np.int64)
    for cell in range(n_cells):
        top, left, bottom, right = bounds[cell]
        corners[cell, 0] = (bottom * columns + right) * n_cells + cell
        corners[cell, 1] = (top * columns + right) * n_cells + cell
        corners[cell, 2] = (bottom * columns + left) * n_cells + cell
        corners[cell, 3] = (top * columns + left) * n_cells + cell
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            at = (y * columns + x) * stride * n_cells
            total = 0.0
            for cell in range(n_cells):
                first = flat[at + corners[cell, 0]] - flat[at + corners[cell, 1]]
                total += first - (flat[at + corners[cell, 2]] - flat[at + corners[cell, 3]])
            out[y, x] = total


@njit(cache=True, nogil=True)
def _add(words, cells, y, x, counts):
    """Count the words of a window; return the sum of the squares of its bins."""
    total = 0
    for s in range(words.shape[0]):
        for i in range(cells.shape[0]):
            for j in range(cells.shape[1]):
                word = words[s, y + i, x + j]
                if word < 0:
                    continue
                for level in range(cells.shape[2]):
                    cell = cells[i, j, level]
                    total += 2 * counts[word, cell] + 1
                    counts[word, cell] += 1
    return total


@njit(cache=True, nogil=True)
def sums_of_squares(words, cells, bounds, stride, counts, out):
    """Write the sum of the squares of all bins of each window.

    ``counts`` is zero before and after. A window differs from the next one to the right by a column at each
    end of each cell.
    """
    for y in range(out.shape[0]):
        top = y * stride
        total = _add(words, cells, top, 0, counts)
        for x in range(out.shape[1]):
            for left in range(max(x - 1, 0) * stride, x * stride):
                total += _change(words, bounds, counts, top, left)
            out[y, x] = total
        _clear(words, cells, top, (out.shape[1] - 1) * stride, counts)


@njit(cache=True, nogil=True)
def _change(words, bounds, counts, y, x):
    """Update the counts of the window at (y, x) to the next one; return the change of the sum of squares."""
    total = 0
    for cell in range(bounds.shape[0]):
        left, right = x + bounds[cell, 1], x + bounds[cell, 3]
        if left == right:  # empty, as the pyramid is finer than the grid
            continue
        for row in range(y + bounds[cell, 0], y + bounds[cell, 2]):
            for s in range(words.shape[0]):
                leaves, enters = words[s, row, left], words[s, row, right]
                if leaves >= 0:
                    counts[leaves, cell] -= 1
                    total -= 2 * counts[leaves, cell] + 1
                if enters >= 0:
                    total += 2 * counts[enters, cell] + 1
                    counts[enters, cell] += 1
    return total


@njit(cache=True, nogil=True)
def _clear(words, cells, y, x, counts):
    for s in range(words.shape[0]):
        for i in range(cells.shape[0]):
            for j in range(cells.shape[1]):
                word = words[s, y + i, x + j]
                if word >= 0:
                    for level in range(cells.shape[2]):
                        counts[word, cells[i, j, level]] = 0


@njit(cache=True, nogil=True)
def filled_bins(words, cells, n_words, n_cells):
    """Return the non-empty bins of one window in order, and their counts."""
    counts = np.zeros(n_cells * n_words, dtype=np.int32)
    n_filled = 0
    for s in range(words.shape[0]):
        for i in range(cells.shape[0]):
            for j in range(cells.shape[1]):
                word = words[s, i, j]
                if word < 0:
                    continue
                for level in range(cells.shape[2]):
                    place = cells[i, j, level] * n_words + word
                    n_filled += counts[place] == 0
                    counts[place] += 1
    bins, filled = np.empty(n_filled, dtype=np.int32), np.empty(n_filled, dtype=np.int64)
    at = 0
    for place in range(counts.size):
        if counts[place] > 0:
            bins[at], filled[at] = place, counts[place]
            at += 1
    return bins, filled
