"""Ranking SVM that is invariant to transformations (equivariant structured SVM, section 3.2).

A sample is a bag of virtual samples. The most violated constraint is a maximum over one virtual sample of
each bag and over all orders. Its terms are hinges ``1 - <w, x_i> + <w, x_j>`` of pairs of a positive i and a
negative j, which decrease with the score of i and increase with that of j. So for any order the maximum takes
the lowest virtual sample of each positive and the highest of each negative; one call of the oracle then gives
the order.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ermlab._utils.progress import progress
from ermlab._utils.rows_numba import lowest_rows
from ermlab._utils.saving import SavedModel
from ermlab._utils.validation import regularization_strength
from ermlab.optimize import L2, minimize
from ermlab.optimize.convergence import warn_unless_converged
from ermlab.ranking._features import Features
from ermlab.ranking.oracle import Oracle
from ermlab.ranking.risk import OracleRisk
from ermlab.structured.invariant import check_bags, check_features, check_groups, two_classes


class InvariantRankingRisk(OracleRisk):
    """Mean of ``max(0, 1 - s_i + s_j)`` over pairs of a positive i and a negative j.

    ``s_i`` is the lowest score of the virtual samples of i, ``s_j`` the highest of those of j.

    Parameters
    ----------
    X : array-like of shape (m, d)
        Virtual samples.
    groups : array-like of shape (m,)
        Sample of each row, 0 to n - 1.
    y : array-like of shape (n,)
        Label -1 or 1 of each sample, or any two labels: the samples of the larger are the positives.

    Attributes
    ----------
    dimension : int
        Length of ``w``.
    edges : int
        Number of pairs.
    used : ndarray of bool
        Mask of the rows that were the worst of their sample and part of a violated pair in any call.
    """

    def __init__(self, X: ArrayLike, groups: ArrayLike, y: ArrayLike):
        features = Features(X)
        groups = check_groups(groups, len(features))
        y = two_classes(y, groups.max() + 1)[1]
        super().__init__(features, Oracle((1.0 - y) / 2.0, graph="bipartite", threshold=0.0))
        self._groups, self._y = groups, y
        self._rows = np.argsort(groups, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(groups))])
        self.used = np.zeros(len(groups), dtype=np.bool_)

    def __call__(self, w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the risk and a subgradient at ``w``."""
        scores = self._features.scores(w)
        worst = np.empty(len(self._y), dtype=np.int64)
        lowest_rows(self._y[self._groups] * scores, self._rows, self._starts, worst)
        value, subgradient, alpha = self._evaluate(scores[worst], worst)
        self.used[worst[alpha != 0]] = True
        return value, subgradient


class InvariantRankingSVM(SavedModel, BaseEstimator):
    """Linear ranking SVM that ranks positives above negatives under all transformations.

    Minimizes ``1/2 |w|^2 + C risk(w)`` with the `InvariantRankingRisk`, an upper bound of 1 minus the area
    under the ROC curve. With one virtual sample per sample this is the `RankingSVM` of the bipartite graph.

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularization strength.
    tol : float, default=1e-3
        Relative gap between the objective and its lower bound.
    max_iter : int, default=1000
        Maximum number of passes over all virtual samples.
    max_time : float, optional
        Limit in seconds on the optimization, checked before each pass.
    verbose : bool, default=False
        Whether to print the progress of the optimization.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, sorted: samples of the second are ranked above those of the first.
    coef_ : ndarray of shape (n_features,)
        The weights ``w``.
    objective_ : float
        ``1/2 |w|^2 + C risk(w)`` at ``coef_``.
    gap_ : float
        Upper bound of the relative distance of the objective from its minimum.
    n_iter_ : int
        Number of passes over all virtual samples.
    result_ : ermlab.optimize.Result
        Its values are those of the objective divided by ``C``.
    n_virtual_ : int
        Number of distinct virtual samples that the optimizer used: that were the worst of their sample and
        part of a violated pair in any pass.
    used_ : ndarray of bool
        Mask of these rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the columns, if ``X`` is a data frame.
    """

    def __init__(
        self,
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: float | None = None,
        verbose: bool = False,
    ):
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit the model to the virtual samples of each sample.

        Parameters
        ----------
        X : array-like of shape (n, T, d) or (m, d)
            Bags: ``T`` virtual samples of each sample, preferably with the original first, or all virtual
            samples with ``groups``; without ``groups`` each row is a sample. Features in single precision are
            not copied.
        y : array-like of shape (n,)
            Relevance of each sample, one of two values such as 0 and 1, or -1 and 1: samples of the larger
            are ranked above those of the smaller. Not losses, unlike the ``y`` of `RankingSVM`.
        groups : array-like of shape (m,), optional
            Sample of each row of a two-dimensional ``X``, 0 to n - 1.
        """
        regularizer = L2(regularization_strength(self.C))
        X, groups = check_bags(self, X, groups)
        self.classes_, labels = two_classes(y, groups.max() + 1)
        risk = InvariantRankingRisk(X, groups, labels)
        limits = {"tol": self.tol, "max_iter": self.max_iter, "max_time": self.max_time}
        with progress(self):
            result = minimize(risk, regularizer, **limits)
        warn_unless_converged(result, self.max_iter, self.max_time)
        self.result_, self.coef_ = result, result.w
        self.objective_, self.gap_ = self.C * result.value, result.relative_gap
        self.n_iter_ = result.n_iter
        self.used_, self.n_virtual_ = risk.used, int(risk.used.sum())
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the score of each sample, high for positives: a row of shape (n, d), or a bag, (n, T, d).

        The score of a bag is the mean over its virtual samples.
        """
        check_is_fitted(self)
        X = check_features(self, X)
        scores = Features(X.reshape(-1, X.shape[-1])).scores(self.coef_)
        return scores if X.ndim == 2 else scores.reshape(X.shape[:2]).mean(axis=1)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the area under the ROC curve: the share of pairs of two classes that are in order."""
        scores = self.decision_function(X)
        signs = two_classes(y, len(scores))[1]
        return float(roc_auc_score(signs, scores))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.target_tags.required = True
        return tags
