"""Joint kernel support estimation: prediction from the support of ``p(x, y)`` (thesis, section 3.1).

A one-class SVM on pairs of input and output learns their support; the prediction for an input is the output
that makes the pair most typical. Training does not search over outputs. `JKSE` takes any joint kernel;
`LinearJKSE` takes explicit features and trains the two-class SVM with the same solution.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cholesky
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import OneClassSVM
from sklearn.utils.validation import check_is_fitted

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.progress import progress, report
from ermlab._utils.saving import SavedModel
from ermlab._utils.sparse_matrices import sound_csr
from ermlab._utils.validation import deadline_of, positive_number, real_array, require_finite
from ermlab.structured._jkse_numba import ascend, primal_and_dual
from ermlab.structured.task import Task, by_position, mean_loss, note_features, paired_samples

Vector = NDArray[np.float64]
Pairs = list[tuple[Any, Any]]
#: Rounding allowed in a kernel matrix, relative to its largest entry.
_ROUNDING = 1e-10
#: Maximum number of steps of libsvm; a tolerance below rounding would never be reached.
_MAX_STEPS = 10_000_000


class JKSE(SavedModel, BaseEstimator):
    """Joint kernel support estimation with any positive semidefinite joint kernel.

    Parameters
    ----------
    kernel : callable
        ``kernel(pairs, others)`` returns the matrix of ``k((x, y), (x', y'))`` for two lists of pairs.
    nu : float, default=0.5
        In (0, 1]: upper bound of the fraction of training pairs outside of the support, and lower bound of
        the fraction of pairs with positive weight. With 1 all pairs have the same weight.
    outputs : sequence or callable, optional
        Candidates for `predict`: a sequence of outputs, or a function that returns one for an input.
    search : callable, optional
        Instead of ``outputs``: ``search(x, pairs, weights)`` returns the output y with the largest
        ``sum_i weights[i] k((x, y), pairs[i])``.
    tol : float, default=1e-6
        Tolerance of the conditions of optimality, relative to the largest ``k((x, y), (x, y))``.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_samples,)
        Weight of each training pair; they sum to 1.
    support_, pairs_ : ndarray and list
        Indices of the pairs with positive weight, and these pairs.
    rho_ : float
        The value of ``<w, phi(x, y)>`` at the boundary of the support.
    n_features_in_ : int
        Number of columns, if ``X`` is a table; not set for inputs of other kinds.
    feature_names_in_ : ndarray of str
        Names of the columns, if ``X`` is a data frame.
    """

    def __init__(
        self,
        kernel: Callable[[Pairs, Pairs], ArrayLike],
        nu: float = 0.5,
        outputs: Sequence | Callable[[Any], Sequence] | None = None,
        search: Callable[[Any, Pairs, Vector], Any] | None = None,
        tol: float = 1e-6,
    ):
        self.kernel = kernel
        self.nu = nu
        self.outputs = outputs
        self.search = search
        self.tol = tol

    def fit(self, X: Sequence, y: Sequence) -> Self:
        """Fit the model to inputs ``X`` and outputs ``y``."""
        pairs = _pairs(X, y)
        note_features(self, X)
        self.alpha_, self.rho_ = one_class_weights(self.kernel(pairs, pairs), self.nu, self.tol)
        self.support_ = np.flatnonzero(self.alpha_)
        self.pairs_ = [pairs[i] for i in self.support_]
        return self

    def decision_function(self, X: Sequence, y: Sequence) -> Vector:
        """Return ``<w, phi(x, y)> - rho`` for each pair: non-negative inside of the estimated support."""
        return self._compatibility(_pairs(X, y)) - self.rho_

    def predict(self, X: Sequence) -> list:
        """Return the output of the highest compatibility for each input (thesis, eq. 3.4)."""
        check_is_fitted(self)
        if (self.outputs is None) == (self.search is None):
            raise ValueError("outputs and search are both None, or both given: expected one of them")
        return [self._best_output(x) for x in by_position(X)]

    def score(self, X: Sequence, y: Sequence) -> float:
        """Return the share of inputs whose output is predicted exactly."""
        pairs = zip(self.predict(X), by_position(y), strict=True)
        return float(np.mean([np.array_equal(output, truth) for output, truth in pairs]))

    def _best_output(self, x: Any) -> Any:
        if self.search is not None:
            return self.search(x, self.pairs_, self.alpha_[self.support_])
        outputs = self.outputs(x) if callable(self.outputs) else self.outputs
        if len(outputs) == 0:
            raise ValueError("outputs is empty: expected at least one output")
        return outputs[int(np.argmax(self._compatibility([(x, y) for y in outputs])))]

    def _compatibility(self, pairs: Pairs) -> Vector:
        check_is_fitted(self)
        K = np.asarray(self.kernel(pairs, self.pairs_), dtype=np.float64)
        if K.shape != (len(pairs), len(self.pairs_)) or not np.isfinite(K).all():
            raise ValueError(
                f"the kernel of {len(pairs)} and {len(self.pairs_)} pairs has shape {K.shape}: "
                "expected one row and column per pair, of finite numbers"
            )
        with one_blas_thread():
            return K @ self.alpha_[self.support_]


def one_class_weights(K: ArrayLike, nu: float, tol: float = 1e-6) -> tuple[Vector, float]:
    """Minimize ``alpha' K alpha`` for ``0 <= alpha <= 1 / (nu n)`` and sum 1 (thesis, eq. 3.7 and 3.8).

    Return ``alpha`` and the smallest optimal ``rho`` of the primal problem (eq. 3.5). A matrix that is not
    symmetric and positive semidefinite raises a ValueError, since the problem would not be convex.
    """
    if not 0 < nu <= 1:
        raise ValueError(f"nu is {nu}: expected more than 0 and at most 1")
    if not tol > 0:
        raise ValueError(f"tol is {tol}: expected a positive number")
    K = _kernel_matrix(K)
    n, scale = len(K), K.diagonal().max()
    if nu * n > n - 1e-9 * n or scale == 0:
        # One feasible point, or only equal ones.
        alpha = np.full(n, 1.0 / n)
    else:
        # libsvm has alpha between 0 and 1 with sum nu n, and steps that assume entries around 1.
        model = OneClassSVM(kernel="precomputed", nu=nu, tol=tol * nu * n, max_iter=_MAX_STEPS).fit(K / scale)
        alpha = np.zeros(n)
        alpha[model.support_] = model.dual_coef_[0]
        alpha /= alpha.sum()
    with one_blas_thread():
        scores = np.sort(K @ alpha)
    outside = max(int(np.ceil(nu * n - 1e-9 * n)), 1)
    return alpha, float(scores[outside - 1])


class LinearJKSE(SavedModel, BaseEstimator):
    """Joint kernel support estimation with explicit features, for many samples (thesis, 3.1.4 and 3.1.5).

    A two-class SVM through the origin with positive samples only is solved by stochastic dual coordinate
    ascent: ``1/2 |v|^2 + C sum_i max(0, 1 - <v, phi_i>)``. Its weights are those of the SVM with a mirrored
    copy of the samples as negatives and ``C / 2``, and proportional to those of the one-class SVM with
    ``nu_``.

    Parameters
    ----------
    task : Task
        Only ``joint_feature(x, y)`` and ``predict(w, x)`` are used, and ``loss(y, z)`` by `score`.
    C : float, default=1.0
        Inverse regularization strength; a large one corresponds to a small nu.
    tol : float, default=1e-4
        Relative gap between the objective and its lower bound.
    max_iter : int, default=1000
        Maximum number of passes over the training set.
    random_state : int or None, default=0
        Seed of the order in which samples are visited.
    max_time : float, optional
        Limit in seconds on the optimization, checked after each pass.
    verbose : bool, default=False
        Whether to print the progress of the optimization.

    Attributes
    ----------
    coef_, alpha_, rho_ : ndarray, ndarray and float
        The solution of the one-class problem (thesis, eq. 3.5 to 3.8) with ``nu_``.
    nu_ : float
        The nu that corresponds to ``C``.
    gap_, n_iter_ : float and int
        Relative gap, and number of passes.
    n_features_in_ : int
        Number of columns, if ``X`` is a table; not set for inputs of other kinds.
    feature_names_in_ : ndarray of str
        Names of the columns, if ``X`` is a data frame.
    """

    def __init__(
        self,
        task: Task,
        C: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: int | None = 0,
        max_time: float | None = None,
        verbose: bool = False,
    ):
        self.task = task
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.max_time = max_time
        self.verbose = verbose

    def fit(self, X: Sequence, y: Sequence) -> Self:
        """Fit the model to inputs ``X`` and outputs ``y``."""
        note_features(self, X)
        features = np.array([self.task.joint_feature(*pair) for pair in _pairs(X, y)], dtype=np.float64)
        with progress(self):
            solution = mirrored_svm(
                features, self.C, self.tol, self.max_iter, self.random_state, self.max_time
            )
        if solution.gap > self.tol:
            warnings.warn(
                f"stopped after {solution.passes} passes with a relative gap of {solution.gap:.2g}: "
                "raise max_iter, max_time or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        total = solution.alpha.sum()
        if total < np.finfo(np.float64).tiny:
            raise ValueError(f"C is {self.C}: expected a sum of the weights, {total}, that can be inverted")
        self.coef_, self.alpha_, self.rho_ = solution.v / total, solution.alpha / total, 1.0 / total
        self.nu_ = total / (float(self.C) * len(X))
        self.gap_, self.n_iter_ = solution.gap, solution.passes
        return self

    def decision_function(self, X: Sequence, y: Sequence) -> Vector:
        """Return ``<w, phi(x, y)> - rho`` for each pair: non-negative inside of the estimated support."""
        check_is_fitted(self)
        scores = [float(self.task.joint_feature(*pair) @ self.coef_) for pair in _pairs(X, y)]
        return np.array(scores) - self.rho_

    def predict(self, X: Sequence) -> list:
        """Return the output of the highest compatibility for each input (thesis, eq. 3.3)."""
        check_is_fitted(self)
        return [self.task.predict(self.coef_, x) for x in by_position(X)]

    def score(self, X: Sequence, y: Sequence) -> float:
        """Return 1 minus the mean loss of the task, which is the accuracy for the 0-1 loss."""
        return 1.0 - mean_loss(self.task, y, self.predict(X))


@dataclass(frozen=True)
class MirroredSVM:
    """Weights ``v = sum_i alpha_i phi_i`` with ``alpha`` in [0, C], relative gap, and number of passes."""

    v: Vector
    alpha: Vector
    gap: float
    passes: int


def mirrored_svm(
    features: ArrayLike | csr_array,
    C: float,
    tol: float = 1e-4,
    max_iter: int = 1000,
    random_state: int | None = 0,
    max_time: float | None = None,
) -> MirroredSVM:
    """Minimize ``1/2 |v|^2 + C sum_i max(0, 1 - <v, phi_i>)`` for rows ``phi_i``, dense or sparse."""
    deadline = deadline_of(max_time)
    C, tol = positive_number("C", C), positive_number("tol", tol, infinite=True)
    if not max_iter >= 1:
        raise ValueError(f"max_iter is {max_iter}: expected at least 1")
    if issparse(features):  # checked first: scipy trusts the indices when it converts a matrix
        features = sound_csr(features, "features").astype(np.float64)
    else:
        features = csr_array(real_array(features, "features"))
    if features.ndim != 2 or features.shape[0] == 0:
        raise ValueError(f"features of shape {features.shape}: expected (n, d) with n of at least 1")
    require_finite(features.data, "features hold NaN or infinity: expected finite numbers")
    rows = features.indptr.astype(np.int64), features.indices.astype(np.int64), features.data
    squares = _squared_norms(features)
    alpha, v = np.zeros(features.shape[0]), np.zeros(features.shape[1])
    rng = np.random.default_rng(random_state)
    gap, passes = np.inf, 0
    while gap > tol and passes < max_iter and (passes == 0 or time.perf_counter() < deadline):
        ascend(*rows, squares, rng.permutation(alpha.size), C, alpha, v)
        primal, dual = primal_and_dual(*rows, C, alpha, v)
        if not np.isfinite([primal, dual]).all():
            raise ValueError(f"the objective is {primal} for C = {C}: expected smaller C or features")
        gap = (primal - dual) / primal if primal > 0 else 0.0
        passes += 1
        report("pass", passes, objective=primal, relative_gap=gap)
    return MirroredSVM(v, alpha, float(gap), passes)


def _squared_norms(features: csr_array) -> Vector:
    """Return the squared norm of each row, or raise a ValueError if one overflows."""
    with np.errstate(over="ignore"):  # checked next
        squares = np.asarray(features.multiply(features).sum(axis=1)).ravel()
    if not np.isfinite(squares).all():
        i = int(np.argmax(squares))
        raise ValueError(f"the squared norm of row {i} of features is {squares[i]}: expected a finite one")
    return squares


def _pairs(X: Sequence, y: Sequence) -> Pairs:
    return list(zip(*paired_samples(X, y), strict=True))


def _kernel_matrix(K: ArrayLike) -> Vector:
    """Return a matrix that is symmetric and positive semidefinite up to rounding, or raise a ValueError."""
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or len(K) == 0:
        raise ValueError(f"the kernel matrix has shape {K.shape}: expected (n, n) with n of at least 1")
    if not np.isfinite(K).all():
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise ValueError(f"the kernel of pairs {i} and {j} is {K[i, j]}: expected a finite number")
    largest = np.finfo(np.float64).max / (4 * len(K))
    if np.abs(K).max() > largest:
        raise ValueError(f"kernel entries are up to {np.abs(K).max():.3g}: expected at most {largest:.3g}")
    allowed = _ROUNDING * np.abs(K).max()
    difference = np.abs(K - K.T)
    if difference.max() > allowed:
        i, j = np.unravel_index(np.argmax(difference), K.shape)
        raise ValueError(f"the kernel is not symmetric: {K[i, j]} at ({i}, {j}), {K[j, i]} at ({j}, {i})")
    K = (K + K.T) / 2
    try:
        if K.any():
            cholesky(K + len(K) * allowed * np.eye(len(K)))
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(K)[0]
        raise ValueError(
            f"the kernel matrix has an eigenvalue of {smallest:.3g}: expected a positive semidefinite kernel"
        ) from None
    return K
