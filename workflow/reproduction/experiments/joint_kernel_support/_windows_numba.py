"""Compiled loops of `windows`: scores of all windows of one size on a grid of words.

``words`` is (scales, rows, columns), -1 without a word. ``cells`` is (rows, columns, levels) of one window:
the cell of the pyramid that contains a place. ``bounds`` is (cells, 4): first row, first column, last row + 1
and last column + 1 of each cell.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def linear_scores(words, weights, bounds, kinds, sizes, out):
    """Write the sum of ``weights[cell, word]`` over the words of each window.

    ``words`` are non-negative here. The weights of cells of the same size, ``sizes[kinds[cell]]``, are
    shifted to a common origin and added, so that one sum over boxes serves all of them.
    """
    out[:] = 0.0
    for kind in range(sizes.shape[0]):
        height, width = sizes[kind, 0], sizes[kind, 1]
        if height == 0 or width == 0:  # empty, as the pyramid is finer than the grid
            continue
        laid = np.zeros((out.shape[0] + height - 1, out.shape[1] + width - 1))
        for cell in range(bounds.shape[0]):
            if kinds[cell] == kind:
                _lay(words, weights[cell], bounds[cell, 0], bounds[cell, 1], laid)
        _add_boxes(laid, height, width, out)


@njit(cache=True, nogil=True)
def _lay(words, weights, top, left, laid):
    """Add the weights of the words from (top, left) on."""
    for s in range(words.shape[0]):
        for y in range(laid.shape[0]):
            row = words[s, top + y, left : left + laid.shape[1]]
            for x in range(laid.shape[1]):
                laid[y, x] += weights[row[x]]


@njit(cache=True, nogil=True)
def _add_boxes(values, height, width, out):
    """Add the sum over each box of a size, by running sums over columns."""
    columns = np.zeros(values.shape[1])
    for y in range(values.shape[0]):
        for x in range(values.shape[1]):
            columns[x] += values[y, x]
        top = y - height + 1
        if top < 0:
            continue
        total = 0.0
        for x in range(width - 1):
            total += columns[x]
        for x in range(out.shape[1]):
            total += columns[x + width - 1]
            out[top, x] += total
            total -= columns[x]
        for x in range(values.shape[1]):
            columns[x] -= values[top, x]


@njit(cache=True, nogil=True)
def _add(words, cells, y, x, counts):
    """Count the words of a window; return the sum of its bins, and the sum of their squares."""
    in_bins, total = 0, 0
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
                    in_bins += 1
    return in_bins, total


@njit(cache=True, nogil=True)
def window_sizes(words, cells, bounds, counts, points, squares):
    """Write the number of words and the sum of squares of all bins of each window.

    ``counts`` is zero before and after. A window differs from the next one to the right by a column at each
    end of each cell.
    """
    n_levels = cells.shape[2]
    for y in range(points.shape[0]):
        in_bins, total = _add(words, cells, y, 0, counts)
        for x in range(points.shape[1]):
            if x > 0:
                more, more_squares = _size_change(words, bounds, counts, y, x - 1)
                in_bins += more
                total += more_squares
            points[y, x], squares[y, x] = in_bins // n_levels, total
        _clear(words, cells, y, points.shape[1] - 1, counts)


@njit(cache=True, nogil=True)
def _size_change(words, bounds, counts, y, x):
    """Update the counts of the window at (y, x) to the next one; return the changes of both sums."""
    in_bins, total = 0, 0
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
                    in_bins -= 1
                if enters >= 0:
                    total += 2 * counts[enters, cell] + 1
                    counts[enters, cell] += 1
                    in_bins += 1
    return in_bins, total


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
    """Return the non-empty bins of one window in order, their counts, and the number of words."""
    counts = np.zeros(n_cells * n_words, dtype=np.int32)
    points, n_filled = 0, 0
    for s in range(words.shape[0]):
        for i in range(cells.shape[0]):
            for j in range(cells.shape[1]):
                word = words[s, i, j]
                if word < 0:
                    continue
                points += 1
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
    return bins, filled, points
