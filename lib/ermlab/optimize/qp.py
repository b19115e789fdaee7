"""Quadratic programs on simplices: the dual of the L2-regularized cutting-plane model."""

import math
import operator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import as_number, real_array
from ermlab.optimize.simplex_qp_numba import maximize

# The kernel counts steps in 64 bits.
MOST_STEPS = 2**62
# Sums of weights up to this are finite.
LARGEST_WEIGHT = 1e290
# Weights sum to the number of parts up to this share.
SIMPLEX_ERROR = 1e-6


@dataclass(frozen=True)
class SimplexQPResult:
    """A point of the simplex, or of several, and how good it is.

    ``value`` is ``b' alpha - 1/2 alpha' G alpha``; the maximum lies in ``[value, value + gap]``.
    """

    alpha: NDArray[np.float64]
    value: float
    gap: float
    n_iter: int


def solve_simplex_qp(
    G: ArrayLike,
    b: ArrayLike,
    alpha0: ArrayLike | None = None,
    tol: float = 1e-10,
    max_iter: int | None = None,
    part: ArrayLike | None = None,
) -> SimplexQPResult:
    """Maximize ``b' alpha - 1/2 alpha' G alpha`` over the simplex (cheap data, eq. 1.7).

    With ``part`` the indices are cut into parts, and each has a simplex of its own (section 1.5.3).

    Parameters
    ----------
    G
        Symmetric positive semidefinite matrix; it may be singular.
    b
        Linear term.
    alpha0
        Where to start; what is negative is cut off and the rest is scaled to sum 1. By default the best
        corner. A start near the solution saves most of the work.
    tol
        Duality gap to reach, ``max_i g_i - alpha' g`` with ``g = b - G alpha``, in the units of the
        objective; with parts the sum of their maxima. Rounding ends the search earlier if it must; ``gap``
        tells.
    max_iter
        Limit on steps and changes of the support, by default ``100 + 20 m``.
    part
        Number of the part of each index, from 0; none may be empty. By default there is one.
    """
    G, b = np.ascontiguousarray(real_array(G, "G")), np.ascontiguousarray(real_array(b, "b"))
    if b.ndim != 1 or b.size == 0 or G.shape != (b.size, b.size):
        raise ValueError(
            f"G has shape {G.shape} and b {b.shape}: expected (m, m) and (m,) with m of at least 1"
        )
    if not (np.isfinite(G).all() and np.isfinite(b).all()):
        raise ValueError("G and b must be finite: found NaN or infinity")
    precision = as_number(tol)
    if not precision >= 0:
        raise ValueError(f"tol is {tol}: expected a number of at least 0")
    part, n_parts = _parts(part, b.size)
    alpha = _start(G, b, alpha0, part, n_parts)
    max_iter = 100 + 20 * b.size if max_iter is None else min(operator.index(max_iter), MOST_STEPS)
    gap, n_iter = maximize(G, b, alpha, precision, max_iter, part, n_parts)
    with np.errstate(over="ignore", invalid="ignore"):  # checked next
        value = float(b @ alpha - 0.5 * alpha @ G @ alpha)
        total = float(alpha.sum())
    if not (math.isfinite(value) and abs(total - n_parts) <= SIMPLEX_ERROR * n_parts):
        raise ValueError("G is not positive semidefinite, or so large that its products overflow: scale it")
    return SimplexQPResult(alpha=alpha, value=value, gap=float(gap), n_iter=int(n_iter))


def _parts(part: ArrayLike | None, m: int) -> tuple[NDArray[np.int64], int]:
    """Return the part of each index and how many there are."""
    if part is None:
        return np.zeros(m, dtype=np.int64), 1
    numbers = np.asarray(part)
    if numbers.shape != (m,) or numbers.dtype.kind not in "iu" or numbers.min() < 0:
        raise ValueError(
            f"part has shape {numbers.shape}, type {numbers.dtype}: expected ({m},) and whole numbers from 0"
        )
    present = np.unique(numbers)  # not counts, of which a large number would ask for too many
    if present[-1] != present.size - 1:
        empty = int(np.argmax(present != np.arange(present.size)))
        raise ValueError(f"part {empty} is empty: expected an index in each")
    return np.ascontiguousarray(numbers, dtype=np.int64), present.size


def _start(
    G: NDArray, b: NDArray, alpha0: ArrayLike | None, part: NDArray[np.int64], n_parts: int
) -> NDArray[np.float64]:
    """Return a fresh feasible point: ``alpha0`` brought onto each simplex, or its best corner."""
    alpha = np.zeros_like(b) if alpha0 is None else np.maximum(real_array(alpha0, "alpha0"), 0.0)
    if alpha.shape != b.shape or not np.isfinite(alpha).all():
        raise ValueError(f"alpha0 has shape {alpha.shape}: expected {b.shape} and finite numbers")
    corners = 0.5 * b - 0.25 * np.diag(G)  # halved, so that they cannot overflow
    for d in range(n_parts):
        members = np.flatnonzero(part == d)
        if alpha0 is not None and alpha[members].max() > LARGEST_WEIGHT:
            alpha[members] /= alpha[members].max()
        if (total := alpha[members].sum()) > 0:
            alpha[members] /= total
        else:
            alpha[members[np.argmax(corners[members])]] = 1.0
    return alpha
