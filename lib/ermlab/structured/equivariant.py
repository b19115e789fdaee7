"""Structured prediction that follows transformations of the input (equivariant structured SVM, section 2).

A transformation ``t`` acts on inputs and outputs: if ``y`` is right for ``x``, then ``t y`` is for ``t x``. A
sample is as bad as the worst of its transformed versions (eq. 6), and its most violated constraint is a pair
of a transformation and an output (eq. 8). The problem stays convex, and prediction does not search for ``t``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from ermlab.structured.structured_svm import BatchTask, BlockTask, Task, violation_plane

Vector = NDArray[np.float64]
Name = int | float
Found = TypeVar("Found")
#: Points of a grid of angles on either side of 0 at most.
MAX_GRID = 100_000
# Methods by which a task answers for all samples at once.
BATCH_METHODS = ("prepare_batch", "batch_risk", "batch_predict", "block_dual")


class Transformation(Protocol):
    """A pair ``t = (t_x, t_y)``."""

    def input(self, x: Any) -> Any:
        """Return ``t_x x``."""

    def output(self, y: Any) -> Any:
        """Return ``t_y y``, ``y`` itself for invariance."""


@dataclass(frozen=True)
class Identity:
    """The transformation that leaves all as it is."""

    def input(self, x: Any) -> Any:
        """Return ``x``."""
        return x

    def output(self, y: Any) -> Any:
        """Return ``y``."""
        return y


@dataclass(frozen=True)
class Rotation:
    """A turn of points ``(x, y)`` about the origin, anticlockwise by an angle; their labels stay."""

    angle: float

    def input(self, x: Vector) -> Vector:
        """Return the point turned."""
        cosine, sine = np.cos(self.angle), np.sin(self.angle)
        return np.array([cosine * x[0] - sine * x[1], sine * x[0] + cosine * x[1]])

    def output(self, y: Any) -> Any:
        """Return ``y``."""
        return y


class Transformations(Protocol):
    """A set of transformations in which the worst can be found; each has a name within the set."""

    @property
    def identity_alone(self) -> bool:
        """Whether there is nothing to choose."""

    def worst(self, try_out: Callable[[Transformation], tuple[float, Found]]) -> tuple[Name, Found]:
        """Return the name of the one with the largest number of ``try_out``, and the rest of its answer."""


class FiniteSet:
    """Transformations one by one, named 0, 1, ...; of equally bad ones the first is the worst."""

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

    def worst(self, try_out: Callable[[Transformation], tuple[float, Found]]) -> tuple[int, Found]:
        """Try out all members."""
        tried = [try_out(t) for t in self._members]
        heights = [_checked_height(name, height) for name, (height, _) in enumerate(tried)]
        name = int(np.argmax(heights))
        return name, tried[name][1]


class AngleRange:
    """Transformations by any angle between ``-limit`` and ``limit``, each named by its angle.

    The worst angle is sought on a grid, and then around each peak of the grid that is so high that the worst
    angle may be next to it.

    Parameters
    ----------
    at
        Gives the transformation for an angle, such as `Rotation`.
    limit
        Largest angle in radians, 0 for the identity alone.
    step
        Largest distance of the points of the grid.
    precision
        Of the angle found.
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
            raise ValueError(
                f"step is {step}: expected at least {limit / MAX_GRID:.3g} for angles to {limit}"
            )
        each_way = int(np.ceil(limit / step - 1e-9))
        angles = np.linspace(-limit, limit, 2 * each_way + 1) if each_way else np.zeros(1)
        angles[each_way] = 0.0
        # Of equally bad angles the smallest is taken, so the identity before all.
        self.grid = angles[np.argsort(np.abs(angles), kind="stable")]
        self._spacing = limit / max(each_way, 1)

    def __getitem__(self, name: float) -> Transformation:
        return self.at(name)

    @property
    def identity_alone(self) -> bool:
        """Whether the range is 0."""
        return self.limit == 0

    def worst(self, try_out: Callable[[Transformation], tuple[float, Found]]) -> tuple[float, Found]:
        """Try out the grid, then climb from its peaks."""
        tried = [(angle, *try_out(self.at(angle))) for angle in self.grid.tolist()]
        for angle, height, _ in tried:
            _checked_height(angle, height)
        angle, height, found = max(tried, key=lambda entry: entry[1])
        if self.identity_alone:
            return angle, found
        for start in self._peaks(np.array([height for _, height, _ in tried])):
            low, high = max(start - self._spacing, -self.limit), min(start + self._spacing, self.limit)
            peak = minimize_scalar(
                lambda a: -try_out(self.at(a))[0],
                bounds=(low, high),
                method="bounded",
                options={"xatol": self.precision},
            ).x.item()
            peak_height, peak_found = try_out(self.at(peak))
            if peak_height > height:
                angle, height, found = peak, peak_height, peak_found
        return angle, found

    def _peaks(self, heights: Vector) -> list[float]:
        """Return the angles of the grid from which the worst one can be reached, the smallest first.

        Between points of the grid the height rises above both by a share of its second difference, as far as
        the grid shows that; peaks that are at most the whole of it below the highest are climbed.
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
        raise ValueError(
            f"the violation after transformation {name} is NaN: expected finite weights and features"
        )
    return height


class _Constraint(NamedTuple):
    """An output and the plane of its violation."""

    output: Any
    slope: Vector
    offset: float


class EquivariantTask:
    """A task that is to follow transformations (equivariant structured SVM, eq. 6 to 8).

    With the identity alone it is the task itself, to the last bit. It predicts as the task does.

    Parameters
    ----------
    task
        The problem without transformations.
    transformations
        A sequence of `Transformation`, the identity among them and best the first; or a set that finds its
        worst itself, such as `AngleRange`.
    weight
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
            # Nothing to choose: the task's own answers for all samples at once serve.
            for name in BATCH_METHODS if isinstance(task, BlockTask) else BATCH_METHODS[:-1]:
                setattr(self, name, getattr(task, name))

    @property
    def dimension(self) -> int:
        """Length of ``w``."""
        return self.task.dimension

    def joint_feature(self, x: Any, y: Any) -> Vector:
        """Return the task's ``phi(x, y)``."""
        return self.task.joint_feature(x, y)

    def loss(self, y: Any, z: Any) -> float:
        """Return the task's loss, that of the identity if its weight is 1."""
        return self.task.loss(y, z)

    def predict(self, w: Vector, x: Any) -> Any:
        """Return the task's prediction: nothing is left to be estimated of the transformation."""
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
        def try_out(t: Transformation) -> tuple[float, _Constraint]:
            constraint = self._constraint(t, w, x, y, rescaling)
            return constraint.offset + float(np.sum(constraint.slope * w)), constraint

        return self.transformations.worst(try_out)

    def _constraint(self, t: Transformation, w: Vector, x: Any, y: Any, rescaling: str) -> _Constraint:
        """Return the most violated constraint of one virtual sample."""
        weight = 1.0 if self.weight is None else self._checked_weight(t)
        tx, ty = t.input(x), t.output(y)
        # Margins count weight times less, so the task may look for the output with weights w / weight.
        z = self.task.most_violated(w if rescaling == "slack" else w / weight, tx, ty, rescaling)
        return _Constraint(z, *violation_plane(self.task, tx, ty, z, rescaling, weight))

    def _checked_weight(self, t: Transformation) -> float:
        weight = float(self.weight(t))
        if not 0 < weight < np.inf:
            raise ValueError(f"weight is {weight} for transformation {t!r}: expected a positive number")
        return weight
