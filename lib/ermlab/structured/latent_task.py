"""Structured prediction with latent variables, and transformations as latent variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.saving import remembers_arguments
from ermlab.structured.equivariant import FiniteSet, Transformation
from ermlab.structured.task import Task, WrappedTask

Vector = NDArray[np.float64]


@runtime_checkable
class LatentTask(Protocol):
    """A prediction problem with compatibility ``max_h <w, joint_feature(x, y, h)>`` for a latent ``h``.

    Optional members are ``bounds`` and ``exact``, as for a `Task`; ``initial_latent(x, y)``, the first
    latent value of a sample; and ``max_loss``, the largest possible loss, by default 1, which is needed for
    slack rescaling only.
    """

    @property
    def dimension(self) -> int:
        """Length of ``w`` and of each joint feature."""

    def joint_feature(self, x: Any, y: Any, h: Any) -> Vector:
        """Return ``phi(x, y, h)``."""

    def loss(self, y: Any, z: Any) -> float:
        """Return the loss of predicting ``z`` where ``y`` is true: non-negative, 0 for ``y`` itself."""

    def complete(self, w: Vector, x: Any, y: Any) -> Any:
        """Return the latent value of the highest compatibility with the output ``y``."""

    def predict(self, w: Vector, x: Any) -> Any:
        """Return the output of the pair of output and latent value with the highest compatibility."""

    def most_violated(self, w: Vector, x: Any, y: Any, rescaling: str) -> tuple[Any, Any]:
        """Return the output ``z``, possibly ``y``, and the latent value ``h`` that maximize the violation.

        This is ``loss(y, z) + <w, phi(x, z, h)>`` for margin rescaling and, with
        ``r = max_h <w, phi(x, y, h)>``, ``loss(y, z) (1 + <w, phi(x, z, h)> - r)`` for slack rescaling.
        """


@runtime_checkable
class LatentBatchTask(LatentTask, Protocol):
    """A latent task with faster methods for all samples at once."""

    def prepare_batch(self, X: Any, Y: Any) -> tuple[Any, Any]:
        """Check a training set and return it as arguments of the other methods; called once."""

    def batch_violated(self, w: Vector, X: Any, Y: Any, rescaling: str) -> tuple[Vector, Vector]:
        """Return joint features (n, dimension) and losses (n,) of the most violated pair of each sample."""

    def batch_complete(self, w: Vector, X: Any, Y: Any) -> tuple[Sequence, Vector]:
        """Return the best latent value of each sample, and its joint features (n, dimension)."""


@remembers_arguments
class LatentTransformationTask(WrappedTask):
    """A task in which the transformation of the input, for example its pose, is a latent variable.

    The joint feature is ``phi(x, y, h) = phi(t_h x, t_h y)``: an output is as compatible with an input as it
    is after the best transformation. While `EquivariantTask` demands that the prediction is correct after
    *each* transformation, which is a convex problem, this task searches for the best one, also in predictions
    (equivariant structured SVM, section 1). The loss of the task must not change if both of its arguments are
    transformed.

    Parameters
    ----------
    task : Task
        The problem without transformations.
    transformations : sequence of Transformation
        The transformations, among them the identity. If outputs change with inputs, transformations need a
        method ``inverse_output`` that undoes ``output``.
    """

    def __init__(self, task: Task, transformations: Sequence[Transformation]):
        if not isinstance(task, Task):
            raise ValueError(f"task is {task!r}: expected a `Task`")
        self.task, self.transformations = task, FiniteSet(list(transformations))

    def joint_feature(self, x: Any, y: Any, h: int) -> Vector:
        """Return the joint feature after transformation ``h``."""
        t = self.transformations[h]
        return self.task.joint_feature(t.input(x), t.output(y))

    def loss(self, y: Any, z: Any) -> float:
        """Return the loss of the task."""
        return self.task.loss(y, z)

    def initial_latent(self, x: Any, y: Any) -> int:
        """Return the first transformation."""
        return 0

    def complete(self, w: Vector, x: Any, y: Any) -> int:
        """Return the transformation of the highest compatibility, the first of several."""
        return int(np.argmax([self._score(w, self.joint_feature(x, y, h)) for h in self._names]))

    def predict(self, w: Vector, x: Any) -> Any:
        """Return the best output after any transformation."""
        best, output = -np.inf, None
        for h in self._names:
            tx = self.transformations[h].input(x)
            z = self.task.predict(w, tx)
            score = self._score(w, self.task.joint_feature(tx, z))
            if score > best:
                best, output = score, self._original(h, z)
        return output

    def most_violated(self, w: Vector, x: Any, y: Any, rescaling: str) -> tuple[Any, int]:
        """Return the most violated output after any transformation, and the transformation."""
        if rescaling != "margin":
            raise ValueError(
                f"rescaling is {rescaling!r}: expected 'margin', since the task compares an output with the "
                "true one after the same transformation, not after the best one"
            )
        best, output, pose = -np.inf, y, 0
        for h in self._names:
            t = self.transformations[h]
            tx, ty = t.input(x), t.output(y)
            for z in (ty, self.task.most_violated(w, tx, ty, rescaling)):
                value = self.task.loss(ty, z) + self._score(w, self.task.joint_feature(tx, z))
                if value > best:
                    best, output, pose = value, y if z is ty else self._original(h, z), h
        return output, pose

    @property
    def _names(self) -> range:
        return range(len(self.transformations))

    def _score(self, w: Vector, feature: Vector) -> float:
        with np.errstate(over="ignore", invalid="ignore"):  # checked next
            score = float(np.sum(w * feature))
        if np.isnan(score):
            raise ValueError("the compatibility after a transformation is NaN: expected finite features")
        return score

    def _original(self, h: int, z: Any) -> Any:
        """Return the output before transformation ``h`` that is ``z`` after it."""
        t = self.transformations[h]
        if hasattr(t, "inverse_output"):
            return t.inverse_output(z)
        if not np.array_equal(t.output(z), z):
            raise ValueError(
                f"transformation {h} changes the output {z!r}: expected a method `inverse_output` of {t!r}"
            )
        return z
