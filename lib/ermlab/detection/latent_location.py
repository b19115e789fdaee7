"""Location of an object whose pose is a latent variable, the foil of the equivariant task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.detection.location import LocationBatch, LocationTask, RegionRotation
from ermlab.features.patches import Region
from ermlab.kernels.slot import score_windows
from ermlab.structured.latent_task import LatentTransformationTask

Vector = NDArray[np.float64]


class LatentLocationTask(LatentTransformationTask):
    """A `LocationTask` whose latent variable is the rotation of the region, for all samples at once.

    Parameters
    ----------
    task : LocationTask
        The task.
    transformations : sequence of RegionRotation
        Rotations, including the identity.
    """

    def __init__(self, task: LocationTask, transformations: Sequence[RegionRotation]):
        super().__init__(task, transformations)

    def prepare_batch(
        self, X: Sequence[Region], Y: Sequence[ArrayLike]
    ) -> tuple[LocationBatch, Sequence[ArrayLike]]:
        """Collect a training set with all rotations of each sample."""
        return self.task.versions_batch(self.transformations, X, Y), Y

    def batch_violated(
        self, w: Vector, X: LocationBatch, Y: Sequence, rescaling: str
    ) -> tuple[Vector, Vector]:
        """Return joint features and losses of the most violated location and rotation of each sample."""
        if rescaling != "margin":
            raise ValueError(f"rescaling is {rescaling!r}: expected 'margin'")
        values = self._scores(w, X) + X.wrong
        best = values.reshape(len(X), -1).argmax(axis=1)
        samples = np.arange(len(X))
        places = np.column_stack(np.unravel_index(best, values.shape[1:]))
        losses = X.wrong[(samples, *places.T)].astype(np.float64)
        # The answer "no location" has score 0, and is wrong if there is an object.
        nowhere = values[(samples, *places.T)] < ~X.empty
        losses[nowhere] = ~X.empty[nowhere]
        return self._features(X, places, ~nowhere), losses

    def batch_complete(self, w: Vector, X: LocationBatch, Y: Sequence) -> tuple[list[int], Vector]:
        """Return the best rotation of each sample for its true location, and its joint features."""
        samples, versions = np.indices(X.truth.shape[:2])
        scores = self._scores(w, X)[samples, versions, X.truth[..., 0], X.truth[..., 1]]
        scores[X.empty] = 0.0
        best = scores.argmax(axis=1)
        places = np.column_stack([best, X.truth[np.arange(len(X)), best]])
        return best.tolist(), self._features(X, places, ~X.empty)

    def _scores(self, w: Vector, batch: LocationBatch) -> Vector:
        return score_windows(w, batch.stack, batch.slots, self.task.slots.window).astype(np.float64)

    def _features(
        self, batch: LocationBatch, places: NDArray[np.int64], located: NDArray[np.bool_]
    ) -> Vector:
        """Return the joint feature of a rotation, row and column of each sample; 0 without a location."""
        features = np.zeros((len(batch), self.task.slots.n_slots, self.dimension // self.task.slots.n_slots))
        height, width = self.task.slots.window
        for i in np.flatnonzero(located):
            version, row, column = places[i]
            window = batch.stack[i, version, row : row + height, column : column + width]
            features[i, batch.slots[i, version, row, column]] = np.append(window.ravel(), 1.0)
        return features.reshape(len(batch), -1)
