"""Support vector classification with a Laplacian regularizer (thesis, eq. 2.5)."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ermlab._utils.progress import progress
from ermlab._utils.validation import deadline_of, positive_number, whole_number
from ermlab.semisupervised._coordinates import Matrix
from ermlab.semisupervised._hinge import HingeSolution, solve_hinge
from ermlab.semisupervised._model import Kernel, Laplacian, LaplacianModel


class LaplacianSVC(ClassifierMixin, LaplacianModel):
    """Support vector classifier with functions that are smooth along the samples, labeled or not.

    With n labeled samples of m in total and labels ``y_i`` of -1 and 1, it minimizes (thesis, eq. 2.5)::

        1/2 |h|^2 + C (sum_i max(0, 1 - y_i f(x_i)) + laplacian_alpha n / m h' L h),    f = h + b

    where the sum runs over the labeled samples and ``h' L h`` over all of them. ``h`` has mean 0 over the
    labeled samples, and the intercept ``b`` is not penalized. Without the Laplacian this is ``SVC`` of
    scikit-learn with the same ``C``; ``laplacian_alpha`` means the same as in `LaplacianRidge`. For more than
    two classes there is one function for each, which separates it from all others, and the largest decides.

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularization strength, positive.
    laplacian_alpha, kernel, gamma, n_neighbors, weights, bandwidth, laplacian
        As in `LaplacianRidge`.
    unlabeled : object, default=-1
        The label in y that marks unlabeled samples, as in ``sklearn.semi_supervised``. None if all samples
        are labeled, which is needed if -1 is one of two classes.
    tol : float, default=1e-3
        Relative gap between the objective and its lower bound.
    max_iter : int, default=100000
        Maximum number of steps of the solver for each function.
    max_time : float, optional
        Limit in seconds on the optimization, checked before each call of libsvm.
    verbose : bool, default=False
        Whether to print the progress of the optimization.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels without ``unlabeled``.
    transduction_ : ndarray of shape (n_samples,)
        Predictions for all training samples.
    coef_ : ndarray of shape (n_functions, n_features)
        Weights of the features, for a linear kernel. There is one function for two classes.
    intercept_ : ndarray of shape (n_functions,)
        Constants, for a linear kernel.
    dual_coef_ : ndarray of shape (n_samples, n_functions)
        Coefficients of the kernel functions of all training samples, for other kernels.
    objective_, lower_bound_ : ndarray of shape (n_functions,)
        The objective of each function, and a lower bound of its minimum.
    gap_ : float
        Largest gap between both, relative to the objective: a certificate of optimality.
    n_iter_ : int
        Largest number of steps of the solver.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Unlabeled samples are rows of X like all others, so that pipelines and cross-validation treat them alike;
    `score` ignores those among the test samples.
    """

    def __init__(
        self,
        C: float = 1.0,
        laplacian_alpha: float = 1.0,
        kernel: Kernel = "rbf",
        gamma: float | str = "scale",
        n_neighbors: int = 10,
        weights: str = "heat",
        bandwidth: float | None = None,
        laplacian: Laplacian = "normalized",
        unlabeled: Any = -1,
        tol: float = 1e-3,
        max_iter: int = 100_000,
        max_time: float | None = None,
        verbose: bool = False,
    ):
        self.C = C
        self.laplacian_alpha = laplacian_alpha
        self.kernel = kernel
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.bandwidth = bandwidth
        self.laplacian = laplacian
        self.unlabeled = unlabeled
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Labeled and unlabeled samples.
        y : array-like of shape (n_samples,)
            Labels, ``unlabeled`` for unlabeled samples.
        """
        C, laplacian_alpha = positive_number("C", self.C), self._laplacian_alpha()
        tol, max_iter = positive_number("tol", self.tol), whole_number("max_iter", self.max_iter, 1)
        X, y = validate_data(self, X, y, dtype=np.float64)
        deadline = deadline_of(self.max_time)
        labeled = self._labeled(y)
        check_classification_targets(y[labeled])
        self.classes_, index = np.unique(y[labeled], return_inverse=True)
        self._require_classes()
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        solutions: list[HingeSolution] = []

        def solve(A: Matrix) -> tuple[Matrix, Matrix]:
            K = A @ A.T
            for positive in positives:
                signs = np.where(index == positive, 1.0, -1.0)
                solutions.append(solve_hinge(K, signs, C, tol, max_iter, deadline))
            coefficients = np.column_stack([solution.coef for solution in solutions])
            return A.T @ coefficients, np.array([solution.intercept for solution in solutions])

        weight = 2.0 * C * laplacian_alpha * np.count_nonzero(labeled)
        with progress(self):
            values = self._functions(X, labeled, weight, solve, centered=True)
        self._certify(solutions, tol, max_iter)
        self.transduction_ = self._classes(values)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the values of the functions: one column for each class, or a vector for two classes."""
        values = self._values(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict the label of each row of ``X``."""
        return self._classes(self._values(X))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy over the labeled samples among the rows of ``X``."""
        y, predicted = np.asarray(y), self.predict(X)
        check_consistent_length(predicted, y)
        labeled = self._labeled(y)
        weight = None if sample_weight is None else np.asarray(sample_weight)[labeled]
        return accuracy_score(y[labeled], predicted[labeled], sample_weight=weight)

    def _classes(self, values: Matrix) -> NDArray:
        if len(self.classes_) == 2:
            return self.classes_[(values[:, 0] > 0).astype(int)]
        return self.classes_[values.argmax(axis=1)]

    def _labeled(self, y: NDArray) -> NDArray[np.bool_]:
        """Return which samples are labeled, or raise a ValueError if none is."""
        # numpy compares arrays of strings with numbers as a whole.
        labeled = np.array(
            [self.unlabeled is None or label != self.unlabeled for label in y.ravel().tolist()]
        )
        if not labeled.any():
            raise ValueError(f"all labels are {self.unlabeled!r}, unlabeled: expected labeled samples")
        return labeled

    def _require_classes(self) -> None:
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class, {self.classes_.tolist()[0]!r}, besides {self.unlabeled!r} for unlabeled "
                f"samples: expected two classes or more, or unlabeled=None if {self.unlabeled!r} is a class"
            )

    def _certify(self, solutions: list[HingeSolution], tol: float, max_iter: int) -> None:
        self.objective_ = np.array([solution.value for solution in solutions])
        self.lower_bound_ = np.array([solution.lower_bound for solution in solutions])
        self.gap_ = max(solution.relative_gap for solution in solutions)
        self.n_iter_ = max(solution.n_iter for solution in solutions)
        if self.gap_ > tol:
            warnings.warn(
                f"stopped after {self.n_iter_} of at most {max_iter} steps with a relative gap of "
                f"{self.gap_:.2g}: raise max_iter, max_time or tol, or scale the features, for example with "
                "sklearn.preprocessing.StandardScaler",
                ConvergenceWarning,
                stacklevel=3,
            )
