"""Conditional random fields on graphs of any form (thesis, eq. 2.19 to 2.26)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.parallel import map_in_threads
from ermlab._utils.saving import remembers_arguments
from ermlab._utils.validation import check_choice
from ermlab.segmentation._flow_graph import FlowGraph, flow_graph
from ermlab.segmentation._hamming import HammingLoss
from ermlab.segmentation._joint_features import JointFeatures
from ermlab.segmentation._labeling_task import LabelingTask
from ermlab.segmentation._trees_numba import labeling_total, max_sum
from ermlab.segmentation.alpha_expansion import expansion_labeling
from ermlab.segmentation.graph_cut import cut_labeling, is_submodular
from ermlab.segmentation.labeling import Labeling
from ermlab.segmentation.lp_relaxation import relaxed_labeling
from ermlab.segmentation.potentials import check_edges, check_labels
from ermlab.segmentation.tree_reweighted import message_labeling
from ermlab.structured.task import by_position

Vector = NDArray[np.float64]
Labels = NDArray[np.int64]
INFERENCES = ("auto", "cut", "expansion", "messages", "lp")
# Iterations of message passing for a labeling, and for a bound.
LABEL_ITER, BOUND_ITER = 10, 100
TOL = 1e-6


@dataclass(frozen=True)
class GraphSample:
    """A checked sample: features of nodes and edges, the graph, and the shape of its labels."""

    features: Vector
    graph: FlowGraph
    edge_features: Vector | None
    shape: tuple[int, ...]


@dataclass(frozen=True)
class GraphTruth:
    """The true labels of a sample, and their joint features."""

    labels: Labels
    feature: Vector


@remembers_arguments
class GraphCRF(LabelingTask):
    """Labeling of the nodes of graphs as a `Task` of `ermlab.structured.StructuredSVM`.

    A sample ``x`` is ``(features, edges)`` or ``(features, edges, edge_features)`` with arrays of shape
    (n_nodes, n_features), (n_edges, 2) and (n_edges, n_edge_features); ``y`` is an array with one label per
    node. Graphs may differ from sample to sample. A constant feature is not added: without one, the score of
    a state does not have an intercept.

    The weights ``w`` are ``n_states x n_features`` unary weights, one row per state, followed by the pairwise
    weights (thesis, eq. 2.25): a row of ``n_edge_features`` weights, or one weight if edges have no features,
    for each pair of states. Pairs are ordered, row by row, if ``directed``, else unordered in the order of
    `numpy.triu_indices`.

    Parameters
    ----------
    n_states, n_features : int
        Number of states, at least 2, and of features of a node.
    n_edge_features : int, default=0
        Number of features of an edge.
    directed : bool, default=False
        Whether the score of two neighbors depends on the order of the nodes of their edge.
    submodular : bool, default=False
        Whether to constrain training to pairwise weights that are at least 0 for equal states and at most 0
        for different ones; edge features must be non-negative then. Inference is exact for two states.
    class_weight : array-like of shape (n_states,), optional
        Weight of errors at nodes of each true label, by default 1. The loss is
        ``sum_i class_weight[y_i] [y_i != z_i] / n_nodes``: the fraction of wrong labels without weights.
    ignore_label : int, optional
        Nodes with this true label do not count in the loss, nor in its number of nodes. Their features are
        part of the joint features as those of any state.
    inference : {"auto", "cut", "expansion", "messages", "lp"}, default="auto"
        `graph_cut`, `alpha_expansion`, `tree_reweighted` or `lp_relaxation`. ``"auto"`` is exact on forests,
        and by graph cut for two states with submodular scores; otherwise it is ``"expansion"``.

    Notes
    -----
    The loss-augmented problem of margin rescaling (thesis, eq. 2.17) has the same form as prediction, since
    the Hamming loss adds to the unary scores. That of slack rescaling (eq. 2.18) has not: the product of loss
    and score joins all nodes, and no efficient algorithm is known for graphs with cycles.
    """

    def __init__(
        self,
        n_states: int,
        n_features: int,
        n_edge_features: int = 0,
        *,
        directed: bool = False,
        submodular: bool = False,
        class_weight: ArrayLike | None = None,
        ignore_label: int | None = None,
        inference: str = "auto",
    ):
        check_choice("inference", inference, INFERENCES)
        if inference == "cut" and n_states != 2:
            raise ValueError(f"inference is 'cut' and n_states {n_states}: expected 2 states with it")
        self._phi = JointFeatures(
            n_states, n_features, directed=directed, n_edge_features=n_edge_features or None
        )
        self._loss = HammingLoss(n_states, class_weight, ignore_label)
        self.n_states, self.n_features, self.n_edge_features = n_states, n_features, n_edge_features
        self.directed, self.submodular, self.inference = directed, submodular, inference

    @property
    def dimension(self) -> int:
        """Length of ``w``."""
        return self._phi.dimension

    @property
    def exact(self) -> bool:
        """Whether inference is exact on every graph, for all weights within ``bounds``."""
        return self.n_states == 2 and (
            self.inference == "cut" or (self.inference == "auto" and self.submodular)
        )

    @property
    def bounds(self) -> tuple[Vector, Vector] | None:
        """Bounds of the weights that keep potentials submodular; None unless ``submodular``."""
        if not self.submodular:
            return None
        lower, upper = np.full(self.dimension, -np.inf), np.full(self.dimension, np.inf)
        equal = np.isin(np.arange(self._phi.n_pairs), np.diag(self._phi.columns))
        pairs = slice(self._phi.n_unary, None)
        lower[pairs] = np.repeat(np.where(equal, 0.0, -np.inf), self.n_edge_features or 1)
        upper[pairs] = np.repeat(np.where(equal, np.inf, 0.0), self.n_edge_features or 1)
        return lower, upper

    def joint_feature(self, x: Any, y: ArrayLike) -> Vector:
        """Return ``phi(x, y)`` (thesis, eq. 2.26)."""
        sample = self.sample(x)
        return self._joint(sample, self._truth(sample, y))

    def predict(self, w: ArrayLike, x: Any) -> Labels:
        """Return the labels of the highest score that inference finds."""
        return self._predict(self._phi.check_weights(w), self.sample(x))

    def infer(self, w: ArrayLike, x: Any) -> Labeling:
        """Return the predicted labeling of all nodes with its score and an upper bound on the best score."""
        w, sample = self._phi.check_weights(w), self.sample(x)
        return self._label(self._phi.unary(w, sample.features), self._pairwise(w, sample), sample, BOUND_ITER)

    def most_violated(self, w: ArrayLike, x: Any, y: ArrayLike, rescaling: str) -> Labels:
        """Return the labels with the largest violation that inference finds."""
        self.check_rescaling(rescaling)
        w, sample = self._phi.check_weights(w), self.sample(x)
        return self._violate(w, sample, self._truth(sample, y), LABEL_ITER).labels.reshape(sample.shape)

    def violation_bound(self, w: ArrayLike, x: Any, y: ArrayLike, rescaling: str) -> float:
        """Return an upper bound of the largest violation of a sample."""
        self.check_rescaling(rescaling)
        w, sample = self._phi.check_weights(w), self.sample(x)
        truth, pairwise = self._truth(sample, y), self._pairwise(w, sample)
        unary = self._phi.unary(w, sample.features)
        bound = self._violate(w, sample, truth, BOUND_ITER).bound
        return bound - labeling_total(unary, sample.graph.edges, pairwise, truth)

    def batch_planes(
        self, w: Vector, X: list[GraphSample], Y: list[GraphTruth], rescaling: str
    ) -> tuple[Vector, Vector]:
        """Return slopes and offsets of the largest violation of each sample."""
        self.check_rescaling(rescaling)

        def plane(i: int) -> tuple[Vector, float]:
            labels = self._violate(w, X[i], Y[i].labels, LABEL_ITER).labels
            return self._joint(X[i], labels) - Y[i].feature, self._loss(Y[i].labels, labels)

        with one_blas_thread():
            planes = map_in_threads(plane, range(len(X)))
        return np.array([slope for slope, _ in planes]), np.array([offset for _, offset in planes])

    def batch_predict(self, w: ArrayLike, X: Sequence) -> list[Labels]:
        """Return the predicted labels of each sample."""
        w = self._phi.check_weights(w)
        samples = [self.sample(x) for x in by_position(X)]
        with one_blas_thread():
            return map_in_threads(lambda sample: self._predict(w, sample), samples)

    def sample(self, x: Any) -> GraphSample:
        """Return a checked sample, or raise a ValueError."""
        if not isinstance(x, (tuple, list)) or len(x) not in (2, 3):
            raise ValueError(
                f"sample of type {type(x).__name__}: expected (features, edges) or "
                "(features, edges, edge_features)"
            )
        features = self._phi.check_nodes(x[0])
        edges = check_edges(x[1], len(features))
        graph = flow_graph(edges, len(features))
        return GraphSample(
            features, graph, self._edge_features(x[2] if len(x) == 3 else None, edges), features.shape[:1]
        )

    def truth(self, sample: GraphSample, y: ArrayLike) -> GraphTruth:
        """Return checked true labels and their joint features, or raise a ValueError."""
        labels = self._truth(sample, y)
        return GraphTruth(labels, self._joint(sample, labels))

    def _edge_features(self, features: ArrayLike | None, edges: NDArray[np.int64]) -> Vector | None:
        """Return checked features of edges, non-negative if scores must be submodular."""
        features = self._phi.check_edge_features(features, len(edges))
        if self.submodular and features is not None and (features < 0).any():
            e, k = np.argwhere(features < 0)[0]
            raise ValueError(
                f"edge feature {k} of edge {e} is {features[e, k]}: expected non-negative edge features with "
                "submodular=True"
            )
        return features

    def _truth(self, sample: GraphSample, y: ArrayLike) -> Labels:
        y = self.check_shape(y, sample.shape)
        return check_labels(y.ravel(), y.size, self.n_states)

    def _joint(self, sample: GraphSample, labels: Labels) -> Vector:
        return self._phi(sample.features, sample.graph.edges, sample.edge_features, labels)

    def _pairwise(self, w: Vector, sample: GraphSample) -> Vector:
        """Return pairwise scores with a first axis for the edges, of length 1 if all share them."""
        pairwise = self._phi.pairwise(w, sample.edge_features)
        return self._phi.usable(pairwise, sample.features).reshape(-1, self.n_states, self.n_states)

    def _predict(self, w: Vector, sample: GraphSample) -> Labels:
        unary, pairwise = self._phi.unary(w, sample.features), self._pairwise(w, sample)
        return self._label(unary, pairwise, sample, LABEL_ITER).labels.reshape(sample.shape)

    def _violate(self, w: Vector, sample: GraphSample, truth: Labels, n_iter: int) -> Labeling:
        """Return the labeling of the highest sum of score and loss (thesis, eq. 2.17)."""
        unary = self._loss.augment(self._phi.unary(w, sample.features), truth)
        return self._label(unary, self._pairwise(w, sample), sample, n_iter)

    def _label(self, unary: Vector, pairwise: Vector, sample: GraphSample, n_iter: int) -> Labeling:
        """Return the labeling that the chosen method finds."""
        graph = sample.graph
        if self.inference == "lp":
            return relaxed_labeling(unary, pairwise, graph)
        if self.inference == "messages":
            return message_labeling(unary, pairwise, graph, BOUND_ITER, TOL)
        if self.inference == "auto" and graph.forest is not None:
            labels = np.zeros(len(unary), dtype=np.int64)
            max_sum(unary, graph.edges, pairwise, *graph.forest, labels)
            score = labeling_total(unary, graph.edges, pairwise, labels)
            return Labeling(labels, score, score)
        if self.inference == "cut" or self.exact:
            return cut_labeling(unary, pairwise, graph)
        if self.inference == "auto" and self.n_states == 2 and is_submodular(pairwise):
            return cut_labeling(unary, pairwise, graph)
        return expansion_labeling(unary, pairwise, graph, bound_iter=n_iter, tol=TOL)
