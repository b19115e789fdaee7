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
# The size of the subsample by default; it pays where the whole is this many times as large.
SUBSAMPLE_ROWS = 10_000
SUBSAMPLE_SHARE = 0.01
SUBSAMPLE_PAYS = 5


class RankingSVM(BaseEstimator):
    """Learn scores ``<w, x>`` that rank samples of low loss above those of high loss.

    Minimizes ``1/2 |w|^2 + C risk(w)``, where the risk is the mean over all pairs to be ranked of the slack-
    or margin-rescaled hinge (`RankingRisk`): eq. 3.10 of the thesis with the mean for the sum and with
    ``lambda = 1 / C``. A pass over n samples takes O(n log n), however many pairs there are.

    There is no intercept, which would change no ranking, and no ``predict``: what is predicted is an order of
    the samples given together. `predict_order` returns it, `decision_function` the scores.

    Parameters
    ----------
    C
        Price of the risk.
    rescaling
        ``"slack"`` (a margin of 1, violations weighed by the difference of the losses) or ``"margin"`` (the
        difference of the losses is the margin).
    graph
        ``"complete"`` (all pairs of different losses) or ``"bipartite"`` (those on either side of
        ``threshold``).
    threshold
        For the bipartite graph: losses of at most this rank above higher ones. One number, or one for each
        group in the order of ``np.unique(groups)``.
    tol
        Relative gap between the objective and its lower bound.
    max_iter
        Limit on the passes over the training set.
    max_time
        Limit in seconds on the optimization, checked before each pass; ``None`` for none.
    subsample
        About how many samples tell where a pass over all is worthwhile. ``"auto"``: 1 %, at least 10,000, if
        there are five times as many. ``None``: none. The optimum does not depend on it.
    random_state
        Seed of the subsample.

    Attributes
    ----------
    coef_
        The weights ``w``.
    objective_
        ``1/2 |w|^2 + C risk(w)`` at ``coef_``.
    gap_
        Upper bound of the relative distance of the objective from its minimum, resting on all samples.
    n_iter_
        Passes over all training samples; passes over the subsample do not count.
    n_pairs_
        Pairs to be ranked.
    result_
        The `ermlab.optimize.Result`: its values are those of the objective divided by ``C``.
    n_features_in_
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
        """Learn ``w``.

        Parameters
        ----------
        X
            Features, one sample a row: dense, sparse, or memory-mapped; never copied or converted as a whole.
        losses
            Loss of each sample, non-negative.
        groups
            Group of each sample, such as its query or image; only samples of the same group make pairs.
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
        """Return the scores: the higher, the lower the loss is expected to be."""
        check_is_fitted(self)
        X = validate_data(self, sound_matrix(X), accept_sparse=("csr", "csc"), reset=False)
        return Features(X).scores(self.coef_)

    def predict_order(self, X: Matrix, groups: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the indices of the samples, best first, equal ones in the order of the input.

        With ``groups``, the samples of the first group come first, best first, then those of the second, and
        so on, in the order of ``np.unique(groups)``.
        """
        scores = self.decision_function(X)
        if groups is None:
            return np.argsort(-scores, kind="stable")
        if np.shape(groups) != scores.shape:
            raise ValueError(
                f"groups of shape {np.shape(groups)}: expected one for each of {len(scores)} samples"
            )
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
        """Return the risk of a subsample, ready to propose points; None where it is not wanted or void."""
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
            return size if n >= SUBSAMPLE_PAYS * size else None
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
