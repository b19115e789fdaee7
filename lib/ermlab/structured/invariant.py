"""Binary support vector machines that are invariant to transformations of their inputs.

Equivariant structured SVM, section 3.2, for two classes that no transformation changes. A sample is a bag of
virtual samples, including the original, and its loss is that of the worst one.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.progress import progress
from ermlab._utils.saving import SavedModel
from ermlab._utils.validation import check_choice, positive_number, real_array, regularization_strength
from ermlab.optimize import L1, L2, minimize, minimize_blocks
from ermlab.optimize.convergence import warn_unless_converged
from ermlab.structured._hinge_bags import Bags, WorstHingeRisk

PENALTIES = ("l1", "l2")
CHOICES = ("worst", "mean")
FLOATS = (np.float64, np.float32)


class InvariantSVM(ClassifierMixin, SavedModel, BaseEstimator):
    """Binary SVM over bags of virtual samples: ``1/2 |w|^2 + C sum_i max_t hinge(1 - y_i <w, x_it>)``.

    The labels ``y_i`` of -1 and 1 stand for the two classes, in their sorted order.

    ``C`` is that of scikit-learn; the source divides by the number of samples, ``C/N sum_i``, so its ``C`` is
    ``N`` times as large. With one virtual sample per sample this is the plain SVM.

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularization strength.
    penalty : {"l2", "l1"}, default="l2"
        ``"l1"`` uses ``|w|_1`` in place of ``1/2 |w|^2``.
    tol : float, default=1e-3
        Relative gap between the objective and its lower bound.
    fit_intercept : bool, default=False
        Whether to append a constant feature; its weight is regularized like the others.
    max_iter : int, default=1000
        Maximum number of passes over all virtual samples.
    choice : {"worst", "mean"}, default="worst"
        Whether the loss of a sample is the maximum (equivariant structured SVM, eq. 8) or the mean over its
        virtual samples, the vicinal risk (eq. 9).
    intercept_scaling : float, default=1.0
        The constant feature ``B``.
    max_time : float, optional
        Limit in seconds on the optimization, checked before each pass.
    verbose : bool, default=False
        Whether to print the progress of the optimization.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, sorted; positive scores stand for the second.
    coef_, intercept_ : ndarray of shape (n_features,) and float
        Weights of the features and the bias ``B w_bias``, 0 without a constant feature.
    result_ : ermlab.optimize.Result
        Value and lower bound (divided by ``C n``) and history.
    n_virtual_ : int
        Number of distinct virtual samples that the optimizer used: that were the worst of their sample, with
        a hinge above 0, in any pass. With ``"mean"``, all that had a hinge above 0 in any pass.
    used_ : ndarray of bool
        Mask of these rows.
    support_ : ndarray of shape (n_support, 2)
        Sample and number within the sample of each virtual sample with a positive dual weight. Only with
        ``"l2"``.
    n_iter_ : int
        Number of passes over all virtual samples.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the columns, if ``X`` is a data frame.

    Notes
    -----
    For cross-validation, pass bags as an array of shape (n, T, d), which is split by samples.
    """

    def __init__(
        self,
        C: float = 1.0,
        penalty: str = "l2",
        tol: float = 1e-3,
        fit_intercept: bool = False,
        max_iter: int = 1000,
        choice: str = "worst",
        intercept_scaling: float = 1.0,
        max_time: float | None = None,
        verbose: bool = False,
    ):
        self.C = C
        self.penalty = penalty
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.choice = choice
        self.intercept_scaling = intercept_scaling
        self.max_time = max_time
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the model to the virtual samples of each sample.

        Parameters
        ----------
        X : array-like of shape (n, T, d) or (m, d)
            Bags: ``T`` virtual samples of each sample, preferably with the original first, or all virtual
            samples with ``groups``; without ``groups`` each row is a sample. Features in single precision are
            not copied; all sums are in double precision.
        y : array-like of shape (n,)
            Label of each sample, one of any two.
        groups : array-like of shape (m,), optional
            Sample of each row of a two-dimensional ``X``, 0 to n - 1.
        sample_weight : array-like of shape (n,), optional
            Factor of ``C`` for each sample.
        """
        self._check_options()
        X, groups = check_bags(self, X, groups)
        self.classes_, signs = two_classes(y, groups.max() + 1)
        weights = check_weights(sample_weight, len(signs))
        risk = WorstHingeRisk(self._bags(X, groups, signs, weights))
        alpha = regularization_strength(self.C, len(signs))
        limits = {"tol": self.tol, "max_iter": self.max_iter, "max_time": self.max_time}
        with progress(self):
            if self.penalty == "l2":
                self.result_ = minimize_blocks(risk, L2(alpha), **limits)
                self.support_ = np.column_stack([groups, _places(groups)])[risk.beta > 0]
            else:
                self.result_ = minimize(risk, L1(alpha), **limits)
        warn_unless_converged(self.result_, self.max_iter, self.max_time)
        self.coef_ = self.result_.w[: X.shape[1]]
        self.intercept_ = self.intercept_scaling * float(self.result_.w[-1]) if self.fit_intercept else 0.0
        self.used_, self.n_virtual_ = risk.chosen, int(risk.chosen.sum())
        self.n_iter_ = self.result_.n_iter
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return ``<w, x> + b`` of each sample: a row of shape (n, d), or a bag of shape (n, T, d).

        The score of a bag is the mean over its virtual samples.
        """
        check_is_fitted(self)
        X = check_features(self, X)
        single = X.dtype == np.float32 and np.abs(self.coef_).max() <= np.finfo(np.float32).max
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):  # checked next
            scores = X @ self.coef_.astype(np.float32 if single else np.float64) + self.intercept_
        if not np.isfinite(scores).all():
            raise ValueError(
                f"features of shape {X.shape} have scores with NaN or infinity: expected finite features "
                "that do not overflow"
            )
        return scores if scores.ndim == 1 else scores.mean(axis=1)

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the label of each sample: a row of shape (n, d), or a bag of shape (n, T, d)."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.three_d_array = True
        return tags

    def _check_options(self) -> None:
        check_choice("penalty", self.penalty, PENALTIES)
        check_choice("choice", self.choice, CHOICES)
        positive_number("C", self.C)
        positive_number("intercept_scaling", self.intercept_scaling)

    def _bags(self, X: NDArray, groups: NDArray, signs: NDArray, weights: NDArray) -> Bags:
        """Return the bags whose worst hinges add up to the risk; for the mean, each row is a bag."""
        sizes, weights = np.bincount(groups), weights / len(signs)
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        if self.choice == "mean":
            starts = np.arange(len(X) + 1)
            return Bags(X, starts[:-1], starts, signs[groups], (weights / sizes)[groups], bias)
        rows = np.argsort(groups, kind="stable")
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return Bags(X, rows, starts, signs, weights, bias)


def _places(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of earlier rows of the same group, for each row."""
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    places = np.empty(len(groups), dtype=np.int64)
    places[order] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return places


def check_features(estimator: BaseEstimator, X: ArrayLike, *, reset: bool = False) -> NDArray:
    """Return rows (n, d) or bags (n, T, d) of numbers, whose number of features must be that of `fit`.

    Features in single precision are returned unchanged, others in double precision.
    """
    if np.ma.is_masked(X):
        raise ValueError("X has masked entries: expected numbers only")
    shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    options = {"dtype": FLOATS, "order": "C", "ensure_all_finite": False, "reset": reset}
    if len(shape) != 3:
        return validate_data(estimator, X, **options)
    if 0 in shape:
        raise ValueError(f"bags of shape {shape}: expected (n, T, d), not empty")
    rows = validate_data(estimator, np.asarray(X).reshape(-1, shape[2]), **options)
    return rows.reshape(shape)


def check_bags(
    estimator: BaseEstimator, X: ArrayLike, groups: ArrayLike | None
) -> tuple[NDArray, NDArray[np.int64]]:
    """Return rows (m, d) and the sample of each, or raise a ValueError; set ``n_features_in_``."""
    X = check_features(estimator, X, reset=True)
    if X.ndim == 3:
        if groups is not None:
            raise ValueError(f"groups given for bags of shape {X.shape}: expected them with (m, d) only")
        groups = np.repeat(np.arange(X.shape[0]), X.shape[1])
        return X.reshape(-1, X.shape[2]), groups
    return X, np.arange(len(X)) if groups is None else check_groups(groups, len(X))


def check_weights(sample_weight: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """Return the weights of ``n`` samples, 1 by default, or raise a ValueError."""
    if sample_weight is None:
        return np.ones(n)
    weights = real_array(np.asanyarray(sample_weight), "sample_weight")
    if weights.shape != (n,) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(f"sample_weight of shape {weights.shape}: expected {n} finite numbers of at least 0")
    if not weights.any():
        raise ValueError("the weights of all samples are zero: expected a positive sample_weight")
    return weights


def two_classes(y: ArrayLike, n: int) -> tuple[NDArray, NDArray[np.float64]]:
    """Return the two labels of ``n`` samples, sorted, and -1 or 1 for each sample, or raise a ValueError."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None: expected one label per sample")
    labels = column_or_1d(y, warn=True)
    if len(labels) != n:
        raise ValueError(f"labels of shape {labels.shape}: expected {n}, one per sample")
    check_classification_targets(labels)
    classes, index = np.unique(labels, return_inverse=True)
    if len(classes) != 2:
        found = f"{len(classes)} classes" if len(classes) > 1 else f"one class, {classes[0]!r}"
        # scikit-learn looks for these words.
        binary = "Only binary classification is supported. " if len(classes) > 2 else ""
        raise ValueError(f"{binary}y has {found}: expected two")
    return classes, 2.0 * index - 1.0


def check_groups(groups: ArrayLike, m: int) -> NDArray[np.int64]:
    """Return the sample of each of ``m`` rows, each sample with at least one row, or raise a ValueError."""
    groups = np.asarray(groups)
    if groups.shape != (m,) or not np.issubdtype(groups.dtype, np.integer):
        raise ValueError(f"groups of type {groups.dtype}, shape {groups.shape}: expected {m} integers")
    if groups.min() < 0:
        raise ValueError(f"groups has {groups.min()}: expected 0 to n - 1")
    if groups.max() >= m:
        raise ValueError(f"groups has {groups.max()}: expected less than {m}, the number of rows")
    groups = groups.astype(np.int64)
    missing = np.flatnonzero(np.bincount(groups) == 0)
    if missing.size:
        raise ValueError(f"no row belongs to sample {missing[0]}: expected all groups from 0 to n - 1")
    return groups
