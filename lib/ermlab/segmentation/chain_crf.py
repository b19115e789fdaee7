"""Conditional random fields on chains, for sequence labeling (thesis, eq. 2.19 to 2.26)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.parallel import over_ranges
from ermlab._utils.saving import remembers_arguments
from ermlab._utils.validation import check_choice, require_room
from ermlab.segmentation._chain_batches import ChainLabels, Chains, gather_chains, gather_labels
from ermlab.segmentation._chains_numba import add_differences, label_chains, violate_chains
from ermlab.segmentation._hamming import HammingLoss
from ermlab.segmentation._joint_features import JointFeatures
from ermlab.segmentation.chains import chain_edges, chain_marginals
from ermlab.segmentation.marginals import Marginals
from ermlab.segmentation.potentials import check_labels
from ermlab.structured.task import RESCALINGS, by_position

Vector = NDArray[np.float64]
Labels = NDArray[np.int64]
# Smallest number of chains per thread.
GRAIN = 64
# Scores are computed in blocks of this many nodes: their last bits must not depend on the number of threads.
BLOCK = 4096


@remembers_arguments
class ChainCRF:
    """Sequence labeling as a `Task` of `ermlab.structured.StructuredSVM`.

    A sample ``x`` is an array with one row of features per node, and ``y`` an array with one label per node;
    chains may have different lengths. The joint features are those of a random field in which node ``i`` is
    joined to node ``i + 1`` (thesis, eq. 2.19 to 2.26), the loss is the Hamming loss, and inference is exact.

    The weights ``w`` are ``n_states x n_features`` unary weights, one row per state, followed by the pairwise
    weights: ``n_states x n_states``, one row per state of the first node, if ``directed``, else one weight
    per unordered pair in the order of `numpy.triu_indices`.

    Most violated labelings take O(n_nodes n_states^2) with margin rescaling. Slack rescaling needs the best
    labeling for each number of errors, O(n_nodes^2 n_states^2), and is not available with ``class_weight``,
    with which losses are no longer multiples of one number.

    Parameters
    ----------
    n_states, n_features : int
        Number of states, at least 2, and of features of a node.
    directed : bool, default=True
        Whether the score of two neighbors depends on their order.
    class_weight : array-like of shape (n_states,), optional
        Weight of errors at nodes of each true label, by default 1. The loss is
        ``sum_i class_weight[y_i] [y_i != z_i] / n_nodes``: the fraction of wrong labels without weights.
    ignore_label : int, optional
        Nodes with this true label do not count in the loss, nor in its number of nodes. Their features are
        part of the joint features as those of any state.
    """

    def __init__(
        self,
        n_states: int,
        n_features: int,
        *,
        directed: bool = True,
        class_weight: ArrayLike | None = None,
        ignore_label: int | None = None,
    ):
        self._phi = JointFeatures(n_states, n_features, directed=directed)
        self._loss = HammingLoss(n_states, class_weight, ignore_label)
        self.n_states, self.n_features, self.directed = n_states, n_features, directed

    @property
    def dimension(self) -> int:
        """Length of ``w``."""
        return self._phi.dimension

    def joint_feature(self, x: ArrayLike, y: ArrayLike) -> Vector:
        """Return ``phi(x, y)`` (thesis, eq. 2.26)."""
        x = self._phi.check_nodes(x)
        return self._phi(x, chain_edges(len(x)), None, check_labels(y, len(x), self.n_states))

    def loss(self, y: ArrayLike, z: ArrayLike) -> float:
        """Return the Hamming loss of predicting ``z`` where ``y`` is true."""
        truth = check_labels(y, np.size(y), self.n_states)
        return self._loss(truth, check_labels(z, len(truth), self.n_states))

    def predict(self, w: ArrayLike, x: ArrayLike) -> Labels:
        """Return the labels of the highest score, the first in lexicographic order of several."""
        return self.batch_predict(w, [x])[0]

    def most_violated(self, w: ArrayLike, x: ArrayLike, y: ArrayLike, rescaling: str) -> Labels:
        """Return the most violated labels, ``y`` itself if none are violated."""
        X, Y = self.prepare_batch([x], [y])
        return self.violations(self._phi.check_weights(w), X, Y, rescaling)[0]

    def marginals(self, w: ArrayLike, x: ArrayLike) -> Marginals:
        """Return the marginals of ``p(y | x)`` for ``log p = <w, phi(x, y)> - log Z`` (thesis, eq. 2.21).

        A structured SVM does not estimate probabilities, so that its marginals are a relative measure of
        confidence only.
        """
        w, x = self._phi.check_weights(w), self._phi.check_nodes(x)
        return chain_marginals(self._phi.unary(w, x), self._phi.pairwise(w))

    def prepare_batch(self, X: Sequence, Y: Sequence) -> tuple[Chains, ChainLabels]:
        """Return checked samples and labels in one array each, or raise a ValueError."""
        if len(X) != len(Y):
            raise ValueError(f"{len(X)} chains and {len(Y)} labelings: expected the same number")
        chains = gather_chains(by_position(X), self._phi.check_nodes)
        return chains, gather_labels(by_position(Y), chains.starts, self._loss)

    def batch_risk(self, w: Vector, X: Chains, Y: ChainLabels, rescaling: str) -> tuple[float, Vector]:
        """Return the mean of the largest violations and a subgradient."""
        labels, losses, margins = self.violations(w, X, Y, rescaling)
        slack = rescaling == "slack"
        values = losses * (1.0 + margins) if slack else losses + margins
        factors = losses if slack else (values > 0).astype(np.float64)
        return float(values.mean()), self.differences(X, Y, labels, factors / len(X))

    def batch_predict(self, w: ArrayLike, X: Sequence) -> list[Labels]:
        """Return the labels of the highest score for each chain."""
        if len(X) == 0:
            return []
        chains = gather_chains(by_position(X), self._phi.check_nodes)
        w = self._phi.check_weights(w)
        unary, pairwise = self.unary(w, chains), self._phi.pairwise(w)[np.newaxis]
        transposed = np.ascontiguousarray(pairwise.transpose(0, 2, 1))
        labels = np.empty(len(unary), dtype=np.int64)
        over_ranges(
            lambda first, last: label_chains(unary, pairwise, transposed, chains.starts, labels, first, last),
            len(chains),
            grain=GRAIN,
        )
        return np.split(labels, chains.starts[1:-1])

    def violations(
        self, w: Vector, X: Chains, Y: ChainLabels, rescaling: str
    ) -> tuple[Labels, Vector, Vector]:
        """Return the most violated labels of all nodes, and the losses and margins of all chains.

        The margin is the score of the labels minus that of the truth. Chains without violation have their
        true labels, loss 0 and margin 0.
        """
        slack = self.check_rescaling(rescaling, X)
        scores, pairwise = self.unary(w, X), self._phi.pairwise(w)[np.newaxis]
        transposed = np.ascontiguousarray(pairwise.transpose(0, 2, 1))
        labels = np.empty(len(scores), dtype=np.int64)
        losses, margins = np.empty(len(X)), np.empty(len(X))
        over_ranges(
            lambda first, last: violate_chains(
                *(scores, pairwise, transposed, X.starts, Y.labels, Y.weights, slack),
                *(labels, losses, margins, first, last),
            ),
            len(X),
            grain=GRAIN,
        )
        return labels, losses, margins

    def differences(self, X: Chains, Y: ChainLabels, labels: Labels, factors: Vector) -> Vector:
        """Return ``sum_c factors[c] (phi(x_c, labels_c) - phi(x_c, y_c))``."""
        total = np.zeros(self.dimension)
        U, P = total[: self._phi.n_unary].reshape(self.n_states, -1), total[self._phi.n_unary :]
        add_differences(U, P, X.features, X.starts, Y.labels, labels, self._phi.columns, factors)
        return total

    def unary(self, w: Vector, X: Chains) -> Vector:
        """Return the unary scores of all nodes of all chains."""
        weights = np.ascontiguousarray(self._phi.unary_weights(w).T)
        scores = np.empty((len(X.features), self.n_states))

        def multiply(first: int, last: int) -> None:
            for start in range(first * BLOCK, min(last * BLOCK, len(scores)), BLOCK):
                with np.errstate(over="ignore", invalid="ignore"):  # checked below
                    np.matmul(X.features[start : start + BLOCK], weights, out=scores[start : start + BLOCK])

        with one_blas_thread():
            over_ranges(multiply, -(-len(scores) // BLOCK))
        return self._phi.usable(scores, X.features)

    def check_rescaling(self, rescaling: str, X: Chains) -> bool:
        """Return whether to rescale the slack; raise a ValueError if that is not possible."""
        check_choice("rescaling", rescaling, RESCALINGS)
        if rescaling == "margin":
            return False
        if self._loss.weighted:
            raise ValueError(
                "rescaling is 'slack' with class_weight: expected 'margin', or no class_weight, since the "
                "dynamic program for slack rescaling counts errors"
            )
        longest = int(np.diff(X.starts).max())
        require_room((longest, longest + 1, self.n_states), f"slack rescaling of a chain of {longest} nodes")
        return True
