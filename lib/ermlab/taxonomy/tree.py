"""Taxonomies: trees whose leaves are classes, their covariances and their metrics (thesis, section 5.2).

A tree with partition matrix V and edge lengths D defines a covariance ``B = V D V'`` of the classes
(Definition 5.2.2) and their distances (Theorem 5.2.4). B depends on the position of the root; the distances
and the centered covariance do not (Theorem 5.2.5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import real_array, whole_number
from ermlab.taxonomy._newick import format_newick, parse_newick
from ermlab.taxonomy.tree_matrices import LARGEST, Matrix


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A rooted tree whose leaves are classes.

    Parameters
    ----------
    parents : array-like of int, of shape (n_nodes,)
        Parent of each node, -1 at the root.
    lengths : array-like of shape (n_nodes,)
        Non-negative length of the edge above each node; that of the root is an edge above it, as in the first
        column of V.
    names : tuple of str
        Names of the leaves, the nodes without children, in the order of their numbers.
    inner_names : tuple of str, default=()
        Names of the other nodes in the order of their numbers, or none.
    """

    parents: NDArray[np.int64]
    lengths: Matrix
    names: tuple[str, ...]
    inner_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parents, lengths = _checked_parents(self.parents), _checked_lengths(self.lengths)
        if lengths.shape != parents.shape:
            raise ValueError(f"{len(lengths)} lengths of {len(parents)} nodes: expected one for each node")
        for name, value in (("parents", parents), ("lengths", lengths)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "names", _checked_names(self.names, self.n_leaves))
        object.__setattr__(self, "inner_names", tuple(str(name) for name in self.inner_names))
        n_inner = len(parents) - self.n_leaves
        if self.inner_names and len(self.inner_names) != n_inner:
            raise ValueError(f"{len(self.inner_names)} inner_names: expected {n_inner}, or none")

    @classmethod
    def from_newick(cls, text: str) -> Self:
        """Read a tree in the Newick format; edges without a length have length 1."""
        parents, lengths, names = parse_newick(text)
        inner = set(parents)
        leaves = tuple(name for node, name in enumerate(names) if node not in inner)
        others = tuple(name for node, name in enumerate(names) if node in inner)
        return cls(np.array(parents), np.array(lengths), leaves, others if any(others) else ())

    def to_newick(self) -> str:
        """Return the tree in the Newick format, which `from_newick` reads."""
        names = [""] * len(self.parents)
        for node, name in zip(self.leaves, self.names, strict=True):
            names[node] = name
        for node, name in zip(self.inner, self.inner_names, strict=False):
            names[node] = name
        return format_newick(self.parents.tolist(), self.lengths.tolist(), names)

    @cached_property
    def leaves(self) -> NDArray[np.int64]:
        """Numbers of the nodes without children."""
        return np.setdiff1d(np.arange(len(self.parents)), self.parents)

    @cached_property
    def inner(self) -> NDArray[np.int64]:
        """Numbers of the nodes with children."""
        return np.unique(self.parents[self.parents >= 0])

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaves)

    @property
    def root(self) -> int:
        """Number of the root."""
        return int(np.flatnonzero(self.parents < 0)[0])

    def children(self, node: int) -> list[int]:
        """Return the numbers of a node's children."""
        return np.flatnonzero(self.parents == node).tolist()

    def path_up(self, node: int) -> list[int]:
        """Return the nodes from this one to the root, both included."""
        path = [int(node)]
        while (parent := int(self.parents[path[-1]])) >= 0:
            path.append(parent)
        return path

    def partition_matrix(self) -> Matrix:
        """Return V, (n_leaves, n_nodes): 1 if the edge above a node lies on the path from the root to a leaf.

        For a binary tree it has the partition property (Definition 5.2.1).
        """
        V = np.zeros((self.n_leaves, len(self.parents)))
        for row, leaf in enumerate(self.leaves):
            V[row, self.path_up(leaf)] = 1
        return V

    def covariance(self) -> Matrix:
        """Return ``B = V D V'``, the length of the common path of two leaves from the root (Lemma 1)."""
        V = self.partition_matrix()
        return (V * self.lengths) @ V.T

    def metric(self) -> Matrix:
        """Return the length of the path between each pair of leaves."""
        V = self.partition_matrix()
        # Sums of lengths lose no digits; row by row to save memory.
        return np.array([np.abs(row - V) @ self.lengths for row in V])

    def with_lengths(self, lengths: ArrayLike) -> Self:
        """Return the same tree with other edge lengths."""
        return replace(self, lengths=lengths)

    def permuted(self, order: ArrayLike) -> Self:
        """Return the tree in which leaf i, with its name, takes the position of leaf ``order[i]``.

        The covariance becomes ``B[order][:, order]``.
        """
        order = np.asarray(order)
        if order.shape != (self.n_leaves,) or set(order.tolist()) != set(range(self.n_leaves)):
            raise ValueError(f"order is {order.tolist()}: expected the numbers 0 to {self.n_leaves - 1}")
        order = order.astype(np.int64)
        parents, lengths = self.parents.copy(), self.lengths.copy()
        parents[self.leaves] = self.parents[self.leaves[order]]
        lengths[self.leaves] = self.lengths[self.leaves[order]]
        return replace(self, parents=parents, lengths=lengths)

    def ordered(self, names: Sequence[str]) -> Self:
        """Return the same tree with the leaves in the order of ``names``."""
        if sorted(names) != sorted(self.names):
            differing = sorted(set(names) ^ set(self.names))
            raise ValueError(f"names differ from those of the leaves in {differing}: expected the same ones")
        places = {name: place for place, name in enumerate(self.names)}
        return replace(self.permuted([places[name] for name in names]), names=tuple(names))

    def restricted(self, names: Sequence[str]) -> Self:
        """Return the tree of the named leaves, in this order, without inner nodes with one child."""
        names = list(names)
        unknown = sorted(set(names) - set(self.names))
        if unknown or not names:
            raise ValueError(f"names has {unknown or 'no leaf'}: expected some of {', '.join(self.names)}")
        used = self.partition_matrix()[[self.names.index(name) for name in names]].any(axis=0)
        parents, lengths = self.parents.tolist(), self.lengths.tolist()
        inner_names = dict(zip(self.inner.tolist(), self.inner_names, strict=False))
        dropped = np.flatnonzero(~used).tolist()
        for node in self.inner[used[self.inner]].tolist():
            below = np.flatnonzero(used).tolist()
            children = [child for child in below if parents[child] == node and child not in dropped]
            if len(children) == 1 and node != self.root:
                parents[children[0]] = parents[node]
                lengths[children[0]] += lengths[node]
                dropped.append(node)
        parents, lengths = _without_nodes(parents, lengths, dropped)
        kept = tuple(name for node, name in inner_names.items() if node not in dropped)
        leaves = tuple(name for name in self.names if name in set(names))
        return replace(self, parents=parents, lengths=lengths, names=leaves, inner_names=kept).ordered(names)

    def rerooted(self, node: int, above: float = 0.0) -> Self:
        """Return the tree with its root at a node, or on the edge above it; inner names are dropped.

        Parameters
        ----------
        node : int
            A leaf stays a leaf, below the new root.
        above : float, default=0.0
            Position of the root on the edge above the node, as a share of its length.
        """
        if whole_number("node", node, 0) >= len(self.parents):
            raise ValueError(f"node is {node}: expected 0 to {len(self.parents) - 1}")
        node = int(node)
        if not 0 <= above <= 1:
            raise ValueError(f"above is {above}: expected a share of the edge, 0 to 1")
        if node == self.root:
            return replace(self, inner_names=())
        parents, lengths = self.parents.tolist(), self.lengths.tolist()
        start = node
        if above > 0 or node in self.leaves:
            start = len(parents)
            parents.append(parents[node])
            lengths.append((1 - above) * lengths[node])
            parents[node], lengths[node] = start, above * lengths[node]
        before, length = -1, lengths[self.root]
        step = start
        while step >= 0:
            following, its_length = parents[step], lengths[step]
            parents[step], lengths[step] = before, length
            before, length, step = step, its_length, following
        parents, lengths = _without_joint(parents, lengths, self.root)
        return replace(self, parents=parents, lengths=lengths, inner_names=())

    def rooted_in_the_middle(self) -> Self:
        """Return the tree with its root in the middle of the longest path between two leaves."""
        M = self.metric()
        i, j = np.unravel_index(M.argmax(), M.shape)
        up, down = self.path_up(self.leaves[i]), self.path_up(self.leaves[j])
        if self.lengths[list(set(up) - set(down))].sum() < M[i, j] / 2:
            up, down = down, up
        left = M[i, j] / 2
        for node in (node for node in up if node not in down):
            if left <= self.lengths[node]:
                return self.rerooted(node, left / self.lengths[node] if self.lengths[node] else 0.0)
            left -= self.lengths[node]
        return self.rerooted(next(node for node in up if node in down))  # the middle up to rounding

    def collapsed(self, shortest: float = 0.0) -> Self:
        """Return the tree without inner edges of at most this length."""
        parents, lengths = self.parents.tolist(), self.lengths.tolist()
        dropped = [n for n in self.inner.tolist() if n != self.root and lengths[n] <= shortest]
        for node in dropped:
            parents = [parents[node] if parent == node else parent for parent in parents]
        names = [n for i, n in zip(self.inner, self.inner_names, strict=False) if i not in dropped]
        parents, lengths = _without_nodes(parents, lengths, dropped)
        return replace(self, parents=parents, lengths=lengths, inner_names=tuple(names))

    def splits(self) -> set[frozenset[str]]:
        """Return the splits of the leaves by the inner edges of positive length, independent of the root.

        A split is the side without the first leaf name in alphabetical order; single leaves are left out.
        """
        first, all_names = min(self.names), frozenset(self.names)
        V = self.partition_matrix() > 0
        sides = (
            frozenset(np.array(self.names)[V[:, node]].tolist()) for node in np.flatnonzero(self.lengths)
        )
        splits = {all_names - side if first in side else side for side in sides}
        return {side for side in splits if 2 <= len(side) <= len(all_names) - 2}


def robinson_foulds(a: Taxonomy, b: Taxonomy) -> float:
    """Compute the normalized Robinson-Foulds distance: the share of splits that only one of two trees has.

    It is 0 for the same topology. Roots and edges of length 0 are ignored.
    """
    if sorted(a.names) != sorted(b.names):
        differing = sorted(set(a.names) ^ set(b.names))
        raise ValueError(f"leaves differ in {differing}: expected trees of the same classes")
    splits_a, splits_b = a.splits(), b.splits()
    return len(splits_a ^ splits_b) / max(len(splits_a) + len(splits_b), 1)


def shuffled(taxonomy: Taxonomy, count: int, random_state: int | Sequence[int]) -> list[Taxonomy]:
    """Return copies of a tree with randomly permuted leaves, as controls."""
    rng = np.random.default_rng(random_state)
    return [taxonomy.permuted(rng.permutation(taxonomy.n_leaves)) for _ in range(count)]


def _checked_parents(parents: ArrayLike) -> NDArray[np.int64]:
    parents = np.array(parents)
    if parents.ndim != 1 or len(parents) == 0 or not np.issubdtype(parents.dtype, np.integer):
        raise ValueError(
            f"parents of shape {parents.shape}, type {parents.dtype}: expected (nodes,) integers"
        )
    bad = (parents < -1) | (parents >= len(parents))
    if bad.any():
        node = int(bad.argmax())
        raise ValueError(f"the parent of node {node} is {parents[node]}: expected -1 to {len(parents) - 1}")
    roots = np.flatnonzero(parents == -1)
    if len(roots) == 0:
        raise ValueError("no node has the parent -1: expected a root")
    if len(roots) > 1:
        raise ValueError(f"nodes {roots.tolist()} have the parent -1: expected one root")
    # Ancestors 1, 2, 4, ... steps up are above the root unless there is a cycle.
    above = parents
    for _ in range(len(parents).bit_length()):
        above = np.where(above >= 0, above[above], -1)
    if (above >= 0).any():
        raise ValueError(f"node {int((above >= 0).argmax())} lies in or below a cycle: expected a tree")
    return parents.astype(np.int64)


def _checked_lengths(lengths: ArrayLike) -> Matrix:
    lengths = np.array(real_array(lengths, "lengths"))
    if lengths.ndim != 1:
        raise ValueError(f"lengths has shape {lengths.shape}: expected one for each node")
    bad = ~(np.isfinite(lengths) & (lengths >= 0))
    if bad.any():
        node = int(bad.argmax())
        raise ValueError(f"the length above node {node} is {lengths[node]}: expected a finite number from 0")
    with np.errstate(over="ignore"):
        total = lengths.sum()
    if total > LARGEST:
        raise ValueError(f"the lengths sum to {total:.3g}: expected at most {LARGEST:g}, scale them down")
    return lengths


def _checked_names(names: Sequence[str], n_leaves: int) -> tuple[str, ...]:
    names = tuple(str(name) for name in names)
    if len(names) != n_leaves:
        raise ValueError(f"{len(names)} names of {n_leaves} leaves: expected one for each leaf")
    if "" in names:
        raise ValueError(f"leaf {names.index('')} has an empty name: expected a name for each leaf")
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"several leaves are named {', '.join(twice)}: expected different names")
    return names


def _without_joint(parents: list[int], lengths: list[float], node: int) -> tuple[NDArray[np.int64], Matrix]:
    """Remove a former root if it has fewer than two children now."""
    children = [child for child, parent in enumerate(parents) if parent == node]
    if len(children) > 1:
        return np.array(parents), np.array(lengths)
    for child in children:
        parents[child] = parents[node]
        lengths[child] += lengths[node]
    return _without_nodes(parents, lengths, [node])


def _without_nodes(
    parents: list[int], lengths: list[float], dropped: list[int]
) -> tuple[NDArray[np.int64], Matrix]:
    """Renumber the nodes after ``dropped`` ones, which have no children, are removed."""
    kept = [node for node in range(len(parents)) if node not in dropped]
    numbers = {node: number for number, node in enumerate(kept)} | {-1: -1}
    return np.array([numbers[parents[node]] for node in kept]), np.array([lengths[node] for node in kept])
