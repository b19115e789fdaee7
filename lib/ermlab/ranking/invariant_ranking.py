"""Ranking support vector machine that is invariant to transformations (equivariant SVM, section 3.2).

A sample is a bag of virtual samples. The most violated constraint is a maximum over one virtual sample of
each bag and over all orders. Its terms are hinges ``1 - <w, x_i> + <w, x_j>`` of pairs of a positive i and a
negative j; each falls with the score of i and rises with that of j. So whatever the order, the maximum takes
the lowest virtual sample of each positive and the highest of each negative. The order is then found as in
`ermlab.ranking`, by one call of its oracle.
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.rows_numba import lowest_rows
from ermlab._utils.validation import regularization_strength
from ermlab.optimize import L2, minimize
from ermlab.optimize.convergence import warn_unless_converged
from ermlab.ranking._errors import RankingErrors
from ermlab.ranking._features import Features
from ermlab.ranking.oracle import Oracle
from ermlab.structured.invariant import check_bags, check_groups, check_labels


class InvariantRankingRisk:
    """Mean over pairs of a positive and a negative of ``max(0, 1 - s_i + s_j)``, each at its worst.

    ``s_i`` is the lowest score of the positive's virtual samples, ``s_j`` the highest of the negative's.

    Parameters
    ----------
    X
        Virtual samples, one a row.
    groups
        The sample of each row, 0 to n - 1.
    y
        Label -1 or 1 of each sample.

    Attributes
    ----------
    dimension
        Length of ``w``.
    edges
        Number of pairs.
    used
        Marks the rows that have been the worst of their sample and part of a violated pair in any call.
    """

    def __init__(self, X: ArrayLike, groups: ArrayLike, y: ArrayLike):
        self._features = Features(X)
        groups = check_groups(groups, len(self._features))
        y = check_labels(y, groups.max() + 1)
        self._oracle = Oracle((1.0 - y) / 2.0, graph="bipartite", threshold=0.0)
        if self._oracle.edges == 0:
            raise ValueError(f"all labels are {y[0]:g}: expected both -1 and 1")
        self._groups, self._y = groups, y
        self._rows = np.argsort(groups, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(groups))])
        self.dimension, self.edges = self._features.dimension, self._oracle.edges
        self.used = np.zeros(len(groups), dtype=np.bool_)
        self._errors = RankingErrors(self._oracle)

    def __call__(self, w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the risk and a subgradient at ``w``."""
        scores = self._features.scores(w)
        worst = np.empty(len(self._y), dtype=np.int64)
        lowest_rows(self._y[self._groups] * scores, self._rows, self._starts, worst)
        alpha, delta = self._oracle(scores[worst])
        self.used[worst[alpha != 0]] = True
        self._errors.add(alpha, scores[worst])
        with one_blas_thread():
            total = delta - float(alpha @ scores[worst])
        slope = self._features.combine(alpha, worst)
        return max(total, 0.0) / self.edges, -slope / self.edges

    def rounding(self, w: NDArray[np.float64]) -> float:
        """Return the error at ``w`` of the value and of the planes so far.

        An offset that all features have leaves no trace in the subgradient, but in the digits of the scores.
        """
        return self._errors.at(self._features.score_error(w))


class InvariantRankingSVM(BaseEstimator):
    """Learn scores that rank positives above negatives whatever their transformation.

    Minimizes ``1/2 |w|^2 + C risk(w)``, with the `InvariantRankingRisk`: 1 minus the area under the ROC curve
    is bounded by the risk. With one virtual sample a sample it is the `ermlab.ranking.RankingSVM` of the
    bipartite graph.

    Parameters
    ----------
    C
        Price of the risk.
    tol
        Relative gap between the objective and its lower bound.
    max_iter
        Limit on the passes over all virtual samples.
    max_time
        Limit in seconds on the optimization, checked before each pass; ``None`` for none.

    Attributes
    ----------
    coef_
        The weights ``w``.
    objective_
        ``1/2 |w|^2 + C risk(w)`` at ``coef_``.
    gap_
        Upper bound of the relative distance of the objective from its minimum.
    n_iter_
        Passes over all virtual samples.
    result_
        The `ermlab.optimize.Result`: its values are those of the objective divided by ``C``.
    n_virtual_
        Number of distinct virtual samples that were ever the worst of their sample and part of a violated
        pair: those that the optimizer used.
    used_
        Marks them, in the order of the rows.
    """

    def __init__(
        self, C: float = 1.0, tol: float = 1e-3, max_iter: int = 1000, max_time: float | None = None
    ):
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time

    def fit(self, bags: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Learn from the virtual samples of each sample.

        Parameters
        ----------
        bags
            Shape (n, T, d): ``T`` virtual samples of each sample, of which the first is best the sample
            itself. Or shape (m, d), all virtual samples, with ``groups``; without, each is a sample of its
            own. They are never copied or converted as a whole.
        y
            Label -1 or 1 of each sample.
        groups
            Which sample each row of a two-dimensional ``bags`` belongs to, 0 to n - 1.
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
        """Return the scores of (n, d) features: high ones are likely positive."""
        check_is_fitted(self)
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != len(self.coef_):
            raise ValueError(f"features of shape {X.shape}: expected (n, {len(self.coef_)})")
        return Features(X).scores(self.coef_)
