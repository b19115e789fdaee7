"""Scores of all windows of one size on a grid of visual words (kernels of `ermlab.inference.windows`).

``words`` is (scales, rows, columns), -1 where there is no word. ``cells`` is (rows, columns, levels) of one
window: the cell of the pyramid that holds a place. ``bounds`` is (cells, 4): first row, first column, last
row + 1 and last column + 1 of each cell.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def linear_scores(words, weights, bounds, out):
    """Write the sum of ``weights[word, cell]`` over the words of each window, by integral images."""
    n_scales, rows, columns = words.shape
    n_cells = bounds.shape[0]
    integral = np.zeros((rows + 1, columns + 1, n_cells))
    running = np.empty(n_cells)
    for y in range(rows):
        running[:] = 0.0
        for x in range(columns):
            for s in range(n_scales):
                word = words[s, y, x]
                if word >= 0:
                    for c in range(n_cells):
                        running[c] += weights[word, c]
            for c in range(n_cells):
                integral[y + 1, x + 1, c] = integral[y, x + 1, c] + running[c]
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            total = 0.0
            for c in range(n_cells):
                top, left, bottom, right = (
                    y + bounds[c, 0],
                    x + bounds[c, 1],
                    y + bounds[c, 2],
                    x + bounds[c, 3],
                )
                total += (integral[bottom, right, c] - integral[top, right, c]) - (
                    integral[bottom, left, c] - integral[top, left, c]
                )
            out[y, x] = total


@njit(cache=True, nogil=True)
def table_scores(words, cells, bounds, table, begins, counts, wanted, out):
    """Write the sum over bins of ``table`` at their counts for the windows that are ``wanted``.

    The bin of a word in a cell at count k stands at ``begins[word, cell] + k``: what belongs to a
    word lies together. ``counts``, of the same shape, holds zeros before and after. A window that follows
    another one to the right differs from it by a column at either end of each cell.
    """
    for y in range(out.shape[0]):
        total, last = 0.0, -2
        for x in range(out.shape[1]):
            if not wanted[y, x]:
                continue
            if last == x - 1:
                total += _table_change(words, bounds, table, begins, counts, y, last)
            else:
                if last >= 0:
                    _clear(words, cells, y, last, counts)
                total = _table_sum(words, cells, table, begins, counts, y, x)
            out[y, x] = total
            last = x
        if last >= 0:
            _clear(words, cells, y, last, counts)


@njit(cache=True, nogil=True)
def _table_sum(words, cells, table, begins, counts, y, x):
    """Count the words of a window; return the sum over its bins."""
    total = 0.0
    for s in range(words.shape[0]):
        for i in range(cells.shape[0]):
            for j in range(cells.shape[1]):
                word = words[s, y + i, x + j]
                if word < 0:
                    continue
                for level in range(cells.shape[2]):
                    cell = cells[i, j, level]
                    place = begins[word, cell] + counts[word, cell]
                    total += table[place + 1] - table[place]
                    counts[word, cell] += 1
    return total


@njit(cache=True, nogil=True)
def _table_change(words, bounds, table, begins, counts, y, x):
    """Count the words of the next window in place of those at (y, x); return what the sum gains."""
    gain = 0.0
    for cell in range(bounds.shape[0]):
        left, right = x + bounds[cell, 1], x + bounds[cell, 3]
        if left == right:  # a cell without places, where the pyramid is finer than the grid
            continue
        for row in range(y + bounds[cell, 0], y + bounds[cell, 2]):
            for s in range(words.shape[0]):
                leaves, enters = words[s, row, left], words[s, row, right]
                if leaves >= 0:
                    counts[leaves, cell] -= 1
                    place = begins[leaves, cell] + counts[leaves, cell]
                    gain -= table[place + 1] - table[place]
                if enters >= 0:
                    place = begins[enters, cell] + counts[enters, cell]
                    gain += table[place + 1] - table[place]
                    counts[enters, cell] += 1
    return gain


@njit(cache=True, nogil=True)
def chi2_similarities(words, cells, references, divisors, counts, wanted, out):
    """Add ``sum 2 q_m h / (q_m + h)`` to ``out[window, m]`` for the windows that are ``wanted``, in order.

    The filled bins q of the ``references`` are sorted by bin: where each begins, whose they are, and values.
    """
    starts, owners, values = references
    n_scales = words.shape[0]
    rows, columns, n_levels = cells.shape
    n_words = counts.shape[0]
    window = 0
    for y in range(wanted.shape[0]):
        for x in range(wanted.shape[1]):
            if not wanted[y, x]:
                continue
            _add(words, cells, y, x, counts)
            for s in range(n_scales):
                for i in range(rows):
                    for j in range(columns):
                        word = words[s, y + i, x + j]
                        if word < 0:
                            continue
                        for level in range(n_levels):
                            cell = cells[i, j, level]
                            if counts[word, cell] > 0:
                                h = counts[word, cell] / divisors[y, x]
                                place = cell * n_words + word
                                for k in range(starts[place], starts[place + 1]):
                                    out[window, owners[k]] += 2.0 * (values[k] / (values[k] + h)) * h
                                counts[word, cell] = 0
            window += 1


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
    """Write for each window the number of its words, and the sum of the squares of all its bins.

    ``counts`` holds zeros before and after; windows of a row follow one another as in `table_scores`.
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
    """Count the words of the next window in place of those at (y, x); return the changes of both sums."""
    in_bins, total = 0, 0
    for cell in range(bounds.shape[0]):
        left, right = x + bounds[cell, 1], x + bounds[cell, 3]
        if left == right:  # a cell without places, where the pyramid is finer than the grid
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
def fill_chi2_table(references, weights, divisor, begins, limits, table):
    """Add ``sum_m weights[m] 2 q_m h / (q_m + h)``, h = k / divisor, for all bins and k up to their limits.

    ``references`` are as for `chi2_similarities`.
    """
    starts, owners, values = references
    n_words, n_cells = begins.shape
    for word in range(n_words):
        for cell in range(n_cells):
            for at in range(starts[cell * n_words + word], starts[cell * n_words + word + 1]):
                q, weight = values[at], weights[owners[at]]
                for k in range(1, limits[word, cell] + 1):
                    h = k / divisor
                    table[begins[word, cell] + k] += weight * 2.0 * (q / (q + h)) * h


@njit(cache=True, nogil=True)
def count(words, cells, counts):
    """Add the words of one window, (scales, rows, columns), to ``counts``; return how many there are."""
    n = 0
    for s in range(words.shape[0]):
        for i in range(cells.shape[0]):
            for j in range(cells.shape[1]):
                word = words[s, i, j]
                if word >= 0:
                    n += 1
                    for level in range(cells.shape[2]):
                        counts[cells[i, j, level], word] += 1
    return n
