"""The risk of a structured SVM with latent variables, as a difference of convex functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.validation import check_choice, positive_number
from ermlab.structured._found_planes import FoundPlanes
from ermlab.structured.latent_task import LatentBatchTask, LatentTask
from ermlab.structured.task import RESCALINGS, is_exact, paired_samples

Vector = NDArray[np.float64]
# Slopes (n, dimension) and offsets (n,), one plane per sample.
SamplePlanes = tuple[Vector, Vector]


class LatentRisk:
    """The mean over samples of the slacks of `LatentSVM`, ``P - R`` with convex ``P`` and ``R``.

    For margin rescaling ``P`` is the mean of ``max_{z,h} loss(y, z) + <w, phi(x, z, h)>`` and ``R`` that of
    ``r = max_h <w, phi(x, y, h)>``. For slack rescaling and losses of at most ``L``, ``R`` is the mean of
    ``L r``, and ``P`` that of ``max_{z,h} loss(y, z) (1 + <w, phi(x, z, h)>) + (L - loss(y, z)) r``.

    Parameters
    ----------
    task : LatentTask
        The prediction problem.
    X, Y : sequence
        Inputs and true outputs.
    rescaling : {"margin", "slack"}, default="margin"
        The rescaling.
    n_parts : int, default=1
        Maximum number of parts of the risk with planes of their own, see `ermlab.optimize.minimize`.

    Attributes
    ----------
    convex, reward : callable
        ``P`` and ``R``, for `ermlab.optimize.cccp`.
    """

    def __init__(
        self, task: LatentTask, X: Sequence, Y: Sequence, rescaling: str = "margin", n_parts: int = 1
    ):
        check_choice("rescaling", rescaling, RESCALINGS)
        self.task, self.rescaling, self.dimension = task, rescaling, task.dimension
        X, Y = paired_samples(X, Y)
        self._X, self._Y = X, Y
        self._batch = task.prepare_batch(X, Y) if isinstance(task, LatentBatchTask) else None
        self._max_loss = positive_number("max_loss", getattr(task, "max_loss", 1.0))
        n, n_parts = len(X), min(n_parts, len(X))
        self._found = [] if is_exact(task) else [FoundPlanes(self.dimension) for _ in range(n)]
        self.convex = _Mean(self._convex_planes, n_parts, self.dimension)
        if self._found:
            self.convex.grows, self.convex.known = True, _Mean(self._known_planes, n_parts, self.dimension)
        self.reward = _Mean(self._reward_planes, n_parts, self.dimension)
        self._first: list | None = None
        if hasattr(task, "initial_latent"):
            self.start_with([task.initial_latent(x, y) for x, y in self._samples])

    def __len__(self) -> int:
        return len(self._X)

    def __call__(self, w: Vector) -> float:
        """Return the risk at ``w``."""
        return float(np.sum(self.convex(w)[0]) - np.sum(self.reward(w)[0]))

    def start_with(self, latent: Sequence) -> None:
        """Set the latent values at ``w = 0``, where all have the same compatibility."""
        self._first = list(latent)

    def complete(self, w: Vector) -> list:
        """Return the best latent value of each true output."""
        if self._batch is not None:
            return list(self.task.batch_complete(w, *self._batch)[0])
        return [self.task.complete(w, x, y) for x, y in self._samples]

    @property
    def _samples(self) -> Sequence[tuple]:
        return list(zip(self._X, self._Y, strict=True))

    def _true_features(self, w: Vector) -> Vector:
        """Return ``phi(x, y, h)`` for the best latent value of each sample."""
        if self._batch is not None:
            return self.task.batch_complete(w, *self._batch)[1]
        return self._features([(y, self.task.complete(w, x, y)) for x, y in self._samples])

    def _features(self, pairs: Sequence[tuple]) -> Vector:
        """Return the joint feature of an output and a latent value for each sample."""
        features = [self.task.joint_feature(x, z, h) for x, (z, h) in zip(self._X, pairs, strict=True)]
        for i, feature in enumerate(features):
            if np.shape(feature) != (self.dimension,) or not np.isfinite(feature).all():
                raise ValueError(
                    f"the joint feature of sample {i} has shape {np.shape(feature)}: expected "
                    f"({self.dimension},) and finite numbers"
                )
        return np.array(features, dtype=np.float64)

    def _violated(self, w: Vector) -> SamplePlanes:
        """Return joint features and losses of the most violated pair of each sample."""
        if self._batch is not None:
            return self.task.batch_violated(w, *self._batch, self.rescaling)
        pairs = [self.task.most_violated(w, x, y, self.rescaling) for x, y in self._samples]
        losses = [self.task.loss(y, z) for y, (z, _) in zip(self._Y, pairs, strict=True)]
        return self._features(pairs), np.array(losses, dtype=np.float64)

    def _convex_planes(self, w: Vector) -> SamplePlanes:
        slopes, losses = self._violated(w)
        if self.rescaling == "slack":
            slopes, losses = self._slack_planes(w, slopes, losses)
        if not self._found:
            return slopes, losses
        for found, slope, loss in zip(self._found, slopes, losses, strict=True):
            found.add(slope, float(loss))
        return self._known_planes(w)

    def _slack_planes(self, w: Vector, slopes: Vector, losses: Vector) -> SamplePlanes:
        if (largest := losses.max()) > self._max_loss:
            raise ValueError(
                f"a loss is {largest}: expected at most {self._max_loss}, or a larger `max_loss` of the task"
            )
        true = self._true_features(w)
        with one_blas_thread():
            losses = np.where(1.0 + (slopes - true) @ w > 0, losses, 0.0)  # 0: that of the true output
        return losses[:, None] * slopes + (self._max_loss - losses)[:, None] * true, losses

    def _known_planes(self, w: Vector) -> SamplePlanes:
        slopes, offsets = zip(*(found.highest(w) for found in self._found), strict=True)
        return np.array(slopes), np.array(offsets)

    def _reward_planes(self, w: Vector) -> SamplePlanes:
        at_start = self._first is not None and not w.any()
        true = (
            self._features(list(zip(self._Y, self._first, strict=True)))
            if at_start
            else self._true_features(w)
        )
        return (self._max_loss * true if self.rescaling == "slack" else true), np.zeros(len(self))


class _Mean:
    """Mean of the planes of all samples, as a sum of parts; sample ``i`` belongs to part ``i % n_parts``."""

    grows = False

    def __init__(self, planes_at: Callable[[Vector], SamplePlanes], n_parts: int, dimension: int):
        self._planes_at, self.n_parts, self.dimension = planes_at, n_parts, dimension

    def __call__(self, w: Vector) -> tuple[Vector, Vector]:
        """Return value and slope of each part at ``w``."""
        A, b = self._planes_at(w)
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):  # checked by the solver
            heights = A @ w + b
            parts = range(self.n_parts)
            values = np.array([heights[part :: self.n_parts].sum() for part in parts]) / len(b)
            slopes = np.array([A[part :: self.n_parts].sum(axis=0) for part in parts]) / len(b)
        return values, slopes
