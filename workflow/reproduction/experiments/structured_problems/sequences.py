"""A biological sequence: which parts of a strand of DNA are CpG islands, the places where genes begin."""

import numpy as np
from numpy.typing import NDArray

from ermlab.segmentation import max_sum_chain

BASES = "ACGT"
STATES = ("background", "island")
#: Probability of the next base after A, C, G and T, outside and inside of islands (Durbin et al.,
#: Biological sequence analysis, 1998, chapter 3: C followed by G is rare outside).
EMISSION = np.array(
    [
        [
            [0.300, 0.205, 0.285, 0.210],
            [0.322, 0.298, 0.078, 0.302],
            [0.248, 0.246, 0.298, 0.208],
            [0.177, 0.239, 0.292, 0.292],
        ],
        [
            [0.180, 0.274, 0.426, 0.120],
            [0.171, 0.368, 0.274, 0.188],
            [0.161, 0.339, 0.375, 0.125],
            [0.079, 0.355, 0.384, 0.182],
        ],
    ]
)
#: Probability that an island begins or ends at a position.
BEGIN, END = 0.01, 0.02
LENGTH = 200
N_FEATURES = len(BASES) ** 2 + 1

Labels = NDArray[np.int64]
Vector = NDArray[np.float64]


class SequenceTask:
    """Sequences with one label per position; ``x`` has one row of features per position.

    With ``interactions`` the features also count which label follows which (thesis, eq. 2.20). The loss is
    the share of wrong labels.
    """

    def __init__(self, n_states: int, n_features: int, interactions: bool = True):
        self.n_states, self.n_features, self.interactions = n_states, n_features, interactions

    @property
    def dimension(self) -> int:
        """Length of ``w``."""
        return self.n_states * (self.n_features + self.n_states * self.interactions)

    def joint_feature(self, x: Vector, y: Labels) -> Vector:
        """Return the sums of features by label, and the counts of pairs of successive labels."""
        unary = np.eye(self.n_states)[:, y] @ x
        if not self.interactions:
            return unary.ravel()
        pairs = np.bincount(self.n_states * y[:-1] + y[1:], minlength=self.n_states**2)
        return np.concatenate([unary.ravel(), pairs])

    def loss(self, y: Labels, z: Labels) -> float:
        """Return the share of positions where the labels differ."""
        return float(np.mean(y != z))

    def predict(self, w: Vector, x: Vector) -> Labels:
        """Return the best labels, by dynamic programming."""
        return max_sum_chain(*self._potentials(w, x)).labels

    def most_violated(self, w: Vector, x: Vector, y: Labels, rescaling: str) -> Labels:
        """Return the labels with the highest sum of score and loss, which is a sum over positions."""
        if rescaling != "margin":
            raise ValueError(f"rescaling is {rescaling!r}: expected 'margin'")
        unary, pairs = self._potentials(w, x)
        augmented = unary + (y[:, None] != np.arange(self.n_states)) / len(y)
        return max_sum_chain(augmented, pairs).labels

    def _potentials(self, w: Vector, x: Vector) -> tuple[Vector, Vector]:
        n_unary, shape = self.n_states * self.n_features, (self.n_states, self.n_states)
        pairs = w[n_unary:].reshape(shape) if self.interactions else np.zeros(shape)
        return x @ w[:n_unary].reshape(self.n_states, self.n_features).T, pairs


def draw(rng: np.random.Generator, n: int) -> tuple[list[Vector], list[Labels]]:
    """Draw strands of DNA from a hidden Markov model, with the true states."""
    inputs, labels = [], []
    for _ in range(n):
        y, bases = [0], [int(rng.integers(len(BASES)))]
        while len(y) < LENGTH:
            y.append(int(rng.random() < (1 - END if y[-1] else BEGIN)))
            next_base = np.cumsum(EMISSION[y[-1]][bases[-1]])
            bases.append(int(np.searchsorted(next_base, rng.random() * next_base[-1])))
        inputs.append(features(np.array(bases)))
        labels.append(np.array(y))
    return inputs, labels


def features(bases: Labels) -> Vector:
    """Return indicators of the pair of each base and the one before it, and a constant."""
    pairs = np.zeros((len(bases), N_FEATURES))
    pairs[np.arange(1, len(bases)), bases[:-1] * len(BASES) + bases[1:]] = 1
    pairs[:, -1] = 1
    return pairs
