"""What a structured prediction problem has to provide (thesis, section 2.3.1), and optional extensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ermlab.optimize import BlockDual

RESCALINGS = ("margin", "slack")
Vector = NDArray[np.float64]


@runtime_checkable
class Task(Protocol):
    """A structured prediction problem with compatibility ``<w, joint_feature(x, y)>`` (thesis, eq. 2.12).

    Three further members are optional:

    - ``bounds``, a pair of vectors: lower and upper bounds of the weights, possibly infinite, or None.
    - ``exact``, by default true. It is false if ``most_violated`` may return an output that is not the most
      violated one, because inference is approximate. It may be a property, which is read before training and
      again after it.
    - ``violation_bound(w, x, y, rescaling)``: an upper bound of the largest violation of a sample, from which
      the result of a training with approximate inference gets an upper bound.
    """

    @property
    def dimension(self) -> int:
        """Length of ``w`` and of each joint feature."""

    def joint_feature(self, x: Any, y: Any) -> Vector:
        """Return ``phi(x, y)``."""

    def loss(self, y: Any, z: Any) -> float:
        """Return the loss of predicting ``z`` where ``y`` is true: non-negative, 0 for ``y`` itself."""

    def predict(self, w: Vector, x: Any) -> Any:
        """Return the output of the highest compatibility (thesis, eq. 2.11)."""

    def most_violated(self, w: Vector, x: Any, y: Any, rescaling: str) -> Any:
        """Return the output that maximizes the violation (thesis, eq. 2.17 for margin, 2.18 for slack)."""


@runtime_checkable
class BatchTask(Task, Protocol):
    """A task with faster methods for all samples at once."""

    def prepare_batch(self, X: Any, Y: Any) -> tuple[Any, Any]:
        """Check a training set and return it as arguments of ``batch_risk``; called once."""

    def batch_risk(self, w: Vector, X: Any, Y: Any, rescaling: str) -> tuple[float, Vector]:
        """Return the mean of the rescaled hinge losses and a subgradient."""

    def batch_predict(self, w: Vector, X: Any) -> Sequence:
        """Return the prediction for each sample."""


@runtime_checkable
class PlanesTask(BatchTask, Protocol):
    """A task that finds the planes of all samples at once.

    They are used where the planes of each sample are kept: by `ermlab.optimize.minimize_blocks`, and with
    approximate inference.
    """

    def batch_planes(self, w: Vector, X: Any, Y: Any, rescaling: str) -> tuple[Vector, Vector]:
        """Return slopes (n, dimension) and offsets (n,) of the largest violation of each sample."""


@runtime_checkable
class BlockTask(BatchTask, Protocol):
    """A task with a faster dual than that of explicit planes."""

    def block_dual(self, X: Any, Y: Any, rescaling: str, alpha: float) -> BlockDual:
        """Return the dual at 0 for a prepared training set and the regularizer ``alpha/2 |w|^2``."""


@runtime_checkable
class VirtualTask(Task, Protocol):
    """A task that also has constraints for transformed versions of a sample, its virtual samples."""

    def virtual_plane(self, w: Vector, x: Any, y: Any, rescaling: str) -> tuple[int | float, Vector, float]:
        """Return the name of the worst version of a sample, and slope and offset of its violation."""


def is_exact(task: Task) -> bool:
    """Return whether ``most_violated`` always returns the most violated output."""
    return bool(getattr(task, "exact", True))


def weight_bounds(task: Task) -> tuple[Vector, Vector] | None:
    """Return lower and upper bounds of the weights, or None if there are none."""
    return getattr(task, "bounds", None)


class WrappedTask:
    """Base of tasks that change another one, ``task``, and have its weights."""

    task: Any

    @property
    def dimension(self) -> int:
        """Length of ``w``."""
        return self.task.dimension

    @property
    def bounds(self) -> tuple[Vector, Vector] | None:
        """Bounds of the weights, those of the task."""
        return weight_bounds(self.task)

    @property
    def exact(self) -> bool:
        """Whether the inference of the task is exact."""
        return is_exact(self.task)


def by_position(samples: Sequence) -> Sequence:
    """Return a pandas object as an array, and other samples unchanged; a sparse matrix is a ValueError.

    Indexing a pandas series looks up a label, not a position, and indexing a data frame a column.
    """
    if issparse(samples):
        raise ValueError(
            f"a sparse matrix of shape {samples.shape}: expected a sequence of samples or a dense array, "
            "which its method toarray returns"
        )
    return samples.to_numpy() if hasattr(samples, "iloc") else samples


def paired_samples(X: Sequence, Y: Sequence) -> tuple[Sequence, Sequence]:
    """Return inputs and outputs by position, or raise a ValueError unless there are equally many, and one."""
    X, Y = by_position(X), by_position(Y)
    if len(X) != len(Y) or len(X) == 0:
        raise ValueError(f"{len(X)} inputs and {len(Y)} outputs: expected the same number, at least 1")
    return X, Y


def note_features(estimator: Any, X: Any) -> None:
    """Set ``n_features_in_`` and ``feature_names_in_`` if the inputs are the rows of a table."""
    for name in ("n_features_in_", "feature_names_in_"):
        vars(estimator).pop(name, None)
    if len(getattr(X, "shape", ())) == 2:
        estimator.n_features_in_ = int(X.shape[1])
        names = list(getattr(X, "columns", ()))
        if names and all(isinstance(name, str) for name in names):
            estimator.feature_names_in_ = np.array(names, dtype=object)


def violation_plane(
    task: Task, x: Any, y: Any, z: Any, rescaling: str, weight: float = 1.0
) -> tuple[Vector, float]:
    """Return slope and offset of the violation by output ``z``, with ``weight`` times the task's loss."""
    loss, a = weight * task.loss(y, z), task.joint_feature(x, z) - task.joint_feature(x, y)
    return (loss * a if rescaling == "slack" else a), loss


def predict_all(task: Task, w: Vector, X: Sequence) -> Sequence:
    """Return the prediction for each input: an array if the task works in batches, else a list."""
    X = by_position(X)
    return task.batch_predict(w, X) if isinstance(task, BatchTask) else [task.predict(w, x) for x in X]


def mean_loss(task: Task, truths: Sequence, outputs: Sequence) -> float:
    """Return the mean loss of predictions."""
    return float(np.mean([task.loss(y, z) for y, z in zip(truths, outputs, strict=True)]))
