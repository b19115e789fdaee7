"""Compiled loops of `chi2_windows`: sums over bins of functions of their counts."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_expansion(words, grids, bounds, runs, references, weights, divisor, begins, out):
    """Add ``sum_m weights[m] k(references[m], h)`` of windows to ``out``, with the chi-squared kernel.

    Cells are processed one after the other, so that their tables stay in the cache. Consecutive windows
    differ by a line at each end of a cell.

    Parameters
    ----------
    words : array of shape (n_words_of_all_grids,)
        Concatenated words of all grids, each by scale and row; -1 without a word.
    grids : array of shape (n_grids, 4)
        Numbers of scales, rows and columns, and of windows in a row.
    bounds : array of shape (n_grids, n_cells, 4)
        First row, first column, last row + 1 and last column + 1 of each cell of a window.
    runs : array of shape (n_runs, 5)
        Adjacent windows: their grid, the position of the first in ``words`` and in ``out``, whether the
        others are below it or to the right, and their number.
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
    counts, total = np.empty(n_words, dtype=np.int64), np.empty(n_functions)
    # Change of the functions if the count of a word increases by 1, computed on first use.
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
                            _add_word(
                                references, weights, divisor, cell, word, counts, begins, known, steps, total
                            )
            for f in range(n_functions):
                out[at, f] += total[f]
            # The line that leaves the cell, and the distance to the one that enters.
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
                            _add_word(
                                references,
                                weights,
                                divisor,
                                cell,
                                enters,
                                counts,
                                begins,
                                known,
                                steps,
                                total,
                            )
                corner += columns if down else 1
                at += grids[grid, 3] if down else 1
                for f in range(n_functions):
                    out[at, f] += total[f]


@njit(cache=True, nogil=True)
def _add_word(references, weights, divisor, cell, word, counts, begins, known, steps, total):
    """Count a word once more, and add the change of the functions to ``total``."""
    place = begins[word] + counts[word]
    if not known[place]:
        _find_step(references, weights, divisor, cell, word, counts, place, known, steps)
    for f in range(total.size):
        total[f] += steps[place, f]
    counts[word] += 1


@njit(cache=True, nogil=True)
def _find_step(references, weights, divisor, cell, word, counts, place, known, steps):
    """Write the change of ``sum_m weights[m] 2 q_m h / (q_m + h)`` if the count of a word increases by 1."""
    starts, owners, values = references
    before, after = counts[word] / divisor, (counts[word] + 1) / divisor
    steps[place] = 0.0
    first = cell * counts.size + word
    for at in range(starts[first], starts[first + 1]):
        q = values[at]
        # The difference of the two terms without cancellation.
        gain = 2.0 / divisor * (q * q / ((q + before) * (q + after)))
        for f in range(weights.shape[1]):
            steps[place, f] += gain * weights[owners[at], f]
    known[place] = True
