"""Ranking support vector machine for structured losses (thesis, section 3.2)."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ermlab._utils.progress import progress
from ermlab._utils.saving import SavedModel
from ermlab._utils.validation import check_choice, real_array, regularization_strength, require_finite
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
TARGETS = ("loss", "relevance")


class RankingSVM(SavedModel, BaseEstimator):
    """Linear ranking SVM whose scores ``<w, x>`` rank samples of low loss above those of high loss.

    A sample has a loss, low for the samples that belong on top, or a relevance, high for them. By default
    ``y`` holds losses: relevance has to be given as ``fit(X, relevance=...)``, or with
    ``target="relevance"``, without which the order would be reversed.

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
        For the bipartite graph: samples with a loss of at most ``threshold``, or a relevance of at least
        ``threshold``, are ranked above the others. One number, or one per group in the order of
        ``np.unique(groups)``.
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
    target : {"loss", "relevance"}, default="loss"
        What ``y`` holds in `fit` and `score`. Cross-validation and pipelines pass ``y`` only.
    verbose : bool, default=False
        Whether to print the progress of the optimization.

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
    feature_names_in_ : ndarray of str
        Names of the columns, if ``X`` is a data frame.

    Examples
    --------
    Search results of two queries, with the relevance of each:

    >>> import numpy as np
    >>> from ermlab import RankingSVM
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    >>> ranker = RankingSVM(C=100.0).fit(X, relevance=[2, 0, 1, 0], groups=[0, 0, 1, 1])
    >>> ranker.predict_order(X).tolist()
    [0, 2, 3, 1]
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
        target: str = "loss",
        verbose: bool = False,
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
        self.target = target
        self.verbose = verbose

    def fit(
        self,
        X: Matrix,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        relevance: ArrayLike | None = None,
    ) -> Self:
        """Fit the weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features: dense, sparse, or memory-mapped; never copied or converted as a whole.
        y : array-like of shape (n,)
            Non-negative loss of each sample, 0 for the best, or its relevance if ``target="relevance"``.
        groups : array-like of shape (n,), optional
            Group of each sample, such as its query or image; only samples of the same group form pairs.
        relevance : array-like of shape (n,), optional
            Relevance of each sample, high for the best, instead of ``y``.
        """
        regularizer = self._regularizer
        given, are_relevance = self._targets(y, relevance)
        X, given = validate_data(
            self, sound_matrix(X), given, accept_sparse=("csr", "csc"), y_numeric=True, ensure_min_samples=2
        )
        features, losses, threshold = Features(X), np.asarray(given, dtype=np.float64), self.threshold
        if are_relevance:
            best = losses.max()
            losses = best - losses
            threshold = None if threshold is None else best - np.asarray(threshold, dtype=np.float64)
        risk = self._risk(features, losses, threshold, groups)
        surrogate = self._surrogate(features, losses, threshold, groups)
        with progress(self):
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

    def score(
        self,
        X: Matrix,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        relevance: ArrayLike | None = None,
    ) -> float:
        """Return 1 minus the pairwise risk (thesis, eq. 3.9): 1 is a perfect ranking.

        It is at least 0 if the losses, or the relevance, span at most 1. Parameters are those of `fit`.
        """
        scores, (losses, are_relevance) = self.decision_function(X), self._targets(y, relevance)
        if are_relevance:
            losses = _finite_vector(losses)
            losses = losses.max(initial=0.0) - losses
        return 1.0 - pairwise_risk(losses, scores, groups=groups)

    def _targets(self, y: ArrayLike | None, relevance: ArrayLike | None) -> tuple[ArrayLike, bool]:
        """Return the losses or the relevance of the samples, and whether it is the latter."""
        check_choice("target", self.target, TARGETS)
        if relevance is None:
            if y is None:
                raise ValueError(
                    "RankingSVM requires y to be passed, but the target y is None: expected losses, or "
                    "relevance=..."
                )
            return y, self.target == "relevance"
        if y is not None:
            raise ValueError("y and relevance are both given: expected one of them")
        return relevance, True

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
        self,
        features: Features,
        losses: NDArray[np.float64],
        threshold: ArrayLike | None,
        groups: ArrayLike | None,
    ) -> Surrogate | None:
        """Return a `Surrogate` with the risk of a subsample; None without one, or without a pair in it."""
        size = self._subsample_size(len(losses))
        if size is None:
            return None
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        sub = draw_subsample(losses, size, rng, threshold=threshold, groups=groups)
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
        tags.target_tags.positive_only = self.target == "loss"
        return tags


def _finite_vector(relevance: ArrayLike) -> NDArray[np.float64]:
    """Return the relevance of samples as a vector of finite numbers."""
    values = real_array(relevance, "relevance")
    if values.ndim != 1:
        raise ValueError(f"relevance has shape {values.shape}: expected one number per sample")
    return require_finite(values, "relevance holds NaN or infinity: expected finite numbers")
