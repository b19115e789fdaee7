"""Least squares with a Laplacian regularizer (thesis, eq. 2.5)."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils.validation import validate_data

from ermlab._utils.validation import positive_number, real_array, require_ordinary
from ermlab.semisupervised._coordinates import Matrix, solve_ridge
from ermlab.semisupervised._model import Kernel, Laplacian, LaplacianModel


class LaplacianRidge(RegressorMixin, LaplacianModel):
    """Ridge regression with functions that are smooth along the samples, labeled or not.

    With n labeled samples of m in total, it minimizes (thesis, eq. 2.5)::

        sum_i (f(x_i) - y_i)^2 + alpha |h|^2 + laplacian_alpha n / m h' L h,    f = h + b

    where the sum runs over the labeled samples and ``h' L h`` over all of them. The intercept ``b`` is not
    penalized: with it, ``h`` has mean 0 over the labeled samples. Without the Laplacian this is ``Ridge`` or
    ``KernelRidge`` of scikit-learn with the same ``alpha``; with ``laplacian_alpha = 1`` the mean of the
    Laplacian term over all samples has the same weight as the mean loss over the labeled ones.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the norm, positive.
    laplacian_alpha : float, default=1.0
        Weight of the Laplacian, at least 0.
    kernel : str or callable, default="rbf"
        ``"linear"``, ``"rbf"``, another name of scikit-learn's ``pairwise_kernels``, ``"precomputed"``, or a
        function from two matrices to the kernel matrix of their rows. With ``"precomputed"``, X is the kernel
        with all training samples, labeled or not.
    gamma : float or "scale", default="scale"
        Parameter of the kernel; ``"scale"`` is ``1 / (n_features * X.var())`` over all training samples.
    n_neighbors : int, default=10
        Number of neighbors of each sample in the graph, see `neighbor_graph`.
    weights : {"heat", "binary"}, default="heat"
        Weights of the graph.
    bandwidth : float, optional
        Bandwidth of the heat weights, by default the median length of the edges.
    laplacian : {"normalized", "unnormalized"} or callable, default="normalized"
        Laplacian of the graph, or a function from all training samples to a symmetric, positive semi-definite
        matrix, dense or sparse, in place of the graph.
    fit_intercept : bool, default=True
        Whether to fit an intercept.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Predictions for all training samples.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights of the features, for a linear kernel.
    intercept_ : float or ndarray of shape (n_targets,)
        Constant of the functions, for a linear kernel.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Coefficients of the kernel functions of all training samples, for other kernels.
    objective_ : float
        Value of the objective, summed over targets.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Unlabeled samples are the rows of X for which y is NaN, in analogy to the -1 of scikit-learn's
    semi-supervised classifiers. They pass through pipelines and cross-validation like all others; `score`
    ignores those among the test samples.

    The solution in closed form takes O(m^3) operations for a kernel, and O(m d^2) for a linear one.
    """

    def __init__(
        self,
        alpha: float = 1.0,
        laplacian_alpha: float = 1.0,
        kernel: Kernel = "rbf",
        gamma: float | str = "scale",
        n_neighbors: int = 10,
        weights: str = "heat",
        bandwidth: float | None = None,
        laplacian: Laplacian = "normalized",
        fit_intercept: bool = True,
    ):
        self.alpha = alpha
        self.laplacian_alpha = laplacian_alpha
        self.kernel = kernel
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.bandwidth = bandwidth
        self.laplacian = laplacian
        self.fit_intercept = fit_intercept

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Labeled and unlabeled samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets, NaN for unlabeled samples.
        """
        alpha, laplacian_alpha = positive_number("alpha", self.alpha), self._laplacian_alpha()
        X, y = validate_data(
            self,
            X,
            y,
            validate_separately=(
                {"dtype": np.float64},
                {"dtype": np.float64, "ensure_2d": False, "ensure_all_finite": "allow-nan"},
            ),
        )
        check_consistent_length(X, y)
        labeled = _labeled(y)
        targets = y[labeled].reshape(np.count_nonzero(labeled), -1)
        require_ordinary(targets, "y", "targets")
        means = targets.mean(axis=0) if self.fit_intercept else np.zeros(targets.shape[1])
        scaled = laplacian_alpha * len(targets) / alpha
        penalty = 0.0

        def solve(A: Matrix) -> tuple[Matrix, Matrix]:
            nonlocal penalty
            U = solve_ridge(A, targets - means, alpha)
            penalty = alpha * float(np.sum(U * U))
            return U, means

        values = self._functions(X, labeled, scaled, solve, centered=self.fit_intercept)
        self.objective_ = penalty + float(np.sum((values[labeled] - targets) ** 2))
        self._vector = y.ndim == 1
        self.transduction_ = self._shaped(values)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the targets of each row of ``X``."""
        return self._shaped(self._values(X))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination over the labeled samples among the rows of ``X``."""
        y = real_array(y, "y")
        labeled, predicted = _labeled(y), self.predict(X)
        check_consistent_length(predicted, y)
        weight = None if sample_weight is None else np.asarray(sample_weight)[labeled]
        return r2_score(y[labeled], predicted[labeled], sample_weight=weight)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _labeled(y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which samples have targets, or raise a ValueError."""
    if y.ndim > 2:
        raise ValueError(f"y has shape {y.shape}: expected (n_samples,) or (n_samples, n_targets)")
    missing = np.isnan(y).reshape(len(y), -1)
    partly = missing.any(axis=1) & ~missing.all(axis=1)
    if partly.any():
        raise ValueError(f"row {int(np.argmax(partly))} of y has NaN and numbers: expected one or the other")
    if missing.all():
        raise ValueError("all samples are unlabeled, y is NaN: expected at least one labeled sample")
    return ~missing.any(axis=1)
