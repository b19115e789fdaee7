"""Structured prediction that is equivariant to transformations (equivariant structured SVM, section 2).

A transformation ``t`` acts on inputs and outputs: if ``y`` is true for ``x``, then ``t y`` is for ``t x``.
The loss of a sample is that of its worst transformed version (eq. 6), and its most violated constraint is a
pair of a transformation and an output (eq. 8). The problem is convex, and prediction does not search for
``t``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from ermlab._utils.saving import remembers_arguments
from ermlab.structured.task import BatchTask, BlockTask, Task, WrappedTask, violation_plane

Vector = NDArray[np.float64]
Name = int | float
Found = TypeVar("Found")
#: Maximum number of points of a grid of angles on either side of 0.
MAX_GRID = 100_000
# Methods of tasks that work on all samples at once.
BATCH_METHODS = ("prepare_batch", "batch_risk", "batch_predict", "block_dual")


class Transformation(Protocol):
    """A pair ``t = (t_x, t_y)``."""

    def input(self, x: Any) -> Any:
        """Return ``t_x x``."""

    def output(self, y: Any) -> Any:
        """Return ``t_y y``, ``y`` itself for invariance."""


@dataclass(frozen=True)
class Identity:
    """The identity transformation."""

    def input(self, x: Any) -> Any:
        """Return ``x``."""
        return x

    def output(self, y: Any) -> Any:
        """Return ``y``."""
        return y


@dataclass(frozen=True)
class Rotation:
    """Counterclockwise rotation of points ``(x, y)`` about the origin; labels do not change."""

    angle: float

    def input(self, x: Vector) -> Vector:
        """Return the rotated point."""
        cosine, sine = np.cos(self.angle), np.sin(self.angle)
        return np.array([cosine * x[0] - sine * x[1], sine * x[0] + cosine * x[1]])

    def output(self, y: Any) -> Any:
        """Return ``y``."""
        return y


class Transformations(Protocol):
    """A set of transformations that can be searched for the worst one; each has a name within the set."""

    @property
    def identity_alone(self) -> bool:
        """Whether the set has no transformation other than the identity."""

    def worst(self, evaluate: Callable[[Transformation], tuple[float, Found]]) -> tuple[Name, Found]:
        """Return the name of the transformation with the largest height, and what else was found for it.

        ``evaluate(t)`` returns the height of a transformation and any other value.
        """


@remembers_arguments
class FiniteSet:
    """A finite set of transformations named 0, 1, ...; the first of equally bad ones is the worst."""

    def __init__(self, transformations: Sequence[Transformation]):
        self._members = list(transformations)
        if not self._members:
            raise ValueError("0 transformations: expected at least 1, such as Identity()")
        for place, t in enumerate(self._members):
            if not (callable(getattr(t, "input", None)) and callable(getattr(t, "output", None))):
                raise ValueError(f"transformation {place} is {t!r}: expected methods `input` and `output`")

    def __len__(self) -> int:
        return len(self._members)

    def __getitem__(self, name: int) -> Transformation:
        return self._members[name]

    @property
    def identity_alone(self) -> bool:
        """Whether every member is an `Identity`."""
        return all(isinstance(t, Identity) for t in self._members)

    def worst(self, evaluate: Callable[[Transformation], tuple[float, Found]]) -> tuple[int, Found]:
        """Return the worst of all members."""
        results = [evaluate(t) for t in self._members]
        heights = [_checked_height(name, height) for name, (height, _) in enumerate(results)]
        name = int(np.argmax(heights))
        return name, results[name][1]


class AngleRange:
    """Transformations by any angle between ``-limit`` and ``limit``, each named by its angle.

    The worst angle is searched on a grid, and then around each peak of the grid that is high enough to have
    the worst angle next to it.

    Parameters
    ----------
    at : callable
        Returns the transformation for an angle, for example `Rotation`.
    limit : float
        Largest angle in radians, 0 for the identity alone.
    step : float, default=pi / 32
        Largest distance between points of the grid.
    precision : float, default=1e-5
        Precision of the angle.
    """

    def __init__(
        self,
        at: Callable[[float], Transformation],
        limit: float,
        step: float = np.pi / 32,
        precision: float = 1e-5,
    ):
        if not 0 <= limit <= np.pi:
            raise ValueError(f"limit is {limit}: expected an angle from 0 to pi")
        if not step > 0 or not precision > 0:
            raise ValueError(f"step is {step} and precision {precision}: expected positive angles")
        self.at, self.limit, self.precision = at, float(limit), precision
        if limit / step > MAX_GRID:
            raise ValueError(f"step is {step}: expected at least {limit / MAX_GRID:.3g} for limit {limit}")
        each_way = int(np.ceil(limit / step - 1e-9))
        angles = np.linspace(-limit, limit, 2 * each_way + 1) if each_way else np.zeros(1)
        angles[each_way] = 0.0
        # The smallest of equally bad angles is taken, the identity first.
        self.grid = angles[np.argsort(np.abs(angles), kind="stable")]
        self._spacing = limit / max(each_way, 1)

    def __getitem__(self, name: float) -> Transformation:
        return self.at(name)

    @property
    def identity_alone(self) -> bool:
        """Whether the limit is 0."""
        return self.limit == 0

    def worst(self, evaluate: Callable[[Transformation], tuple[float, Found]]) -> tuple[float, Found]:
        """Search the grid, then around its peaks."""
        results = [(angle, *evaluate(self.at(angle))) for angle in self.grid.tolist()]
        for angle, height, _ in results:
            _checked_height(angle, height)
        angle, height, found = max(results, key=lambda entry: entry[1])
        if self.identity_alone:
            return angle, found
        for start in self._peaks(np.array([height for _, height, _ in results])):
            low, high = max(start - self._spacing, -self.limit), min(start + self._spacing, self.limit)
            peak = minimize_scalar(
                lambda a: -evaluate(self.at(a))[0],
                bounds=(low, high),
                method="bounded",
                options={"xatol": self.precision},
            ).x.item()
            peak_height, peak_found = evaluate(self.at(peak))
            if peak_height > height:
                angle, height, found = peak, peak_height, peak_found
        return angle, found

    def _peaks(self, heights: Vector) -> list[float]:
        """Return the angles of the grid next to which the worst angle may be, the smallest first.

        Between points of the grid the height exceeds both by a fraction of its second difference. Peaks that
        are at most one second difference below the highest are returned.
        """
        order = np.argsort(self.grid)
        sorted_heights = heights[order]
        bend = np.max(np.abs(np.diff(sorted_heights, 2)), initial=0.0)
        padded = np.pad(sorted_heights, 1, constant_values=-np.inf)
        is_peak = (sorted_heights >= padded[:-2]) & (sorted_heights >= padded[2:])
        chosen = np.zeros(len(heights), dtype=np.bool_)
        chosen[order] = is_peak & (sorted_heights >= heights.max() - bend)
        return self.grid[chosen].tolist()


def _checked_height(name: Name, height: float) -> float:
    """Return the height, or raise a ValueError if it cannot be compared with others."""
    if np.isnan(height):
        raise ValueError(f"the violation after transformation {name} is NaN: expected finite features")
    return height


class _Constraint(NamedTuple):
    """An output and the plane of its violation."""

    output: Any
    slope: Vector
    offset: float


@remembers_arguments
class EquivariantTask(WrappedTask):
    """A task that is equivariant to transformations (equivariant structured SVM, eq. 6 to 8).

    With the identity alone, training is the same as for the task itself. Prediction is always the same.

    Parameters
    ----------
    task : Task
        The problem without transformations.
    transformations : sequence of Transformation, or Transformations
        A sequence that includes the identity, preferably as its first entry; or a set that finds its worst
        member itself, such as `AngleRange`.
    weight : callable, optional
        ``weight(t) > 0`` makes the loss depend on the transformation,
        ``Delta(t, y, z) = weight(t) loss(t y, z)`` (eq. 3); by default 1. See
        `ermlab.structured.vicinal.scaled_family` for weights that bound a vicinal risk.
    """

    def __init__(
        self,
        task: Task,
        transformations: Sequence[Transformation] | Transformations,
        weight: Callable[[Transformation], float] | None = None,
    ):
        if not isinstance(task, Task):
            raise ValueError(f"task is {task!r}: expected a `Task`")
        self.task, self.weight = task, weight
        given = hasattr(transformations, "worst")
        self.transformations = transformations if given else FiniteSet(transformations)
        if self.transformations.identity_alone and weight is None and isinstance(task, BatchTask):
            # Nothing to choose: use the methods of the task for all samples at once.
            for name in BATCH_METHODS if isinstance(task, BlockTask) else BATCH_METHODS[:-1]:
                setattr(self, name, getattr(task, name))
        if isinstance(self.transformations, FiniteSet) and hasattr(task, "violation_bound"):
            self.violation_bound = self._violation_bound

    def joint_feature(self, x: Any, y: Any) -> Vector:
        """Return the task's ``phi(x, y)``."""
        return self.task.joint_feature(x, y)

    def loss(self, y: Any, z: Any) -> float:
        """Return the loss of the task, without the weight of a transformation."""
        return self.task.loss(y, z)

    def predict(self, w: Vector, x: Any) -> Any:
        """Return the prediction of the task; the transformation need not be estimated."""
        return self.task.predict(w, x)

    def most_violated(self, w: Vector, x: Any, y: Any, rescaling: str) -> tuple[Name, Any]:
        """Return the name of the worst transformation and its most violated output (eq. 8)."""
        name, constraint = self._worst(w, x, y, rescaling)
        return name, constraint.output

    def virtual_plane(self, w: Vector, x: Any, y: Any, rescaling: str) -> tuple[Name, Vector, float]:
        """Return the name of the worst transformation, and slope and offset of its violation."""
        name, constraint = self._worst(w, x, y, rescaling)
        return name, constraint.slope, constraint.offset

    def _worst(self, w: Vector, x: Any, y: Any, rescaling: str) -> tuple[Name, _Constraint]:
        def evaluate(t: Transformation) -> tuple[float, _Constraint]:
            constraint = self._constraint(t, w, x, y, rescaling)
            return constraint.offset + float(np.sum(constraint.slope * w)), constraint

        return self.transformations.worst(evaluate)

    def _constraint(self, t: Transformation, w: Vector, x: Any, y: Any, rescaling: str) -> _Constraint:
        """Return the most violated constraint of one virtual sample."""
        weight = self._checked_weight(t)
        tx, ty = t.input(x), t.output(y)
        z = self.task.most_violated(_divided(w, weight, rescaling), tx, ty, rescaling)
        return _Constraint(z, *violation_plane(self.task, tx, ty, z, rescaling, weight))

    def _violation_bound(self, w: Vector, x: Any, y: Any, rescaling: str) -> float:
        """Return an upper bound of the violation by all transformations and outputs."""
        bounds = []
        for t in self.transformations:
            weight = self._checked_weight(t)
            divided = _divided(w, weight, rescaling)
            bounds.append(weight * self.task.violation_bound(divided, t.input(x), t.output(y), rescaling))
        return float(np.max(bounds))

    def _checked_weight(self, t: Transformation) -> float:
        if self.weight is None:
            return 1.0
        weight = float(self.weight(t))
        if not 0 < weight < np.inf:
            raise ValueError(f"weight is {weight} for transformation {t!r}: expected a positive number")
        return weight


def _divided(w: Vector, weight: float, rescaling: str) -> Vector:
    """Return the weights for a search in which the loss is scaled by ``weight``.

    With margin rescaling this is the same as dividing the margins by it.
    """
    return w if rescaling == "slack" else w / weight
