"""Joint features and potentials of a log-linear random field (thesis, eq. 2.19 to 2.26)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.validation import finite_matrix, real_array, whole_number
from ermlab.segmentation._joint_features_numba import add_edges, add_nodes
from ermlab.segmentation.potentials import LARGEST_POTENTIAL

Vector = NDArray[np.float64]
Edges = NDArray[np.int64]


class JointFeatures:
    """``phi(x, y) = (phi_u, phi_p)`` for weights ``w = (w_u, w_p)`` (thesis, eq. 2.25 and 2.26).

    ``w_u`` holds a row of ``n_features`` weights for each state (eq. 2.19). ``w_p`` holds a weight for each
    pair of states (eq. 2.20), or a row of weights if edges have features: for each ordered pair if
    ``directed``, else for each unordered pair in the order of `numpy.triu_indices`.

    Parameters
    ----------
    n_states, n_features : int
        Number of states and of features of a node.
    directed : bool, default=True
        Whether the potential of an edge depends on the order of its two nodes.
    n_edge_features : int, optional
        Number of features of an edge, by default none: the constant feature 1.
    """

    def __init__(
        self, n_states: int, n_features: int, *, directed: bool = True, n_edge_features: int | None = None
    ):
        self.n_states = whole_number("n_states", n_states, 2)
        self.n_features = whole_number("n_features", n_features, 1)
        self.n_edge_features = (
            None if n_edge_features is None else whole_number("n_edge_features", n_edge_features, 1)
        )
        k = self.n_states
        if directed:
            self.columns = np.arange(k * k).reshape(k, k)
        else:
            self.columns = np.zeros((k, k), dtype=np.int64)
            self.columns[np.triu_indices(k)] = np.arange(k * (k + 1) // 2)
            self.columns = np.maximum(self.columns, self.columns.T)
        self.n_unary = k * self.n_features
        self.n_pairs = int(self.columns.max()) + 1
        self.dimension = self.n_unary + self.n_pairs * (n_edge_features or 1)

    def check_weights(self, w: ArrayLike) -> Vector:
        """Return the weights as an array, or raise a ValueError."""
        w = real_array(w, "w")
        if w.shape != (self.dimension,) or not np.isfinite(w).all():
            raise ValueError(f"w has shape {w.shape}: expected ({self.dimension},), finite numbers")
        return w

    def check_nodes(self, features: ArrayLike) -> Vector:
        """Return the features of at least one node, or raise a ValueError."""
        features = np.ascontiguousarray(finite_matrix(features, "features", "(n_nodes, n_features)"))
        if len(features) < 1 or features.shape[1] != self.n_features:
            raise ValueError(
                f"features of nodes have shape {features.shape}: expected (n_nodes, {self.n_features}), at "
                "least one node"
            )
        return features

    def check_edge_features(self, features: ArrayLike | None, n_edges: int) -> Vector | None:
        """Return the features of all edges, or raise a ValueError."""
        if (features is None) != (self.n_edge_features is None):
            raise ValueError(
                f"edge features are {'missing' if features is None else 'given'}, n_edge_features is "
                f"{self.n_edge_features}: expected both or none"
            )
        if features is None:
            return None
        features = np.ascontiguousarray(
            finite_matrix(features, "edge features", "(n_edges, n_edge_features)")
        )
        if features.shape != (n_edges, self.n_edge_features):
            raise ValueError(
                f"edge features have shape {features.shape}: expected ({n_edges}, {self.n_edge_features})"
            )
        return features

    def __call__(
        self, features: Vector, edges: Edges, edge_features: Vector | None, labels: NDArray[np.int64]
    ) -> Vector:
        """Return ``phi(x, y)`` of checked arguments."""
        phi = np.zeros(self.dimension)
        add_nodes(phi[: self.n_unary].reshape(self.n_states, self.n_features), features, labels)
        if edge_features is None:
            edge_features = np.ones((len(edges), 1))
        add_edges(phi[self.n_unary :].reshape(self.n_pairs, -1), edges, edge_features, labels, self.columns)
        if not np.isfinite(phi).all():
            largest = max(np.abs(features).max(), np.abs(edge_features).max(initial=0.0))
            raise ValueError(f"features up to {largest:.3g} have sums that overflow: expected smaller ones")
        return phi

    def unary(self, w: Vector, features: Vector) -> Vector:
        """Return the score of each state of each node, ``<w_u, phi_u>``."""
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):  # checked next
            scores = features @ self.unary_weights(w).T
        return self.usable(np.ascontiguousarray(scores), features)

    def unary_weights(self, w: Vector) -> Vector:
        """Return ``w_u`` as a matrix with one row per state."""
        return w[: self.n_unary].reshape(self.n_states, self.n_features)

    def pairwise(self, w: Vector, edge_features: Vector | None = None) -> Vector:
        """Return the score of each pair of states, ``<w_p, phi_p>``, of all edges or of each edge."""
        weights = w[self.n_unary :].reshape(self.n_pairs, -1)
        if edge_features is None:
            return np.ascontiguousarray(weights[self.columns, 0])
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):  # checked next
            scores = edge_features @ weights.T
        return np.ascontiguousarray(self.usable(scores, edge_features)[:, self.columns])

    @staticmethod
    def usable(scores: Vector, features: Vector) -> Vector:
        """Return the scores, or raise a ValueError if their sums may overflow."""
        if scores.size and not max(scores.max(), -scores.min()) <= LARGEST_POTENTIAL:
            raise ValueError(
                f"features up to {np.abs(features).max():.3g} have scores that overflow: scale the features, "
                "for example with sklearn.preprocessing.StandardScaler"
            )
        return scores
