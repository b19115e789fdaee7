"""Compiled loops of `chi2_windows`: sums over bins of functions of their counts."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def first_steps(references, weights, divisor, n_words, out):
    """Write the values of all functions if a bin has the count 1 and all others are empty.

    ``out`` is (n_functions, n_cells, n_words + 1); the arguments are those of `add_rest`.
    """
    starts, owners, values = references
    out[:] = 0.0
    for cell in range(out.shape[1]):
        for word in range(n_words):
            bin = cell * n_words + word
            for at in range(starts[bin], starts[bin + 1]):
                gain = _gain(values[at], 0, divisor)
                for f in range(out.shape[0]):
                    out[f, cell, word] += gain * weights[owners[at], f]


@njit(cache=True, nogil=True)
def _gain(q, count, divisor):
    """Return the change of ``2 q h / (q + h)``, h = count / divisor, if the count increases by 1."""
    # The difference of the two terms without cancellation.
    return 2.0 / divisor * (q / (q + count / divisor)) * (q / (q + (count + 1) / divisor))


@njit(cache=True, nogil=True)
def add_rest(words, grids, bounds, references, weights, divisor, begins, out):
    """Add to ``out`` by how much ``sum_m weights[m] k(references[m], h)`` differs from a linear function.

    The linear function is that of `first_steps` times the counts, so that words count only where they occur
    in a cell repeatedly. Cells are processed one after the other: their tables stay in the cache. Consecutive
    windows differ by columns at the ends of a cell.

    Parameters
    ----------
    words : array of shape (n_words_of_all_grids,)
        Concatenated words of all grids, each by scale and row; -1 without a word.
    grids : array of shape (n_grids, 8)
        Numbers of scales, rows and columns, of rows and columns of windows, the places between windows, and
        the beginning of the grid in ``words`` and of its windows in ``out``.
    bounds : array of shape (n_grids, n_cells, 4)
        First row, first column, last row + 1 and last column + 1 of each cell of a window.
    references : tuple of arrays
        Non-empty bins of all references, sorted by bin: the start of each bin, the references, the values.
    weights : array of shape (n_references, n_functions)
    divisor : float
        Divisor of the counts of all windows.
    begins : array of shape (n_words + 1,)
        Start of each word in a list of all counts that words may have in a cell, and its length.
    out : array of shape (n_windows, n_functions)
    """
    n_words, n_functions = begins.size - 1, weights.shape[1]
    counts, total = np.zeros(n_words, dtype=np.int32), np.empty(n_functions)
    # Change of the rest if the count of a word increases by 1, computed on first use.
    known, steps = np.empty(begins[n_words], dtype=np.bool_), np.empty((begins[n_words], n_functions))
    for cell in range(bounds.shape[1]):
        known[:] = False
        for grid in range(grids.shape[0]):
            n_scales, rows, columns, down, across, stride, first, at = grids[grid]
            top, left = bounds[grid, cell, 0], bounds[grid, cell, 1]
            height, width = bounds[grid, cell, 2] - top, bounds[grid, cell, 3] - left
            if height == 0 or width == 0:  # empty, as the pyramid is finer than the grid
                continue
            for y in range(down):
                corner = first + (top + y * stride) * columns + left
                total[:] = 0.0
                # Columns enter until the cell is full; then one leaves for each that enters.
                for step in range(-width, (across - 1) * stride + 1):
                    if step >= 0 and step % stride == 0:
                        for f in range(n_functions):
                            out[at, f] += total[f]
                        at += 1
                    if step == (across - 1) * stride:
                        break
                    for s in range(n_scales):
                        for i in range(height):
                            place = corner + (s * rows + i) * columns + step
                            enters = words[place + width]
                            if step >= 0:
                                leaves = words[place]
                                if leaves == enters:
                                    continue
                                if leaves >= 0:
                                    counts[leaves] -= 1
                                    if counts[leaves] > 0:
                                        row = begins[leaves] + counts[leaves]
                                        for f in range(n_functions):
                                            total[f] -= steps[row, f]
                            if enters >= 0:
                                count = counts[enters]
                                counts[enters] = count + 1
                                if count > 0:
                                    row = begins[enters] + count
                                    # The table is called for here, as calls cost more than all the rest.
                                    if not known[row]:
                                        bin = cell * n_words + enters
                                        _find_step(references, weights, divisor, bin, count, steps[row])
                                        known[row] = True
                                    for f in range(n_functions):
                                        total[f] += steps[row, f]
                _clear(words, counts, corner + (across - 1) * stride, n_scales, rows, columns, height, width)


@njit(cache=True, nogil=True)
def _clear(words, counts, corner, n_scales, rows, columns, height, width):
    """Set the counts of the words of a cell to zero."""
    for s in range(n_scales):
        for i in range(height):
            for j in range(width):
                word = words[corner + (s * rows + i) * columns + j]
                if word >= 0:
                    counts[word] = 0


@njit(cache=True, nogil=True)
def _find_step(references, weights, divisor, bin, count, step):
    """Write the change of the functions if a count increases by 1, minus that of the first step."""
    starts, owners, values = references
    step[:] = 0.0
    for at in range(starts[bin], starts[bin + 1]):
        gain = _gain(values[at], count, divisor) - _gain(values[at], 0, divisor)
        for f in range(step.size):
            step[f] += gain * weights[owners[at], f]
