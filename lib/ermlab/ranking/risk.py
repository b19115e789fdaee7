"""The risk of structured output ranking, for `ermlab.optimize.minimize` (thesis, eq. 3.10 to 3.13)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ermlab._utils.blas import one_blas_thread
from ermlab.ranking._errors import RankingErrors
from ermlab.ranking._features import Features
from ermlab.ranking.oracle import Oracle

Vector = NDArray[np.float64]


class OracleRisk:
    """Base of risks whose most violated constraint an `Oracle` finds, for scores of a `Features` matrix."""

    def __init__(self, features: Features, oracle: Oracle):
        self._features, self._oracle, self._errors = features, oracle, RankingErrors(oracle)
        self.dimension, self.edges = features.dimension, oracle.edges

    def _evaluate(
        self, scores: Vector, rows: NDArray[np.int64] | None = None
    ) -> tuple[float, Vector, Vector]:
        """Return risk, subgradient and coefficients for the scores of all samples, or of the given rows."""
        alpha, delta = self._oracle(scores)
        self._errors.add(alpha, scores)
        with one_blas_thread():
            total = delta - float(alpha @ scores)
        return max(total, 0.0) / self.edges, -self._features.combine(alpha, rows) / self.edges, alpha

    def rounding(self, w: Vector) -> float:
        """Return the error at ``w`` of the value and of the planes so far.

        An offset common to all samples cancels in the subgradient, but costs digits of the scores.
        """
        return self._errors.at(self._features.score_error(w))


class RankingRisk(OracleRisk):
    """Mean of the rescaled hinge over the pairs to be ranked.

    With scores ``s = X w``, slack rescaling is ``(loss_j - loss_i) max(0, 1 - s_i + s_j)`` for the pairs with
    ``loss_i < loss_j``, margin rescaling ``max(0, loss_j - loss_i - s_i + s_j)``. The thesis has the sum in
    place of the mean; with the mean the regularization does not depend on the number of samples.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Features: dense, sparse, or memory-mapped; never copied or converted as a whole.
    losses : array-like of shape (n,)
        Non-negative loss of each sample: the lower, the higher it should be ranked.
    rescaling, graph, threshold, groups
        As in `most_violated`.

    Attributes
    ----------
    dimension : int
        Length of ``w``.
    edges : int
        Number of pairs to be ranked: the edges of the graph.
    """

    def __init__(
        self,
        X: ArrayLike | sparse.sparray | sparse.spmatrix | Features,
        losses: ArrayLike,
        *,
        rescaling: str = "slack",
        graph: str = "complete",
        threshold: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ):
        features = X if isinstance(X, Features) else Features(X)
        if np.shape(losses) != (len(features),):
            raise ValueError(f"losses of shape {np.shape(losses)}: expected one per sample, {len(features)}")
        oracle = Oracle(losses, rescaling=rescaling, graph=graph, threshold=threshold, groups=groups)
        if oracle.edges == 0:
            raise ValueError(
                "there is no pair to rank: expected two samples of different loss in the same group"
                + ("" if threshold is None else f", one on each side of the threshold {threshold!r}")
            )
        super().__init__(features, oracle)

    def __call__(self, w: Vector) -> tuple[float, Vector]:
        """Return the risk and a subgradient at ``w``: one call of the oracle and two products with ``X``."""
        return self._evaluate(self._features.scores(w))[:2]
