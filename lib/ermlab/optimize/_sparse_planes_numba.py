"""Products with rows that are mostly zeros (kernels of `ermlab.optimize.sparse_planes`)."""

from numba import njit


@njit(cache=True)
def products(starts, columns, values, w, out):
    """Write ``out = A w``."""
    for row in range(out.size):
        total = 0.0
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * w[columns[k]]
        out[row] = total


@njit(cache=True)
def combine(starts, columns, values, alpha, out):
    """Add ``A' alpha`` to ``out``."""
    for row in range(alpha.size):
        if alpha[row] != 0.0:
            for k in range(starts[row], starts[row + 1]):
                out[columns[k]] += alpha[row] * values[k]
