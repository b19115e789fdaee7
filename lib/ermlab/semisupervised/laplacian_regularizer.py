"""The Laplacian regularizer of linear functions for any risk, such as structured ones (thesis, eq. 2.5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.validation import as_number, finite_matrix, positive_number, real_array, whole_number
from ermlab.optimize import L2, Planes, Result, Risk, minimize, minimize_blocks
from ermlab.semisupervised._coordinates import Deformation, roughness
from ermlab.semisupervised.graphs import checked_symmetric

Vector = NDArray[np.float64]
SOLVERS = {"bundle": minimize, "blocks": minimize_blocks}


class LaplacianRegularizer:
    """Quadratic form ``alpha/2 |w|^2 + laplacian_alpha / (2 m) sum_k f_k' L f_k`` with ``f_k = X w_k``.

    ``w`` begins with ``n_outputs`` blocks ``w_k`` of as many weights as X has features, such as those of the
    classes of a `ermlab.structured.MultiClassTask` or the states of a conditional random field; the norm is
    the only penalty of further weights. In each block this is ``1/2 w_k' P w_k`` with
    ``P = alpha I + laplacian_alpha / m X' L X``.

    Parameters
    ----------
    X : array-like of shape (m, n_features)
        Features of all samples, labeled or not.
    L : sparse matrix or array-like of shape (m, m)
        Laplacian of the samples, for example ``graph_laplacian(neighbor_graph(X))``.
    alpha : float, default=1.0
        Weight of the norm, positive; for a mean over samples it is that of `ermlab.optimize.L2`.
    laplacian_alpha : float, default=1.0
        Weight of the Laplacian, at least 0.
    n_outputs : int, default=1
        Number of blocks of ``w``.
    """

    def __init__(
        self,
        X: ArrayLike,
        L: Any,
        alpha: float = 1.0,
        laplacian_alpha: float = 1.0,
        n_outputs: int = 1,
    ):
        X = finite_matrix(X, "X", "(m, n_features)")
        if 0 in X.shape:
            raise ValueError(f"X has shape {X.shape}: expected at least one sample and one feature")
        self.alpha = positive_number("alpha", alpha)
        self.laplacian_alpha = as_number(laplacian_alpha)
        if not 0 <= self.laplacian_alpha < np.inf:
            raise ValueError(f"laplacian_alpha is {laplacian_alpha!r}: expected a number of at least 0")
        self.n_outputs, self.n_features = whole_number("n_outputs", n_outputs, 1), X.shape[1]
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):  # checked next
            M = roughness(X, checked_symmetric(L, "L", len(X))) / len(X)
        if not np.isfinite(M).all():
            raise ValueError(
                f"X has entries up to {np.abs(X).max():.3g}, whose squares overflow: scale the features"
            )
        self._deformation = Deformation(M, self.laplacian_alpha / self.alpha)

    def __call__(self, w: ArrayLike) -> float:
        """Return the value at ``w``."""
        u = self.coordinates(real_array(w, "w"))
        return 0.5 * self.alpha * float(np.sum(u * u))

    def minimize(
        self,
        risk: Risk,
        *,
        solver: str = "bundle",
        w0: ArrayLike | None = None,
        planes: Planes | None = None,
        linear: ArrayLike | None = None,
        **options: Any,
    ) -> Result:
        """Minimize ``self(w) + risk(w)`` for a convex risk, with a certificate.

        Parameters
        ----------
        risk : callable
            As for `ermlab.optimize.minimize`, for example a `ermlab.structured.StructuredRisk`.
        solver : {"bundle", "blocks"}, default="bundle"
            `ermlab.optimize.minimize`, or `ermlab.optimize.minimize_blocks` for means over samples.
        w0, planes, linear : optional
            As for `ermlab.optimize.minimize`; not for blocks.
        **options
            Further options of the solver except ``bounds``, ``start`` and ``propose``.

        Returns
        -------
        Result
            Best point, its value, and a lower bound of the minimum.
        """
        if solver not in SOLVERS:
            raise ValueError(f"solver is {solver!r}: expected one of {tuple(SOLVERS)}")
        for name in ("bounds", "start", "propose"):
            if options.get(name) is not None:
                raise ValueError(f"{name} is given: expected none, as the solver works in other coordinates")
        if w0 is not None:
            options["w0"] = self.coordinates(real_array(w0, "w0"))
        if linear is not None:
            options["linear"] = self.slopes(real_array(linear, "linear"))
        if planes is not None:
            options["planes"] = _map_planes(planes, self.slopes)
        with one_blas_thread():
            found = SOLVERS[solver](_RiskInCoordinates(risk, self), L2(self.alpha), **options)
        return self._weighted(found)

    def weights(self, u: Vector) -> Vector:
        """Return ``w`` at coordinates ``u``, in which the regularizer is ``alpha/2 |u|^2``."""
        return self._change(u, lambda rows: self._deformation.coordinates(rows.T).T)

    def coordinates(self, w: Vector) -> Vector:
        """Return ``u`` at weights ``w``."""
        return self._change(w, lambda rows: self._deformation.inverse(rows.T).T)

    def slopes(self, slopes_of_w: Vector) -> Vector:
        """Return slopes with respect to ``u``, one vector or one per row."""
        return self._change(slopes_of_w, self._deformation.features)

    def _slopes_of_w(self, slopes: Vector) -> Vector:
        """Return slopes with respect to ``w`` from those with respect to ``u``."""
        return self._change(slopes, self._deformation.inverse_features)

    def _change(self, vectors: Vector, change: Callable[[Vector], Vector]) -> Vector:
        """Apply a change of coordinates, a function of rows, to each block of one vector or one per row."""
        used = self.n_outputs * self.n_features
        if vectors.ndim not in (1, 2) or vectors.shape[-1] < used:
            raise ValueError(f"weights of shape {vectors.shape}: expected vectors of at least {used} numbers")
        changed = change(vectors[..., :used].reshape(-1, self.n_features))
        return np.concatenate([changed.reshape(*vectors.shape[:-1], used), vectors[..., used:]], axis=-1)

    def _weighted(self, found: Result) -> Result:
        """Return a result in coordinates ``u`` as one in ``w``."""
        best = found.best
        evaluation = replace(
            best,
            w=self.weights(best.w),
            subgradient=self._slopes_of_w(best.subgradient),
            parts=tuple((value, self._slopes_of_w(slope)) for value, slope in best.parts),
        )
        planes = _map_planes(found.planes, self._slopes_of_w)
        return replace(found, w=evaluation.w, best=evaluation, planes=planes)


def _map_planes(planes: Planes, change: Callable[[Vector], Vector]) -> Planes:
    return Planes.of(change(planes.A), planes.b, planes.part, planes.n_parts)


class _RiskInCoordinates:
    """A risk as a function of the coordinates ``u`` of a regularizer."""

    def __init__(self, risk: Risk, regularizer: LaplacianRegularizer):
        self._risk, self._regularizer = risk, regularizer
        self.__name__ = getattr(risk, "__name__", None) or type(risk).__name__
        for attribute in ("dimension", "n_parts", "grows"):
            if hasattr(risk, attribute):
                setattr(self, attribute, getattr(risk, attribute))
        if hasattr(risk, "rounding"):
            self.rounding = lambda u: risk.rounding(regularizer.weights(u))
        if hasattr(risk, "known"):
            self.known = lambda u: self._in_coordinates(risk.known(regularizer.weights(u)))

    def __len__(self) -> int:
        return len(self._risk)

    def __call__(self, u: Vector) -> tuple[float, Vector]:
        return self._in_coordinates(self._risk(self._regularizer.weights(u)))

    def plane(self, i: int, u: Vector) -> tuple[Vector, float]:
        a, b = self._risk.plane(i, self._regularizer.weights(u))
        return self._regularizer.slopes(a), b

    def _in_coordinates(self, found: tuple[float, Vector]) -> tuple[float, Vector]:
        value, slope = found
        return value, self._regularizer.slopes(real_array(slope, "the subgradient"))
