"""Problems of any size on which the ranking oracle is tried and timed."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ermlab.ranking.oracle import most_violated

CHUNK = 1_000_000


@dataclass(frozen=True)
class PairSums:
    """A constraint and how it was reached, for comparison."""

    alpha: NDArray[np.float64]
    delta: float

    def difference(self, other: "PairSums") -> float:
        """Return the largest difference of any number, as a share of the largest number."""
        largest = max(1.0, float(np.abs(self.alpha).max()), abs(self.delta))
        return max(float(np.abs(self.alpha - other.alpha).max()), abs(self.delta - other.delta)) / largest


def oracle_sums(losses: NDArray, scores: NDArray, rescaling: str, threshold: float | None) -> PairSums:
    """Return the constraint of the oracle; without a threshold that of the complete graph."""
    graph = "complete" if threshold is None else "bipartite"
    return PairSums(*most_violated(losses, scores, rescaling=rescaling, graph=graph, threshold=threshold))


def brute_force_sums(losses: NDArray, scores: NDArray, rescaling: str, threshold: float | None) -> PairSums:
    """Return the same by looking at all pairs (thesis, eq. 3.11 and 3.12)."""
    difference = losses - losses[:, None]
    violated = difference > 0
    if threshold is not None:
        violated &= (losses <= threshold)[:, None] & (losses > threshold)
    if rescaling == "slack":
        violated &= scores[:, None] < scores + 1
        weight = violated * difference
    else:
        violated &= scores[:, None] - scores < difference
        weight = violated.astype(float)
    return PairSums(weight.sum(axis=1) - weight.sum(axis=0), float((violated * difference).sum()))


def random_losses_and_scores(n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return losses in [0, 1), all different, and scores that follow them but for noise."""
    rng = np.random.default_rng(seed)
    losses = rng.random(n)
    return losses, rng.normal(size=n) - 2 * losses


def fill_planted_problem(X: NDArray, losses: NDArray[np.float64], seed: int) -> None:
    """Fill in Gaussian features, and losses in (0, 1) that fall with a linear score plus noise of its size.

    Made chunk by chunk, so that memory-mapped files can be filled.
    """
    n, d = X.shape
    w = np.random.default_rng(seed).normal(size=d)
    w /= np.linalg.norm(w)
    for number, start in enumerate(range(0, n, CHUNK)):
        rng = np.random.default_rng([seed, number])
        rows = slice(start, min(start + CHUNK, n))
        chunk = rng.normal(size=(rows.stop - start, d))
        X[rows] = chunk
        losses[rows] = 1 / (1 + np.exp(chunk @ w + rng.normal(size=len(chunk))))


def best_seconds(repeats: int, *actions: Callable[[], object]) -> list[float]:
    """Return the shortest time of each action; they take turns, so that a busy machine hits all alike."""
    best = [np.inf] * len(actions)
    for _ in range(repeats):
        for k, action in enumerate(actions):
            began = time.perf_counter()
            action()
            best[k] = min(best[k], time.perf_counter() - began)
    return best
