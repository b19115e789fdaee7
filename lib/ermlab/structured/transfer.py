"""Transfer between data sets: each has its own weights, close to shared ones (cheap data, section 1.5).

Equation 1.9 is an L2-regularized problem in another variable, which `ermlab.optimize` solves with planes
below the risk of each data set. The dual of its master problem is that of section 1.5.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import positive_number
from ermlab.optimize import L2, CCCPResult, Planes, Result, Risk, cccp, minimize
from ermlab.optimize.bundle import agreed_dimension

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class DifferenceRisk(Protocol):
    """A difference of convex functions, such as `ermlab.tracking.task.PartialTrackingRisk`."""

    dimension: int

    def convex_part(self, w: Vector) -> tuple[float, Vector]:
        """Return value and subgradient of the convex function."""

    def reward(self, w: Vector) -> tuple[float, Vector]:
        """Return value and subgradient of the convex function that is subtracted."""


class Coupling:
    """The change of variables that turns the regularizer of equation 1.9 into a squared norm.

    With ``u = (sqrt(alpha) w, sqrt(rho) (w^1 - w), ..., sqrt(rho) (w^D - w))``,
    ``alpha/2 |w|^2 + rho/2 sum_d |w^d - w|^2 = 1/2 |u|^2``.

    Parameters
    ----------
    n_domains, dimension : int
        Number of data sets, and length of the weights of each.
    alpha : float
        Regularization strength of the shared weights. If infinite, they are 0, and each data set is learned
        separately with ``rho/2 |w^d|^2``.
    rho : float
        Regularization strength of the differences. If infinite, they are 0, and the weights are those of the
        union.
    """

    def __init__(self, n_domains: int, dimension: int, alpha: float, rho: float):
        alpha = positive_number("alpha", alpha, infinite=True)
        rho = positive_number("rho", rho, infinite=True)
        if np.isinf(alpha) and np.isinf(rho):
            raise ValueError("alpha and rho are infinite: expected one of them to be finite")
        self.n_domains, self.dimension, self._alpha = n_domains, dimension, alpha
        own = np.eye(n_domains) / np.sqrt(rho)
        #: ``w^d = sum_k factors[d, k] u_k``.
        self.factors: Matrix = np.hstack([np.full((n_domains, 1), 1 / np.sqrt(alpha)), own])

    @property
    def stacked_dimension(self) -> int:
        """Length of ``u``."""
        return (self.n_domains + 1) * self.dimension

    def weights(self, u: Vector) -> Matrix:
        """Return ``w^d`` in row ``d``."""
        return self.factors @ u.reshape(-1, self.dimension)

    def shared(self, u: Vector) -> Vector:
        """Return ``w``."""
        return u[: self.dimension] / np.sqrt(self._alpha)

    def stack(self, weights: ArrayLike) -> Vector:
        """Return the shortest ``u`` for the weights of all data sets, or for the nearest possible ones."""
        weights = np.asarray(weights, dtype=np.float64)
        expected = self.n_domains, self.dimension
        if weights.shape != expected or not np.isfinite(weights).all():
            raise ValueError(f"weights of shape {weights.shape}: expected {expected}, finite numbers")
        return (np.linalg.pinv(self.factors) @ weights).ravel()

    def lift(self, d: int, gradients: Matrix) -> Matrix:
        """Return the gradients in ``u`` of functions with the given gradients in ``w^d``, one per row."""
        lifted = self.factors[d][None, :, None] * gradients[:, None, :]
        return lifted.reshape(len(gradients), self.stacked_dimension)

    def lower(self, d: int, gradients: Matrix) -> Matrix:
        """Undo `lift`."""
        row = self.factors[d]
        return row @ gradients.reshape(-1, len(row), self.dimension) / np.sum(row * row)


class TransferRisk:
    """The risks of all data sets as one risk of ``u``, see `Coupling`, with one part per data set.

    Parameters
    ----------
    risks : sequence of callable
        Functions ``w -> (value, subgradient)``.
    coupling : Coupling
        The change of variables.
    sizes : array-like
        Factor of each risk: equation 1.9 sums over samples, while the risks of this library are means.
    """

    def __init__(self, risks: Sequence[Risk], coupling: Coupling, sizes: ArrayLike):
        self._risks, self._coupling, self._sizes = list(risks), coupling, np.asarray(sizes, dtype=np.float64)
        self.n_parts, self.dimension = coupling.n_domains, coupling.stacked_dimension
        self.grows = any(getattr(risk, "grows", False) for risk in self._risks)

    def __call__(self, u: Vector) -> tuple[Vector, Matrix]:
        """Return value and subgradient of each part."""
        return self._stacked(self._risks, u)

    def known(self, u: Vector) -> tuple[Vector, Matrix]:
        """Return value and subgradient of each part, without a new search where a risk grows."""
        return self._stacked([getattr(risk, "known", risk) for risk in self._risks], u)

    def _stacked(self, risks: Sequence[Risk], u: Vector) -> tuple[Vector, Matrix]:
        values, slopes = np.empty(self.n_parts), np.empty((self.n_parts, self.dimension))
        for d, w in enumerate(self._coupling.weights(u)):
            value, slope = risks[d](w)
            slope = np.asarray(slope, dtype=np.float64)
            if slope.shape != w.shape:
                raise ValueError(f"risk {d} returned a slope of shape {slope.shape}: expected {w.shape}")
            if not (np.isfinite(value) and np.isfinite(slope).all()):
                raise ValueError(f"risk {d} returned {value} and a subgradient: expected finite numbers")
            with np.errstate(over="ignore"):  # the caller checks the products
                values[d] = self._sizes[d] * value
                slopes[d] = self._sizes[d] * self._coupling.lift(d, slope[None])[0]
        return values, slopes

    def lifted(self, planes: Sequence[Planes | None]) -> Planes:
        """Return planes below each of the risks as planes of the parts."""
        planes = [Planes(self._coupling.dimension) if known is None else known for known in planes]
        if (sizes := {known.dimension for known in planes}) != {self._coupling.dimension}:
            raise ValueError(f"planes of dimension {max(sizes)}: expected {self._coupling.dimension}")
        slopes = [n * self._coupling.lift(d, planes[d].A) for d, n in enumerate(self._sizes)]
        offsets = [n * known.b for n, known in zip(self._sizes, planes, strict=True)]
        part = np.repeat(np.arange(self.n_parts), [len(known) for known in planes])
        return Planes.of(np.vstack(slopes), np.concatenate(offsets), part, self.n_parts)

    def lowered(self, planes: Planes) -> list[Planes]:
        """Undo `lifted`."""
        own = [planes.part == d for d in range(self.n_parts)]
        return [
            Planes.of(self._coupling.lower(d, planes.A[own[d]]) / n, planes.b[own[d]] / n)
            for d, n in enumerate(self._sizes)
        ]


@dataclass(frozen=True)
class TransferResult:
    """Result of `minimize_transfer` and `transfer_cccp`."""

    weights: Matrix  #: weights of each data set, one per row
    shared: Vector  #: the shared weights
    value: float  #: the objective, equation 1.9
    converged: bool
    n_iter: int  #: calls of the risk of each data set
    planes: list[Planes]  #: below the risk of each data set, or below its convex part; for a warm start
    result: Result | CCCPResult  #: in the variable of `Coupling`, with bounds

    @property
    def w(self) -> Vector:
        """The weights of the last data set, usually the target."""
        return self.weights[-1]


def minimize_transfer(
    risks: Sequence[Risk],
    *,
    alpha: float,
    rho: float,
    sizes: ArrayLike | None = None,
    tol: float = 1e-2,
    max_iter: int = 1000,
    w0: ArrayLike | None = None,
    planes: Sequence[Planes | None] | None = None,
    max_time: float | None = None,
) -> TransferResult:
    """Minimize ``alpha/2 |w|^2 + rho/2 sum_d |w^d - w|^2 + sum_d sizes[d] risks[d](w^d)`` (eq. 1.9).

    Parameters
    ----------
    risks : sequence of callable
        Convex, non-negative functions ``w -> (value, subgradient)``, one per data set.
    alpha, rho : float
        Regularization strength of the shared weights and of the differences. Infinite ``rho`` gives the
        union, infinite ``alpha`` separate training on each data set.
    sizes : array-like, optional
        Numbers of samples if the risks are means, by default 1 each.
    tol : float, default=1e-2
        Relative gap between the objective and its lower bound.
    max_iter : int, default=1000
        Maximum number of calls of the risks.
    w0 : array-like, optional
        First weights of each data set, one per row; by default 0, or the minimizer for the given ``planes``.
    planes : sequence of Planes or None, optional
        Planes below each of the risks, from a run with any ``alpha``, ``rho`` and ``sizes``.
    max_time : float, optional
        Limit in seconds, checked before each call of the risks except the first.
    """
    coupling = _couple(risks, alpha, rho, w0)
    stacked = TransferRisk(risks, coupling, _check_sizes(sizes, len(risks)))
    result = minimize(
        stacked,
        L2(1.0),
        tol=tol,
        max_iter=max_iter,
        w0=None if w0 is None else coupling.stack(w0),
        planes=None if planes is None else stacked.lifted(planes),
        max_time=max_time,
    )
    return _transfer_result(coupling, stacked, result, result.n_iter)


def transfer_cccp(
    risks: Sequence[DifferenceRisk],
    *,
    alpha: float,
    rho: float,
    sizes: ArrayLike | None = None,
    tol: float = 1e-2,
    max_inner_iter: int = 1000,
    w0: ArrayLike | None = None,
    planes: Sequence[Planes | None] | None = None,
    first_tol: float = 0.5,
) -> TransferResult:
    """Descend on the objective of `minimize_transfer` for risks that are differences of convex functions.

    This combines transfer with partial annotations: the concave part of each risk is replaced by its tangent,
    as in Algorithm 1.1. Parameters are those of `minimize_transfer`, where ``tol`` is also the relative
    progress at which the descent ends, ``max_inner_iter`` limits the calls per outer iteration, and
    ``planes`` are below the convex parts. ``first_tol`` is the initial precision, which is halved until it is
    ``tol``; use a smaller one near the optimum.
    """
    coupling = _couple(risks, alpha, rho, w0)
    sizes = _check_sizes(sizes, len(risks))
    convex = TransferRisk([risk.convex_part for risk in risks], coupling, sizes)
    convex.grows = any(getattr(risk, "grows", False) for risk in risks)
    result = cccp(
        convex,
        TransferRisk([risk.reward for risk in risks], coupling, sizes),
        L2(1.0),
        w0=np.zeros(coupling.stacked_dimension) if w0 is None else coupling.stack(w0),
        eps=max(first_tol, tol),
        eps_min=tol,
        eta=tol,
        max_inner_iter=max_inner_iter,
        planes=None if planes is None else convex.lifted(planes),
    )
    return _transfer_result(coupling, convex, result, result.bounds)


def _couple(risks: Sequence, alpha: float, rho: float, w0: ArrayLike | None) -> Coupling:
    if not len(risks):
        raise ValueError("no risks: expected at least one")
    given = {f"risks[{d}].dimension": getattr(risk, "dimension", None) for d, risk in enumerate(risks)}
    given["w0"] = None if w0 is None else np.shape(w0)[-1]
    return Coupling(len(risks), agreed_dimension(given), alpha, rho)


def _check_sizes(sizes: ArrayLike | None, n: int) -> Vector:
    sizes = np.ones(n) if sizes is None else np.asarray(sizes, dtype=np.float64)
    if sizes.shape != (n,) or not (np.isfinite(sizes).all() and sizes.min() > 0):
        raise ValueError(f"sizes are {sizes}: expected {n} positive numbers, one for each risk")
    return sizes


def _transfer_result(
    coupling: Coupling, stacked: TransferRisk, result: Result | CCCPResult, n_iter: int
) -> TransferResult:
    return TransferResult(
        weights=coupling.weights(result.w),
        shared=coupling.shared(result.w),
        value=result.value,
        converged=result.converged,
        n_iter=n_iter,
        planes=stacked.lowered(result.planes),
        result=result,
    )
