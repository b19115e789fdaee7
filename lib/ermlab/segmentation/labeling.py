"""Result of inference in a random field."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Labeling:
    """A labeling of the nodes of a graph, with a certificate.

    Attributes
    ----------
    labels : ndarray of shape (n_nodes,)
        The label of each node.
    score : float
        The score of the labeling (thesis, eq. 2.23).
    bound : float
        Upper bound on the score of every labeling, at least ``score``; equal to it if the labeling is known
        to be optimal.
    """

    labels: NDArray[np.int64]
    score: float
    bound: float

    @property
    def exact(self) -> bool:
        """Whether the labeling is known to be optimal."""
        return self.bound <= self.score
