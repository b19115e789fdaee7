"""Ranking support vector machine for structured losses (thesis, section 3.2)."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ermlab._utils.validation import regularization_strength
from ermlab.optimize import L2, Surrogate, minimize
from ermlab.optimize.convergence import warn_unless_converged
from ermlab.ranking._features import Features, sound_matrix
from ermlab.ranking._subsample import draw_subsample
from ermlab.ranking.oracle import pairwise_risk
from ermlab.ranking.risk import RankingRisk

Matrix = ArrayLike | sparse.sparray | sparse.spmatrix
# Default size of the subsample, which is used if there are this many times as many samples.
SUBSAMPLE_ROWS = 10_000
SUBSAMPLE_SHARE = 0.01
SUBSAMPLE_FACTOR = 5


class RankingSVM(BaseEstimator):
    """Linear ranking SVM whose scores ``<w, x>`` rank samples of low loss above those of high loss.

    Minimizes ``1/2 |w|^2 + C risk(w)``, where the risk is the mean slack- or margin-rescaled hinge over all
    pairs to be ranked (`RankingRisk`): eq. 3.10 of the thesis with the mean in place of the sum and
    ``lambda = 1 / C``. A pass over n samples takes O(n log n), whatever the number of pairs.

    There is no intercept, which would not change the ranking, and no ``predict``, since the prediction is an
    order of several samples: see `predict_order` and `decision_function`.

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularization strength.
    rescaling : {"slack", "margin"}, default="slack"
        ``"slack"``: a margin of 1, with violations weighted by the difference of the losses; ``"margin"``:
        the difference of the losses is the margin.
    graph : {"complete", "bipartite"}, default="complete"
        Rank all pairs of different losses, or those on either side of ``threshold``.
    threshold : float or array-like, optional
        For the bipartite graph: samples with a loss of at most ``threshold`` are ranked above the others. One
        number, or one per group in the order of ``np.unique(groups)``.
    tol : float, default=1e-3
        Relative gap between the objective and its lower bound.
    max_iter : int, default=1000
        Maximum number of passes over the training set.
    subsample : int, "auto" or None, default="auto"
        Approximate number of samples from which the points of passes over all samples are chosen. ``"auto"``:
        1 %, at least 10,000, if there are five times as many. The optimum does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the subsample.
    max_time : float, optional
        Limit in seconds on the optimization, checked before each pass.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights ``w``.
    objective_ : float
        ``1/2 |w|^2 + C risk(w)`` at ``coef_``.
    gap_ : float
        Upper bound of the relative distance of the objective from its minimum, certified on all samples.
    n_iter_ : int
        Number of passes over all training samples; passes over the subsample do not count.
    n_pairs_ : int
        Number of pairs to be ranked.
    result_ : ermlab.optimize.Result
        Its values are those of the objective divided by ``C``.
    n_features_in_ : int
        Number of features.
    """

    def __init__(
        self,
        C: float = 1.0,
        rescaling: str = "slack",
        graph: str = "complete",
        threshold: ArrayLike | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        subsample: int | str | None = "auto",
        random_state: int | np.random.RandomState | None = 0,
        max_time: float | None = None,
    ):
        self.C = C
        self.rescaling = rescaling
        self.graph = graph
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.subsample = subsample
        self.random_state = random_state
        self.max_time = max_time

    def fit(self, X: Matrix, losses: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit the weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features: dense, sparse, or memory-mapped; never copied or converted as a whole.
        losses : array-like of shape (n,)
            Non-negative loss of each sample.
        groups : array-like of shape (n,), optional
            Group of each sample, such as its query or image; only samples of the same group form pairs.
        """
        regularizer = self._regularizer
        X, losses = validate_data(
            self, sound_matrix(X), losses, accept_sparse=("csr", "csc"), y_numeric=True, ensure_min_samples=2
        )
        features, losses = Features(X), np.asarray(losses, dtype=np.float64)
        risk = self._risk(features, losses, self.threshold, groups)
        surrogate = self._surrogate(features, losses, groups)
        result = minimize(
            risk,
            regularizer,
            tol=self.tol,
            max_iter=self.max_iter,
            w0=None if surrogate is None else surrogate.minimizer,
            propose=surrogate,
            max_time=self.max_time,
        )
        warn_unless_converged(result, self.max_iter, self.max_time)
        self.result_ = result
        self.coef_ = result.w
        self.objective_ = self.C * result.value
        self.gap_ = result.relative_gap
        self.n_iter_ = result.n_iter
        self.n_pairs_ = risk.edges
        return self

    def decision_function(self, X: Matrix) -> NDArray[np.float64]:
        """Return the scores: high scores mean low expected losses."""
        check_is_fitted(self)
        X = validate_data(self, sound_matrix(X), accept_sparse=("csr", "csc"), reset=False)
        return Features(X).scores(self.coef_)

    def predict_order(self, X: Matrix, groups: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the indices of the samples, best first, and ties in the order of the input.

        With ``groups`` they are sorted by group first, in the order of ``np.unique(groups)``.
        """
        scores = self.decision_function(X)
        if groups is None:
            return np.argsort(-scores, kind="stable")
        if np.shape(groups) != scores.shape:
            raise ValueError(f"groups of shape {np.shape(groups)}: expected one per sample, {len(scores)}")
        return np.lexsort((-scores, np.unique(groups, return_inverse=True)[1]))

    def score(self, X: Matrix, losses: ArrayLike, groups: ArrayLike | None = None) -> float:
        """Return 1 minus the pairwise risk (thesis, eq. 3.9): 1 is a perfect ranking for losses in [0, 1]."""
        return 1.0 - pairwise_risk(losses, self.decision_function(X), groups=groups)

    @property
    def _regularizer(self) -> L2:
        return L2(regularization_strength(self.C))

    def _risk(
        self,
        features: Features,
        losses: NDArray[np.float64],
        threshold: ArrayLike | None,
        groups: ArrayLike | None,
    ) -> RankingRisk:
        return RankingRisk(
            features,
            losses,
            rescaling=self.rescaling,
            graph=self.graph,
            threshold=threshold,
            groups=groups,
        )

    def _surrogate(
        self, features: Features, losses: NDArray[np.float64], groups: ArrayLike | None
    ) -> Surrogate | None:
        """Return a `Surrogate` with the risk of a subsample; None without one, or without a pair in it."""
        size = self._subsample_size(len(losses))
        if size is None:
            return None
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        sub = draw_subsample(losses, size, rng, threshold=self.threshold, groups=groups)
        if sub is None:
            return None
        risk = self._risk(features.take(sub.rows), sub.losses, sub.threshold, sub.groups)
        return Surrogate(risk, self._regularizer)

    def _subsample_size(self, n: int) -> int | None:
        if self.subsample == "auto":
            size = max(SUBSAMPLE_ROWS, int(SUBSAMPLE_SHARE * n))
            return size if n >= SUBSAMPLE_FACTOR * size else None
        if self.subsample is None:
            return None
        if isinstance(self.subsample, str) or not self.subsample >= 2:
            raise ValueError(f"subsample is {self.subsample!r}: expected 'auto', None or at least 2 samples")
        return self.subsample if self.subsample < n else None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        return tags
