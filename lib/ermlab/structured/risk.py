"""The risk of a structured output SVM: the mean of the rescaled hinge losses over a training set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.validation import as_number, check_choice
from ermlab.optimize import BlockDual, PlaneBlocks
from ermlab.structured._found_planes import FoundPlanes
from ermlab.structured.task import (
    RESCALINGS,
    BatchTask,
    BlockTask,
    PlanesTask,
    Task,
    VirtualTask,
    is_exact,
    paired_samples,
    violation_plane,
)

Vector = NDArray[np.float64]
Plane = tuple[Vector, float]
# Share of the size of its terms by which a bound of a violation may be below it, because of rounding.
ROUNDING = 1e-9


class StructuredRisk:
    """The mean over samples of the largest violation, ``(1/n) sum_i xi_i`` (thesis, eq. 2.13 to 2.16).

    Margin rescaling: ``xi = max_z loss(y, z) + <w, phi(x, z) - phi(x, y)>``; slack rescaling:
    ``xi = max_z loss(y, z) (1 + <w, phi(x, z) - phi(x, y)>)``; at least 0.

    If the inference of the task is approximate, ``xi`` is the maximum over the outputs found so far: a lower
    bound, which grows from call to call. The planes of these outputs are kept for each sample, except those
    that were never the highest in the last fifty calls.

    Parameters
    ----------
    task : Task
        The prediction problem.
    X, Y : sequence
        Inputs and true outputs.
    rescaling : {"margin", "slack"}, default="margin"
        The rescaling.

    Attributes
    ----------
    exact : bool
        Whether the inference of the task is exact.
    grows : bool
        Whether values can grow from call to call, the opposite.
    """

    def __init__(self, task: Task, X: Sequence, Y: Sequence, rescaling: str = "margin"):
        check_choice("rescaling", rescaling, RESCALINGS)
        X, Y = paired_samples(X, Y)
        self.task, self.rescaling = task, rescaling
        self.dimension, self.exact = task.dimension, is_exact(task)
        self.grows = not self.exact
        self._virtual_samples: set[tuple[int, int | float]] = set()
        self._in_batches, self._virtual = isinstance(task, BatchTask), isinstance(task, VirtualTask)
        self._batch = task.prepare_batch(X, Y) if self._in_batches else None
        self._X, self._Y = X, Y
        self._found = [] if self.exact else [FoundPlanes(self.dimension) for _ in range(len(X))]

    def __call__(self, w: Vector) -> tuple[float, Vector]:
        """Return the risk and a subgradient at ``w``."""
        if self._in_batches and self.exact:
            return self.task.batch_risk(w, *self._batch, self.rescaling)
        return self._mean(self.planes_at(w), w)

    def known(self, w: Vector) -> tuple[float, Vector]:
        """Return the risk and a subgradient at ``w`` for the outputs found so far, without a search.

        If the inference of the task is exact, nothing is kept, and this is the same as a call.
        """
        if self.exact:
            return self(w)
        return self._mean((self._hinge(i, *found.highest(w), w) for i, found in enumerate(self._found)), w)

    def __len__(self) -> int:
        return len(self._X)

    @property
    def virtual_samples(self) -> set[tuple[int, int | float]]:
        """Pairs of a sample and the name of a version of it that was the worst, and violated, in any call.

        A task that works in batches keeps them itself, in an attribute of the same name.
        """
        return getattr(self.task, "virtual_samples", self._virtual_samples)

    def plane(self, i: int, w: Vector) -> Plane:
        """Return slope and offset of the largest violation of sample ``i`` at ``w``, 0 if it is negative."""
        x, y = self._X[i], self._Y[i]
        if self._virtual:
            version, a, b = self.task.virtual_plane(w, x, y, self.rescaling)
        else:
            version, z = None, self.task.most_violated(w, x, y, self.rescaling)
            a, b = violation_plane(self.task, x, y, z, self.rescaling)
        if version is not None and b + np.sum(a * w) > 0:
            self._virtual_samples.add((i, version))
        return self._highest(i, a, b, w)

    def planes_at(self, w: Vector) -> Iterator[Plane]:
        """Return slope and offset of the largest violation of each sample at ``w``."""
        if not isinstance(self.task, PlanesTask):
            return (self.plane(i, w) for i in range(len(self)))
        slopes, offsets = self.task.batch_planes(w, *self._batch, self.rescaling)
        expected = len(self), self.dimension
        if np.shape(slopes) != expected or np.shape(offsets) != expected[:1]:
            raise ValueError(
                f"planes of shapes {np.shape(slopes)} and {np.shape(offsets)}: expected {expected} and "
                f"{expected[:1]}"
            )
        return (self._highest(i, slopes[i], float(offsets[i]), w) for i in range(len(self)))

    def upper_bound(self, w: Vector) -> float:
        """Return an upper bound of the risk at ``w``, from the ``violation_bound`` of the task.

        It is infinite if the task has no such method.
        """
        bound: Callable | None = getattr(self.task, "violation_bound", None)
        if bound is None:
            return np.inf
        total = 0.0
        for i in range(len(self)):
            a, b = self._found[i].highest(w) if self._found else self.plane(i, w)
            height = b + float(np.sum(a * w))
            highest = as_number(bound(w, self._X[i], self._Y[i], self.rescaling))
            if not highest >= height - ROUNDING * (abs(b) + float(np.sum(np.abs(a * w)))):
                raise ValueError(
                    f"violation_bound is {highest} for sample {i}: expected at least {height}, the violation "
                    "by an output that was found"
                )
            total += max(highest, height, 0.0)
        return total / len(self)

    def block_dual(self, alpha: float) -> BlockDual:
        """Return the dual for `ermlab.optimize.minimize_blocks`, that of the task if it has one."""
        if isinstance(self.task, BlockTask) and self.exact:
            return self.task.block_dual(*self._batch, self.rescaling, alpha)
        return PlaneBlocks(self, alpha)

    def _highest(self, i: int, a: Vector, b: float, w: Vector) -> Plane:
        """Return the plane that was found at ``w``, or a higher one that was found before."""
        if not self.exact:
            self._found[i].add(a, b)
            a, b = self._found[i].highest(w)
        return self._hinge(i, a, b, w)

    def _hinge(self, i: int, a: Vector, b: float, w: Vector) -> Plane:
        """Return a plane, or the plane 0 if that is higher at ``w``."""
        with np.errstate(over="ignore", invalid="ignore"):  # checked next, or by the solver
            height = b + np.sum(a * w)
        if np.isnan(height):
            raise ValueError(f"the violation by an output of sample {i} is NaN: expected finite features")
        return (a, b) if height > 0 else (np.zeros(self.dimension), 0.0)

    def _mean(self, planes: Iterable[Plane], w: Vector) -> tuple[float, Vector]:
        """Return value and slope at ``w`` of the mean of planes, one of each sample."""
        total, subgradient = 0.0, np.zeros(self.dimension)
        with np.errstate(over="ignore", invalid="ignore"):  # the solver rejects NaN and infinity
            for a, b in planes:
                total += float(np.sum(a * w)) + b
                subgradient += a
        return total / len(self), subgradient / len(self)
