"""Linear regression and classification with the k-support norm (thesis, section 4.2).

The objective is the regularized risk (thesis, eq. 2.6) with the mean loss,

    ``alpha/2 norm(w, k)^2 + 1/n sum_i loss(<w, x_i> + b, y_i)``,

where the intercept ``b`` is not penalized. The thesis writes ``lambda norm(w, k)`` without the square (table
4.4), which has the same solutions at ``lambda = alpha norm(w, k)``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.progress import progress
from ermlab._utils.saving import SavedModel
from ermlab._utils.validation import deadline_of, largest_magnitude, require_ordinary, whole_number
from ermlab.sparse._ksupport_losses import LogisticLoss, Loss, SmoothedHinge, SquaredLoss
from ermlab.sparse._ksupport_solver import Solution, Solver
from ermlab.sparse.ksupport_norm import checked_k

LOSSES = ("squared", "hinge", "logistic")
# Initial smoothing width of the hinge, in units of the margin.
FIRST_WIDTH = 10.0
# Features whose mean is this many times their deviation are centered, as predictions would lose digits.
LARGEST_MEAN = 1e4
# Ratio of the deviations of two features above which warnings suggest to scale the features.
WIDE = 1e3


@dataclass(frozen=True)
class KSupportPath:
    """Models along a path, one row or entry for each of ``alphas``."""

    alphas: NDArray[np.float64]
    coefs: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    objectives: NDArray[np.float64]
    gaps: NDArray[np.float64]
    n_iter: NDArray[np.int64]


def ksupport_path(
    X: ArrayLike,
    y: ArrayLike,
    k: int,
    alphas: ArrayLike,
    *,
    loss: str = "squared",
    fit_intercept: bool = True,
    tol: float = 1e-4,
    max_iter: int = 10_000,
) -> KSupportPath:
    """Fit models for each of ``alphas`` with warm starts, from the largest to the smallest.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Training samples.
    y : array-like of shape (n_samples,)
        Targets, -1 or 1 for the hinge and the logistic loss.
    k : int
        Order of the norm.
    alphas : array-like of shape (n_alphas,)
        Regularization strengths, positive, in any order.
    loss : {"squared", "hinge", "logistic"}, default="squared"
        Loss, see `KSupportClassifier`.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalized.
    tol : float, default=1e-4
        Relative gap between the objective and its lower bound.
    max_iter : int, default=10000
        Maximum number of steps for each model.

    Returns
    -------
    KSupportPath
        ``coefs``, ``intercepts``, ``objectives``, ``gaps`` and ``n_iter`` in the order of ``alphas``.
    """
    X, y = check_X_y(X, y, dtype=np.float64, y_numeric=True)
    alphas = np.asarray(alphas, dtype=np.float64)
    if alphas.ndim != 1 or alphas.size == 0:
        raise ValueError(f"alphas has shape {alphas.shape}: expected a vector of at least one number")
    if loss != "squared" and not (np.isin(y, (-1, 1)).all() and np.unique(y).size == 2):
        raise ValueError(f"y has the values {np.unique(y)[:5]}: expected -1 and 1 for the {loss} loss")
    order = np.argsort(-alphas, kind="stable")
    found = _solve(X, _loss(loss, y, fit_intercept), k, alphas[order], tol, max_iter)
    found = [found[i] for i in np.argsort(order)]
    return KSupportPath(
        alphas=alphas,
        coefs=np.array([solution.w for solution in found]),
        intercepts=np.array([solution.intercept for solution in found]),
        objectives=np.array([solution.value for solution in found]),
        gaps=np.array([solution.relative_gap for solution in found]),
        n_iter=np.array([solution.n_iter for solution in found]),
    )


def _loss(name: str, y: NDArray, fit_intercept: bool) -> Loss:
    y = np.asarray(y, dtype=np.float64)
    if name == "squared":
        return SquaredLoss(y, fit_intercept)
    if name == "logistic":
        return LogisticLoss(y, fit_intercept)
    if name == "hinge":
        return SmoothedHinge(y, fit_intercept, width=FIRST_WIDTH, center=np.zeros_like(y))
    raise ValueError(f"loss is {name!r}: expected one of {LOSSES}")


def _solve(
    X: NDArray[np.float64],
    loss: Loss,
    k: int,
    alphas: Sequence[float],
    tol: float,
    max_iter: int,
    max_time: float | None = None,
) -> list[Solution]:
    """Return the solution for each of ``alphas``, each started from the one before."""
    for name, value in (*(("alpha", alpha) for alpha in alphas), ("tol", tol)):
        if not (isinstance(value, Real) and 0 < value < math.inf):
            raise ValueError(f"{name} is {value}: expected a finite positive number")
    max_iter = whole_number("max_iter", max_iter, 1)
    deadline, limits = deadline_of(max_time), "max_iter" if max_time is None else "max_iter, max_time"
    require_ordinary(X, "X", "features")
    require_ordinary(loss.y, "y", "targets")
    X, mean = _centered(X) if loss.fit_intercept else (X, None)
    w, found = np.zeros(X.shape[1]), []
    with one_blas_thread():
        solver = Solver(X, checked_k(k, X.shape[1]), tol, max_iter, deadline)
        for alpha in alphas:
            solution = solver.minimize(loss, float(alpha), w)
            if not solution.converged:
                warnings.warn(
                    f"stopped after {solution.n_iter} steps at alpha = {alpha:.3g} with a relative gap of "
                    f"{solution.relative_gap:.2g}: raise {limits} or tol{_advice(X)}",
                    ConvergenceWarning,
                    stacklevel=3,
                )
            w = solution.w
            if mean is not None:
                solution = replace(solution, intercept=solution.intercept - float(mean @ w))
            found.append(solution)
    return found


def _centered(X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return the features, centered where the mean dominates, and the means subtracted or None."""
    mean = X.mean(axis=0)
    far = (np.abs(mean) > LARGEST_MEAN * X.std(axis=0)) & (np.ptp(X, axis=0) > 0)
    if not far.any():
        return X, None
    mean = np.where(far, mean, 0.0)
    return X - mean, mean


def _advice(X: NDArray[np.float64]) -> str:
    """Return the advice to scale features with very different deviations, or an empty string."""
    deviations = X.std(axis=0)
    deviations = deviations[deviations > 0]
    if deviations.size == 0 or deviations.max() <= WIDE * deviations.min():
        return ""
    return (
        f"; the deviations of the features go from {deviations.min():.2g} to {deviations.max():.2g}, which "
        "makes the problem ill-conditioned: scale the features (sklearn.preprocessing.StandardScaler)"
    )


class _KSupportModel(SavedModel, BaseEstimator):
    """Base of regression and classification: the fit of the weights, and linear scores."""

    def _fit_weights(self, X: NDArray[np.float64], loss: Loss) -> Self:
        with progress(self):
            (solution,) = _solve(X, loss, self.k, [self.alpha], self.tol, self.max_iter, self.max_time)
        self.coef_ = solution.w
        self.intercept_ = solution.intercept
        self.objective_ = solution.value
        self.gap_ = solution.relative_gap
        self.n_iter_ = solution.n_iter
        return self

    def _scores(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            scores = X @ self.coef_ + self.intercept_
        if not np.isfinite(scores).all():
            row = int(np.argmax(~np.isfinite(scores)))
            raise ValueError(
                f"the score of row {row} of X, with entries up to {largest_magnitude(X[row]):.3g}, is not "
                "finite: expected entries in the units of the training samples"
            )
        return scores


class KSupportRegressor(RegressorMixin, _KSupportModel):
    """Least squares with the k-support norm: ``alpha/2 norm(w, k)^2 + 1/(2n) sum_i (<w, x_i> + b - y_i)^2``.

    With ``k`` the number of features it is ``Ridge(alpha=n * alpha)``; with ``k = 1`` it is
    ``Lasso(alpha=alpha * |w|_1)``.

    Parameters
    ----------
    k : int, default=1
        Approximate number of non-zero weights, from 1 (l1 norm) to the number of features (Euclidean norm).
    alpha : float, default=1.0
        Regularization strength: factor of the squared norm.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalized.
    tol : float, default=1e-4
        Relative gap between the objective and its lower bound.
    max_iter : int, default=10000
        Maximum number of steps of the solver.
    max_time : float, optional
        Limit in seconds on the optimization, checked after each step.
    verbose : bool, default=False
        Whether to print the progress of the optimization.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights ``w``.
    intercept_ : float
        Intercept ``b``.
    objective_ : float
        Value of the objective.
    gap_ : float
        Upper bound of the distance of the objective from its minimum, relative to its value.
    n_iter_ : int
        Number of steps of the solver.
    n_features_in_ : int
        Number of features seen in `fit`.
    """

    def __init__(
        self,
        k: int = 1,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        max_time: float | None = None,
        verbose: bool = False,
    ):
        self.k = k
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model to ``X`` of shape (n_samples, n_features) and targets ``y`` of shape (n_samples,)."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        return self._fit_weights(X, _loss("squared", y, self.fit_intercept))

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict ``<w, x> + b`` for each row of ``X``."""
        return self._scores(X)


class KSupportClassifier(ClassifierMixin, _KSupportModel):
    """Linear classifier with the k-support norm: ``alpha/2 norm(w, k)^2 + 1/n sum_i loss(y_i f(x_i))``.

    The hinge loss, which is not smooth, is minimized by the method of multipliers.

    Parameters
    ----------
    k : int, default=1
        Approximate number of non-zero weights, from 1 (l1 norm) to the number of features (Euclidean norm).
    alpha : float, default=1.0
        Regularization strength: factor of the squared norm.
    loss : {"squared", "hinge", "logistic"}, default="logistic"
        Loss of the margin m: ``1/2 (1 - m)^2``, ``max(0, 1 - m)`` or ``log(1 + exp(-m))``.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalized.
    tol : float, default=1e-4
        Relative gap between the objective and its lower bound.
    max_iter : int, default=10000
        Maximum number of steps of the solver.
    max_time : float, optional
        Limit in seconds on the optimization, checked after each step.
    verbose : bool, default=False
        Whether to print the progress of the optimization.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels; positive scores stand for the second.
    coef_ : ndarray of shape (n_features,)
        Weights ``w``.
    intercept_ : float
        Intercept ``b``.
    objective_, gap_, n_iter_, n_features_in_
        As in `KSupportRegressor`.
    """

    def __init__(
        self,
        k: int = 1,
        alpha: float = 1.0,
        loss: str = "logistic",
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        max_time: float | None = None,
        verbose: bool = False,
    ):
        self.k = k
        self.alpha = alpha
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model to ``X`` of shape (n_samples, n_features) and labels ``y`` of shape (n_samples,)."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, index = np.unique(y, return_inverse=True)
        if self.classes_.size != 2:
            count = self.classes_.size
            # scikit-learn looks for the words of the first case.
            found = "Only binary classification is supported. y has" if count > 2 else "y has"
            raise ValueError(f"{found} {count} class{'es' * (count > 1)}: expected two")
        return self._fit_weights(X, _loss(self.loss, 2.0 * index - 1.0, self.fit_intercept))

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the scores ``<w, x> + b`` of each row of ``X``."""
        return self._scores(X)

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict the label of each row of ``X``."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
