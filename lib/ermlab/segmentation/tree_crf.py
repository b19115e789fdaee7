"""Conditional random fields on trees and forests (thesis, eq. 2.19 to 2.26)."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from ermlab._utils.saving import remembers_arguments
from ermlab._utils.validation import check_choice
from ermlab.segmentation.graph_crf import GraphCRF, GraphSample
from ermlab.segmentation.marginals import Marginals, tree_marginals
from ermlab.segmentation.trees import check_forest
from ermlab.structured.task import RESCALINGS


@remembers_arguments
class TreeCRF(GraphCRF):
    """Labeling of the nodes of trees as a `Task` of `ermlab.structured.StructuredSVM`.

    Samples, weights and the Hamming loss are those of `GraphCRF`, for graphs without cycles: trees, or
    forests of several trees, with nodes and edges in any order. Inference is exact and takes
    O(n_nodes n_states^2) with margin rescaling. Slack rescaling is not available; see `ChainCRF`, which
    counts errors along a chain.

    Parameters
    ----------
    n_states, n_features : int
        Number of states, at least 2, and of features of a node.
    n_edge_features : int, default=0
        Number of features of an edge.
    directed : bool, default=True
        Whether the score of two neighbors depends on the order of the nodes of their edge, for example
        ``(parent, child)``.
    class_weight : array-like of shape (n_states,), optional
        Weight of errors at nodes of each true label, by default 1.
    ignore_label : int, optional
        Nodes with this true label do not count in the loss.
    """

    def __init__(
        self,
        n_states: int,
        n_features: int,
        n_edge_features: int = 0,
        *,
        directed: bool = True,
        class_weight: ArrayLike | None = None,
        ignore_label: int | None = None,
    ):
        super().__init__(
            n_states,
            n_features,
            n_edge_features,
            directed=directed,
            class_weight=class_weight,
            ignore_label=ignore_label,
        )

    @property
    def exact(self) -> bool:
        """Whether inference is exact: always on forests."""
        return True

    def marginals(self, w: ArrayLike, x: Any) -> Marginals:
        """Return the marginals of ``p(y | x)`` for ``log p = <w, phi(x, y)> - log Z`` (thesis, eq. 2.21).

        A structured SVM does not estimate probabilities, so that its marginals are a relative measure of
        confidence only.
        """
        w, sample = self._phi.check_weights(w), self.sample(x)
        unary, pairwise = self._phi.unary(w, sample.features), self._pairwise(w, sample)
        return tree_marginals(unary, sample.graph.edges, pairwise)

    def sample(self, x: Any) -> GraphSample:
        """Return a checked sample, or raise a ValueError."""
        sample = super().sample(x)
        if sample.graph.forest is None:
            check_forest(sample.graph.n_nodes, sample.graph.edges)  # names the edge that closes a cycle
        return sample

    @staticmethod
    def check_rescaling(rescaling: str) -> None:
        """Raise a ValueError unless the margin is rescaled."""
        check_choice("rescaling", rescaling, RESCALINGS)
        if rescaling == "slack":
            raise ValueError(
                "rescaling is 'slack': expected 'margin' on trees, since the product of loss and score is "
                "not a sum over edges; ChainCRF has slack rescaling"
            )
