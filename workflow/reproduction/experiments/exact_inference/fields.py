"""Small random fields, and the best of all their labelings by enumeration."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
#: Labelings of the largest field that is enumerated.
MOST_LABELINGS = 20_000


@dataclass(frozen=True)
class Field:
    """Unary scores, edges, and pairwise scores of each edge."""

    unary: Vector
    edges: NDArray[np.int64]
    pairwise: Vector  #: (edges, states, states)

    @property
    def magnitude(self) -> float:
        """The sum of the magnitudes of all potentials, to which errors are relative."""
        return float(np.abs(self.unary).sum() + np.abs(self.pairwise).sum())

    def labelings(self) -> NDArray[np.int64]:
        """Return all labelings, one per row."""
        n_nodes, n_states = self.unary.shape
        return np.indices((n_states,) * n_nodes).reshape(n_nodes, -1).T

    def scores(self, labelings: NDArray[np.int64]) -> Vector:
        """Return the score of each labeling (thesis, eq. 2.23)."""
        nodes = np.arange(len(self.unary))
        total = self.unary[nodes, labelings].sum(axis=1)
        first, second = labelings[:, self.edges[:, 0]], labelings[:, self.edges[:, 1]]
        return total + self.pairwise[np.arange(len(self.edges)), first, second].sum(axis=1)

    def best_score(self) -> float:
        """Return the highest score."""
        return float(self.scores(self.labelings()).max())

    def augmented(self, truth: NDArray[np.int64]) -> "Field":
        """Return the field whose scores include the Hamming loss (thesis, eq. 2.17)."""
        losses = np.full_like(self.unary, 1 / len(self.unary))
        losses[np.arange(len(truth)), truth] = 0
        return Field(self.unary + losses, self.edges, self.pairwise)


def draw_chain(rng: np.random.Generator) -> Field:
    """Draw a chain with any potentials."""
    n_nodes = int(rng.integers(2, 8))
    edges = np.column_stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)])
    return _field(rng, n_nodes, edges, n_states=int(rng.integers(2, 5)))


def draw_tree(rng: np.random.Generator) -> Field:
    """Draw a tree with any potentials: every node but the first is joined to an earlier one."""
    n_nodes = int(rng.integers(2, 8))
    edges = np.array([(rng.integers(node), node) for node in range(1, n_nodes)])
    return _field(rng, n_nodes, edges, n_states=int(rng.integers(2, 5)))


def draw_cyclic(rng: np.random.Generator) -> Field:
    """Draw a graph in which most pairs of nodes are joined, with three states and any potentials."""
    n_nodes = int(rng.integers(4, 8))
    return _field(rng, n_nodes, _random_edges(rng, n_nodes), n_states=3)


def draw_submodular(rng: np.random.Generator) -> Field:
    """Draw a binary graph with submodular potentials: equal states together score at least as high."""
    n_nodes = int(rng.integers(4, 11))
    field = _field(rng, n_nodes, _random_edges(rng, n_nodes), n_states=2)
    excess = field.pairwise[:, [0, 1], [1, 0]].sum(axis=1) - field.pairwise[:, [0, 1], [0, 1]].sum(axis=1)
    field.pairwise[:, 0, 0] += np.maximum(excess, 0)
    return field


def is_submodular(pairwise: Vector, tol: float = 1e-9) -> bool:
    """Return whether equal states together score at least as high as different ones, for every edge."""
    excess = pairwise[..., 0, 1] + pairwise[..., 1, 0] - pairwise[..., 0, 0] - pairwise[..., 1, 1]
    return bool((excess <= tol).all())


def _random_edges(rng: np.random.Generator, n_nodes: int) -> NDArray[np.int64]:
    pairs = np.array(list(combinations(range(n_nodes), 2)))
    return pairs[np.sort(rng.choice(len(pairs), size=max(n_nodes, 2 * len(pairs) // 3), replace=False))]


def _field(rng: np.random.Generator, n_nodes: int, edges: NDArray[np.int64], n_states: int) -> Field:
    # Pairwise scores are as strong as unary ones, so that neither decide alone.
    return Field(
        rng.normal(size=(n_nodes, n_states)), edges, rng.normal(size=(len(edges), n_states, n_states))
    )
