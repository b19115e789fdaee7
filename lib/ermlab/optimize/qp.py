"""Quadratic programmes on simplices: the dual of the L2-regularised cutting-plane model."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.optimize._simplex_qp_numba import maximise


@dataclass(frozen=True)
class SimplexQPResult:
    """A point of the simplex, or of several, and how good it is.

    ``value`` is ``b' alpha - 1/2 alpha' G alpha``; the maximum lies in ``[value, value + gap]``.
    """

    alpha: NDArray[np.float64]
    value: float
    gap: float
    iterations: int


def solve_simplex_qp(
    G: ArrayLike,
    b: ArrayLike,
    alpha0: ArrayLike | None = None,
    tol: float = 1e-10,
    max_iter: int | None = None,
    part: ArrayLike | None = None,
) -> SimplexQPResult:
    """Maximise ``b' alpha - 1/2 alpha' G alpha`` over the simplex (cheap data, eq. 1.7).

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
    G, b = np.ascontiguousarray(G, dtype=np.float64), np.ascontiguousarray(b, dtype=np.float64)
    if b.ndim != 1 or b.size == 0 or G.shape != (b.size, b.size):
        raise ValueError(
            f"G has shape {G.shape} and b {b.shape}: expected (m, m) and (m,) with m of at least 1"
        )
    if not (np.isfinite(G).all() and np.isfinite(b).all()):
        raise ValueError("G and b must be finite: found NaN or infinity")
    if not tol >= 0:
        raise ValueError(f"tol is {tol}: expected a number of at least 0")
    part, n_parts = _parts(part, b.size)
    alpha = _start(G, b, alpha0, part, n_parts)
    max_iter = 100 + 20 * b.size if max_iter is None else max_iter
    gap, iterations = maximise(G, b, alpha, tol, max_iter, part, n_parts)
    if not np.isfinite(alpha).all():
        raise ValueError("G is not positive semidefinite, or so large that its products overflow: scale it")
    value = float(b @ alpha - 0.5 * alpha @ G @ alpha)
    return SimplexQPResult(alpha=alpha, value=value, gap=float(gap), iterations=int(iterations))


def _parts(part: ArrayLike | None, m: int) -> tuple[NDArray[np.int64], int]:
    """Return the part of each index and how many there are."""
    if part is None:
        return np.zeros(m, dtype=np.int64), 1
    part = np.ascontiguousarray(part, dtype=np.int64)
    if part.shape != (m,) or part.min() < 0:
        raise ValueError(f"part has shape {part.shape}: expected ({m},) and numbers from 0")
    if not (sizes := np.bincount(part)).all():
        raise ValueError(f"part {int(np.argmin(sizes))} is empty: expected an index in each")
    return part, len(sizes)


def _start(
    G: NDArray, b: NDArray, alpha0: ArrayLike | None, part: NDArray[np.int64], n_parts: int
) -> NDArray[np.float64]:
    """Return a fresh feasible point: ``alpha0`` brought onto each simplex, or its best corner."""
    alpha = np.zeros_like(b) if alpha0 is None else np.maximum(np.asarray(alpha0, dtype=np.float64), 0.0)
    if alpha.shape != b.shape or not np.isfinite(alpha).all():
        raise ValueError(f"alpha0 has shape {alpha.shape}: expected {b.shape} and finite numbers")
    corners = b - 0.5 * np.diag(G)
    for d in range(n_parts):
        members = np.flatnonzero(part == d)
        if (total := alpha[members].sum()) > 0:
            alpha[members] /= total
        else:
            alpha[members[np.argmax(corners[members])]] = 1.0
    return alpha
