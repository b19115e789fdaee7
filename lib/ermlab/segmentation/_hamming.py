"""Hamming loss of a labeling (thesis, section 2.3.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import real_array, whole_number

Vector = NDArray[np.float64]
# Losses up to this size can be multiplied with margins and weights, and summed, without overflow.
LARGEST_WEIGHT = 1e100


class HammingLoss:
    """``sum_i class_weight[y_i] [y_i != z_i] / n``, the fraction of wrong nodes if all weights are 1.

    The sum, and the number ``n``, are over the nodes whose true label is not ``ignore_label``. The loss is 0
    if there are none.

    Parameters
    ----------
    n_states : int
        Number of labels.
    class_weight : array-like of shape (n_states,), optional
        Non-negative weight of the nodes of each true label, by default 1. The loss may exceed 1 with it.
    ignore_label : int, optional
        One of the labels. Nodes of this true label are never wrong.
    """

    def __init__(self, n_states: int, class_weight: ArrayLike | None = None, ignore_label: int | None = None):
        self.weighted = class_weight is not None
        weights = (
            np.ones(n_states) if class_weight is None else np.array(real_array(class_weight, "class_weight"))
        )
        if weights.shape != (n_states,) or not ((weights >= 0) & (weights <= LARGEST_WEIGHT)).all():
            raise ValueError(
                f"class_weight is {class_weight}: expected {n_states} numbers from 0 to {LARGEST_WEIGHT:.3g}"
            )
        self.ignore_label = None if ignore_label is None else whole_number("ignore_label", ignore_label, 0)
        if self.ignore_label is not None:
            if self.ignore_label >= n_states:
                raise ValueError(f"ignore_label is {ignore_label}: expected a label from 0 to {n_states - 1}")
            weights[self.ignore_label] = 0.0
        self.weights = weights

    def __call__(self, truth: NDArray[np.int64], labels: NDArray[np.int64]) -> float:
        """Return the loss of ``labels`` where ``truth`` is true; both have one entry per node."""
        return float(np.sum(self.node_weights(truth)[truth != labels]))

    def node_weights(self, truth: NDArray[np.int64]) -> Vector:
        """Return the loss of a wrong label for each node."""
        n_counted = truth.size
        if self.ignore_label is not None:
            n_counted -= int(np.count_nonzero(truth == self.ignore_label))
        return self.weights[truth] / max(n_counted, 1)

    def augment(self, unary: Vector, truth: NDArray[np.int64]) -> Vector:
        """Return ``unary`` plus the loss of each label, for loss-augmented inference (thesis, eq. 2.17)."""
        nodes = np.arange(len(truth))
        augmented = unary + self.node_weights(truth)[:, None]
        augmented[nodes, truth] = unary[nodes, truth]
        return augmented
