"""Sums over the bins of windows of functions of their counts (kernels of `ermlab.detection.chi2_windows`)."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_expansion(words, grids, bounds, runs, references, weights, divisor, begins, out):
    """Add ``sum_m weights[m] k(references[m], h)`` of some windows to ``out``, with the chi2 kernel.

    Cell by cell, so that what belongs to a cell stays in the cache. A window differs from the one before it
    by a line at either end of a cell.

    Parameters
    ----------
    words
        Of all grids, one after the other, each scale by scale and row by row; -1 where there is none.
    grids
        (grids, 4): the numbers of scales, rows and columns, and of windows in a row.
    bounds
        (grids, cells, 4): first row, first column, last row + 1 and last column + 1 of each cell of a window.
    runs
        (runs, 5): windows next to each other. Their grid, where the first begins in ``words`` and in ``out``,
        whether the others lie below it or else to the right, and their number.
    references
        The filled bins of all references, sorted by bin: where each bin begins, whose they are, their values.
    weights
        (references, functions).
    divisor
        Of the counts of all these windows.
    begins
        Where each word begins in a list of all counts that the words may have in a cell, and its length.
    out
        (windows, functions).
    """
    n_words, n_functions = begins.size - 1, weights.shape[1]
    counts, total = np.empty(n_words, dtype=np.int64), np.empty(n_functions)
    # What the functions gain if a word that has a count is counted once more; found when it is needed first.
    known, steps = np.empty(begins[n_words], dtype=np.bool_), np.empty((begins[n_words], n_functions))
    for cell in range(bounds.shape[1]):
        known[:] = False
        for run in range(runs.shape[0]):
            grid, at, down = runs[run, 0], runs[run, 2], runs[run, 3]
            n_scales, rows, columns = grids[grid, 0], grids[grid, 1], grids[grid, 2]
            top, left = bounds[grid, cell, 0], bounds[grid, cell, 1]
            height, width = bounds[grid, cell, 2] - top, bounds[grid, cell, 3] - left
            corner = runs[run, 1] + top * columns + left
            counts[:] = 0
            total[:] = 0.0
            for s in range(n_scales):
                for i in range(height):
                    for j in range(width):
                        word = words[corner + (s * rows + i) * columns + j]
                        if word >= 0:
                            place = begins[word] + counts[word]
                            if not known[place]:
                                _find_step(
                                    references, weights, divisor, cell, word, counts, place, known, steps
                                )
                            for f in range(n_functions):
                                total[f] += steps[place, f]
                            counts[word] += 1
            for f in range(n_functions):
                out[at, f] += total[f]
            # The line that leaves, and how far behind it lies the one that enters.
            length, stride, behind = (width, 1, height * columns) if down else (height, columns, width)
            for _ in range(1, runs[run, 4]):
                for s in range(n_scales):
                    for k in range(length):
                        first = corner + s * rows * columns + k * stride
                        leaves, enters = words[first], words[first + behind]
                        if leaves == enters:
                            continue
                        if leaves >= 0:
                            counts[leaves] -= 1
                            place = begins[leaves] + counts[leaves]
                            for f in range(n_functions):
                                total[f] -= steps[place, f]
                        if enters >= 0:
                            place = begins[enters] + counts[enters]
                            if not known[place]:
                                _find_step(
                                    references, weights, divisor, cell, enters, counts, place, known, steps
                                )
                            for f in range(n_functions):
                                total[f] += steps[place, f]
                            counts[enters] += 1
                corner += columns if down else 1
                at += grids[grid, 3] if down else 1
                for f in range(n_functions):
                    out[at, f] += total[f]


@njit(cache=True, nogil=True)
def _find_step(references, weights, divisor, cell, word, counts, place, known, steps):
    """Write what ``sum_m weights[m] 2 q_m h / (q_m + h)`` gains if a word is counted once more in a cell."""
    starts, owners, values = references
    before, after = counts[word] / divisor, (counts[word] + 1) / divisor
    steps[place] = 0.0
    first = cell * counts.size + word
    for at in range(starts[first], starts[first + 1]):
        q = values[at]
        # The difference of the two terms, without the digits that a subtraction would lose.
        gain = 2.0 / divisor * (q * q / ((q + before) * (q + after)))
        for f in range(weights.shape[1]):
            steps[place, f] += gain * weights[owners[at], f]
    known[place] = True
