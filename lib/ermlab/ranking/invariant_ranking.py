"""Ranking SVM that is invariant to transformations (equivariant structured SVM, section 3.2).

A sample is a bag of virtual samples. The most violated constraint is a maximum over one virtual sample of
each bag and over all orders. Its terms are hinges ``1 - <w, x_i> + <w, x_j>`` of pairs of a positive i and a
negative j, which decrease with the score of i and increase with that of j. So for any order the maximum takes
the lowest virtual sample of each positive and the highest of each negative; one call of the oracle then gives
the order.
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ermlab._utils.rows_numba import lowest_rows
from ermlab._utils.validation import regularization_strength
from ermlab.optimize import L2, minimize
from ermlab.optimize.convergence import warn_unless_converged
from ermlab.ranking._features import Features
from ermlab.ranking.oracle import Oracle
from ermlab.ranking.risk import OracleRisk
from ermlab.structured.invariant import check_bags, check_groups, check_labels


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
        Label -1 or 1 of each sample.

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
        y = check_labels(y, groups.max() + 1)
        super().__init__(features, Oracle((1.0 - y) / 2.0, graph="bipartite", threshold=0.0))
        if self.edges == 0:
            raise ValueError(f"all labels are {y[0]:g}: expected both -1 and 1")
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


class InvariantRankingSVM(BaseEstimator):
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

    Attributes
    ----------
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
    """

    def __init__(
        self, C: float = 1.0, tol: float = 1e-3, max_iter: int = 1000, max_time: float | None = None
    ):
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time

    def fit(self, bags: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit the model to the virtual samples of each sample.

        Parameters
        ----------
        bags : array-like of shape (n, T, d) or (m, d)
            ``T`` virtual samples of each sample, preferably with the original first, or all virtual samples
            with ``groups``; without ``groups`` each row is a sample. Never copied or converted as a whole.
        y : array-like of shape (n,)
            Label -1 or 1 of each sample.
        groups : array-like of shape (m,), optional
            Sample of each row of a two-dimensional ``bags``, 0 to n - 1.
        """
        regularizer = L2(regularization_strength(self.C))
        X, groups, labels, _ = check_bags(bags, y, groups, None)
        risk = InvariantRankingRisk(X, groups, labels)
        result = minimize(risk, regularizer, tol=self.tol, max_iter=self.max_iter, max_time=self.max_time)
        warn_unless_converged(result, self.max_iter, self.max_time)
        self.result_, self.coef_ = result, result.w
        self.objective_, self.gap_ = self.C * result.value, result.relative_gap
        self.n_iter_ = result.n_iter
        self.used_, self.n_virtual_ = risk.used, int(risk.used.sum())
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the scores of features of shape (n, d), high for positives."""
        check_is_fitted(self)
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != len(self.coef_):
            raise ValueError(f"features of shape {X.shape}: expected (n, {len(self.coef_)})")
        return Features(X).scores(self.coef_)
