"""Comparison of sparse histograms by the words that they share.

``sum (x - y)^2 / (x + y) = sum x + sum y - 4 sum x y / (x + y)``, and the last sum has a term for the common
words only. For a row of ``X`` the postings of each of its words (the rows of ``Y`` that have it) are walked
through; pairs without a common word cost nothing. The rows of ``Y`` come in blocks, so that the sums of a
block stay in the cache.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_common(X, postings, first_row, n_rows, symmetric, out, start, stop):
    """Add ``4 sum x y / (x + y)`` to ``out[i, j]`` for rows i of ``X`` from ``start`` to ``stop``.

    ``X`` is given by (starts, words, values), ``postings`` by (starts, rows, values) of the block of ``Y``
    that begins with row ``first_row``; with ``symmetric`` the columns up to i are left alone.
    """
    x_starts, x_words, x_values = X
    y_starts, y_rows, y_values = postings
    sums = np.empty(n_rows)
    for i in range(start, stop):
        if symmetric and first_row + n_rows <= i + 1:
            continue
        sums[:] = 0.0
        for a in range(x_starts[i], x_starts[i + 1]):
            word, x = x_words[a], x_values[a]
            for b in range(y_starts[word], y_starts[word + 1]):
                y = y_values[b]
                # The quotient first: no product of large or small numbers.
                sums[y_rows[b]] += (x / (x + y)) * y
        for j in range(max(i + 1 - first_row, 0) if symmetric else 0, n_rows):
            out[i, first_row + j] += 4.0 * sums[j]
