"""What tasks that label the nodes of samples have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import check_choice
from ermlab.segmentation._hamming import HammingLoss
from ermlab.segmentation.potentials import check_labels
from ermlab.structured.task import RESCALINGS, by_position

Vector = NDArray[np.float64]


class LabelingTask:
    """Hamming loss, and training sets of checked samples whose planes are found one by one.

    A subclass has ``sample(x)``, ``truth(sample, y)`` and ``batch_planes(w, X, Y, rescaling)``.
    """

    n_states: int
    _loss: HammingLoss

    def loss(self, y: ArrayLike, z: ArrayLike) -> float:
        """Return the Hamming loss of predicting ``z`` where ``y`` is true."""
        y, z = np.asarray(y), np.asarray(z)
        if y.shape != z.shape:
            raise ValueError(f"labels of shapes {y.shape} and {z.shape}: expected the same shape")
        return self._loss(*(check_labels(labels.ravel(), y.size, self.n_states) for labels in (y, z)))

    def prepare_batch(self, X: Sequence, Y: Sequence) -> tuple[list[Any], list[Any]]:
        """Return checked samples and truths, or raise a ValueError that names the sample."""
        if len(X) != len(Y):
            raise ValueError(f"{len(X)} samples and {len(Y)} labelings: expected the same number")
        samples, truths = [], []
        for i, (x, y) in enumerate(zip(by_position(X), by_position(Y), strict=True)):
            try:
                samples.append(self.sample(x))
                truths.append(self.truth(samples[-1], y))
            except ValueError as error:
                raise ValueError(f"sample {i}: {error}") from error
        return samples, truths

    def batch_risk(self, w: Vector, X: list[Any], Y: list[Any], rescaling: str) -> tuple[float, Vector]:
        """Return the mean of the largest violations and a subgradient."""
        slopes, offsets = self.batch_planes(w, X, Y, rescaling)
        with np.errstate(over="ignore", invalid="ignore"):  # the solver rejects NaN and infinity
            values = (slopes * w).sum(axis=1) + offsets
            violated = values > 0
            return float(values[violated].sum()) / len(X), slopes[violated].sum(axis=0) / len(X)

    @staticmethod
    def check_shape(y: ArrayLike, shape: tuple[int, ...]) -> NDArray:
        """Return labels as an array of a shape, or raise a ValueError."""
        y = np.asarray(y)
        if y.shape != shape:
            raise ValueError(f"labels have shape {y.shape}: expected {shape}, that of the sample")
        return y

    @staticmethod
    def check_rescaling(rescaling: str) -> None:
        """Raise a ValueError unless the margin is rescaled."""
        check_choice("rescaling", rescaling, RESCALINGS)
        if rescaling == "slack":
            raise ValueError(
                "rescaling is 'slack': expected 'margin', since the product of loss and score joins all "
                "nodes of a graph, and is not tractable on graphs with cycles"
            )
