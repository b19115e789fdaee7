"""Quadratic programs on simplices: the dual of the L2-regularized cutting-plane model."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import as_number, real_array
from ermlab.optimize.simplex_qp_numba import maximize

# The kernel counts steps in 64 bits.
MOST_STEPS = 2**62
# Weights up to this size can be summed without overflow.
LARGEST_WEIGHT = 1e290
# Relative error of the sum of the weights, which is the number of parts.
SIMPLEX_ERROR = 1e-6
_UNSOLVABLE = "G is not positive semidefinite, or so large that its products overflow: scale it"


@dataclass(frozen=True)
class SimplexQPResult:
    """A point of one or several simplices, and its quality.

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

    With ``part`` the indices are divided into parts, each with its own simplex (section 1.5.3).

    Parameters
    ----------
    G : array-like of shape (m, m)
        Symmetric positive semidefinite matrix; it may be singular.
    b : array-like of shape (m,)
        Linear term.
    alpha0 : array-like of shape (m,), optional
        Starting point; negative entries are set to 0 and the others scaled to sum 1. By default the best
        corner. A start near the solution saves most of the work.
    tol : float, default=1e-10
        Duality gap to reach, ``max_i g_i - alpha' g`` with ``g = b - G alpha``, in the units of the
        objective; with parts the sum of their maxima. Rounding may end the search earlier, see ``gap``.
    max_iter : int, optional
        Maximum number of steps and changes of the support, by default ``100 + 20 m``.
    part : array-like of shape (m,), optional
        Part of each index, numbered from 0; no part may be empty. By default there is one part.

    Returns
    -------
    SimplexQPResult
        The point with its value and duality gap.
    """
    G, b = np.ascontiguousarray(real_array(G, "G")), np.ascontiguousarray(real_array(b, "b"))
    if b.ndim != 1 or b.size == 0 or G.shape != (b.size, b.size):
        raise ValueError(f"G has shape {G.shape} and b {b.shape}: expected (m, m) and (m,) with m > 0")
    if not (np.isfinite(G).all() and np.isfinite(b).all()):
        raise ValueError("G and b must be finite: found NaN or infinity")
    precision = as_number(tol)
    if not precision >= 0:
        raise ValueError(f"tol is {tol}: expected a number of at least 0")
    part, n_parts = _parts(part, b.size)
    alpha = feasible_start(G, b, alpha0, part, n_parts)
    max_iter = _most_steps(b.size) if max_iter is None else min(operator.index(max_iter), MOST_STEPS)
    gap, n_iter = maximize(G, b, alpha, precision, max_iter, part, n_parts)
    with np.errstate(over="ignore", invalid="ignore"):  # checked next
        value = float(b @ alpha - 0.5 * alpha @ G @ alpha)
        total = float(alpha.sum())
    if not (math.isfinite(value) and abs(total - n_parts) <= SIMPLEX_ERROR * n_parts):
        raise ValueError(_UNSOLVABLE)
    return SimplexQPResult(alpha=alpha, value=value, gap=float(gap), n_iter=int(n_iter))


def ascend_on_simplex(
    G: NDArray[np.float64], b: NDArray[np.float64], alpha0: NDArray[np.float64], tol: float
) -> NDArray[np.float64]:
    """Return ``alpha`` of `solve_simplex_qp` from a point of one simplex, for many small problems.

    The arguments are not checked; the result is, so that numbers that are not finite raise a ValueError, too.
    """
    alpha = alpha0 / alpha0.sum()
    maximize(G, b, alpha, tol, _most_steps(b.size), np.zeros(b.size, dtype=np.int64), 1)
    if not abs(alpha.sum() - 1) <= SIMPLEX_ERROR:
        raise ValueError(_UNSOLVABLE)
    return alpha


def _most_steps(m: int) -> int:
    return 100 + 20 * m


def _parts(part: ArrayLike | None, m: int) -> tuple[NDArray[np.int64], int]:
    """Return the part of each index and the number of parts."""
    if part is None:
        return np.zeros(m, dtype=np.int64), 1
    numbers = np.asarray(part)
    if numbers.shape != (m,) or numbers.dtype.kind not in "iu" or numbers.min() < 0:
        raise ValueError(
            f"part has shape {numbers.shape}, type {numbers.dtype}: expected ({m},), integers from 0"
        )
    present = np.unique(numbers)  # np.bincount would allocate memory for the largest number
    if present[-1] != present.size - 1:
        empty = int(np.argmax(present != np.arange(present.size)))
        raise ValueError(f"part {empty} is empty: expected an index in each")
    return np.ascontiguousarray(numbers, dtype=np.int64), present.size


def feasible_start(
    G: NDArray, b: NDArray, alpha0: ArrayLike | None, part: NDArray[np.int64], n_parts: int
) -> NDArray[np.float64]:
    """Return a new feasible point: ``alpha0`` scaled onto each simplex, or its best corner."""
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
