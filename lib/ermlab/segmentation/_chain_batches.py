"""Chains in one array, for kernels that work on all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ermlab.segmentation._hamming import HammingLoss
from ermlab.segmentation.potentials import check_labels

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Chains:
    """Features of the nodes of all chains, from ``starts[c]`` to ``starts[c + 1]`` those of chain ``c``."""

    features: Vector
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, c: int) -> Vector:
        return self.features[self.starts[c] : self.starts[c + 1]]


@dataclass(frozen=True, eq=False)
class ChainLabels:
    """True labels of the nodes of all chains, and the loss of a wrong label for each node."""

    labels: NDArray[np.int64]
    weights: Vector
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, c: int) -> NDArray[np.int64]:
        return self.labels[self.starts[c] : self.starts[c + 1]]


def gather_chains(X: Sequence, check: Callable[[object], Vector]) -> Chains:
    """Return all chains in one array; ``check`` returns the features of one or raises a ValueError."""
    chains = []
    for c in range(len(X)):
        try:
            chains.append(check(X[c]))
        except ValueError as error:
            raise ValueError(f"chain {c}: {error}") from error
    if not chains:
        raise ValueError("no chains: expected at least one")
    starts = np.concatenate([[0], np.cumsum([len(chain) for chain in chains])])
    return Chains(np.concatenate(chains), starts)


def gather_labels(Y: Sequence, starts: NDArray[np.int64], loss: HammingLoss) -> ChainLabels:
    """Return the true labels of all chains in one array, or raise a ValueError."""
    labels, weights = [], []
    for c in range(len(starts) - 1):
        try:
            truth = check_labels(Y[c], int(starts[c + 1] - starts[c]), len(loss.weights))
        except ValueError as error:
            raise ValueError(f"chain {c}: {error}") from error
        labels.append(truth)
        weights.append(loss.node_weights(truth))
    return ChainLabels(np.concatenate(labels), np.concatenate(weights), starts)
