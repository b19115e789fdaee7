"""Prediction of the location of an object in an image region, or of none (equivariant SVM, section 3.1).

The input is a `Region`, the output an array (m, 2) of locations (x, y), in pixels from the middle of the
region. A prediction has one location or none; a label has the location to find, followed by all others that
count as correct. The joint feature is the window of HOG cells around the location, in the block of its slot,
and 0 without a location. `RegionRotation` rotates region and locations together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import whole_number
from ermlab.features.patches import Region, RegionGrids, turned
from ermlab.kernels.slot import SlotMap, score_windows, sum_of_features, windows_shape
from ermlab.structured.equivariant import EquivariantTask

Vector = NDArray[np.float64]
NOWHERE = np.empty((0, 2))
_TURN = 2 * np.pi


@dataclass(frozen=True)
class RegionRotation:
    """Rotation of image and location by the same angle, a transformation of the equivariant SVM."""

    angle: float

    def input(self, x: Region) -> Region:
        """Return the rotated region."""
        return replace(x, angle=(x.angle + self.angle) % _TURN)

    def output(self, y: ArrayLike) -> NDArray[np.float64]:
        """Return the rotated locations."""
        return turned(np.reshape(y, (-1, 2)), self.angle)

    def inverse_output(self, y: ArrayLike) -> NDArray[np.float64]:
        """Return the locations before the rotation."""
        return turned(np.reshape(y, (-1, 2)), -self.angle)


def rotations(n: int) -> list[RegionRotation]:
    """Return ``n`` rotations at equal steps over [0, 2 pi), the identity first."""
    n = whole_number("n", n, 1)
    return [RegionRotation(_TURN * k / n) for k in range(n)]


@dataclass(frozen=True)
class LocationBatch:
    """Samples and their transformed versions, in arrays for the search of violated margins.

    Attributes
    ----------
    stack : ndarray of shape (n_samples, n_versions, rows, columns, n_channels)
        Grids of HOG cells.
    slots : ndarray of shape (n_samples, n_versions, window_rows, window_columns)
        Slot of each window.
    wrong : ndarray of bool, of the same shape
        Whether a window is an incorrect answer.
    truth : ndarray of shape (n_samples, n_versions, 2)
        Row and column of the window to find.
    empty : ndarray of bool, of shape (n_samples,)
        Samples without a location.
    """

    stack: NDArray[np.float32]
    slots: NDArray[np.int64]
    wrong: NDArray[np.bool_]
    truth: NDArray[np.int64]
    empty: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.stack)


@dataclass(frozen=True)
class Violations:
    """Most violating version and answer of each sample, and the violation of the margin."""

    values: Vector  #: 0 without a violation
    versions: NDArray[np.int64]
    answers: NDArray[np.int64]  #: row and column of a window (n_samples, 2); -1, -1 for no location


class LocationTask:
    """Task of predicting a location, with the 0-1 loss.

    With slack rescaling, that of the source, only incorrect answers can violate a margin; with margin
    rescaling, correct ones can if they score higher than the label.

    Parameters
    ----------
    grids : RegionGrids
        HOG cells of the regions.
    slots : SlotMap
        Fitted slot map of the windows; with one slot the model is linear.
    tolerance : float
        Largest distance in pixels of a correct location.
    """

    def __init__(self, grids: RegionGrids, slots: SlotMap, tolerance: float):
        if not tolerance >= 0:
            raise ValueError(f"tolerance is {tolerance}: expected a number of at least 0")
        self.grids, self.slots, self.tolerance = grids, slots, float(tolerance)
        self._shape = windows_shape((grids.cells, grids.cells), slots.window)
        self._places = self._window_places()

    def _window_places(self) -> NDArray[np.float64]:
        """Return the centers (x, y) of all windows, (rows, columns, 2), from the middle of the region."""
        rows, columns = np.indices(self._shape)
        middles = (np.array(self._shape) - 1) / 2
        return self.grids.cell * np.stack([columns - middles[1], rows - middles[0]], axis=-1)

    @property
    def dimension(self) -> int:
        """Length of ``w``: one descriptor and one bias per slot."""
        return self.slots.n_slots * (self.slots.centers_.shape[1] + 1)

    def window(self, location: ArrayLike) -> tuple[int, int]:
        """Return row and column of the window nearest to a location."""
        x, y = np.asarray(location) / self.grids.cell
        rows, columns = self._shape
        row, column = np.round(y + (rows - 1) / 2), np.round(x + (columns - 1) / 2)
        return int(np.clip(row, 0, rows - 1)), int(np.clip(column, 0, columns - 1))

    def joint_feature(self, x: Region, y: ArrayLike) -> Vector:
        """Return ``e_q (x) (phi, 1)`` of the window at the first location, or 0 without one."""
        if not len(y):
            return np.zeros(self.dimension)
        batch = self.batch([[x]], [[y]])
        row, column = batch.truth[0, 0]
        return self._sum(batch, [(0, 0, row, column)], [1.0])

    def loss(self, y: ArrayLike, z: ArrayLike) -> float:
        """Return 0 if ``z`` is near a location of ``y`` or both are empty, else 1."""
        if not len(z):
            return float(len(y) > 0)
        return float(not self._near(np.asarray(z)[None, 0], y)[0])

    def predict(self, w: Vector, x: Region) -> NDArray[np.float64]:
        """Return the location of the best window, or none if its score is not positive."""
        batch = self.batch([[x]], [[NOWHERE]])
        scores = score_windows(w, batch.stack[0, 0], batch.slots[0, 0], self.slots.window)
        best = np.unravel_index(np.argmax(scores), scores.shape)
        return self._places[best][None] if scores[best] > 0 else NOWHERE

    def most_violated(self, w: Vector, x: Region, y: ArrayLike, rescaling: str) -> NDArray[np.float64]:
        """Return the answer that violates the margin most, or ``y`` itself if none does."""
        found = self.violations(w, self.batch([[x]], [[y]]), rescaling)
        if found.values[0] <= 0:
            return np.reshape(y, (-1, 2))
        row, column = found.answers[0]
        return self._places[row, column][None] if row >= 0 else NOWHERE

    def batch(self, X: Sequence[Sequence[Region]], Y: Sequence[Sequence[ArrayLike]]) -> LocationBatch:
        """Collect samples, each given by the regions and labels of its versions."""
        if not len(X) or len(X) != len(Y):
            raise ValueError(f"{len(X)} samples and {len(Y)} labels: expected the same number, at least 1")
        n, versions = len(X), len(X[0])
        stack = self.grids.stack([x for sample in X for x in sample])
        stack = stack.reshape(n, versions, *stack.shape[1:])
        labels = [_locations(y) for sample in Y for y in sample]
        wrong = np.stack([~self._near(self._places, y) for y in labels])
        truth = np.array([self.window(y[0]) if len(y) else (0, 0) for y in labels], dtype=np.int64)
        return LocationBatch(
            stack,
            self.slots.assign_windows(stack),
            wrong.reshape(n, versions, *self._shape),
            truth.reshape(n, versions, 2),
            np.array([not len(sample[0]) for sample in Y]),
        )

    def versions_batch(
        self, transformations: Iterable[RegionRotation], X: Sequence[Region], Y: Sequence[ArrayLike]
    ) -> LocationBatch:
        """Collect samples with all their transformed versions."""
        transformations = list(transformations)
        inputs = [[t.input(x) for t in transformations] for x in X]
        return self.batch(inputs, [[t.output(y) for t in transformations] for y in Y])

    def violations(self, w: Vector, batch: LocationBatch, rescaling: str) -> Violations:
        """Find the most violating version and answer of each sample (eq. 8), the first of several."""
        n, versions = batch.stack.shape[:2]
        scores = score_windows(w, batch.stack, batch.slots, self.slots.window).astype(np.float64)
        sample, version = np.indices((n, versions))
        right = scores[sample, version, batch.truth[..., 0], batch.truth[..., 1]]
        right[batch.empty] = 0.0
        right_answers = scores if rescaling == "margin" else -np.inf
        scores = np.where(batch.wrong, scores + 1.0, right_answers)
        flat = scores.reshape(n, versions, -1)
        windows = flat.argmax(axis=-1)
        best = np.take_along_axis(flat, windows[..., None], axis=-1)[..., 0]
        answers = np.stack(np.unravel_index(windows, self._shape), axis=-1)
        # If there is an object, the answer "no location", with score 0, is incorrect, too.
        nowhere = ~batch.empty[:, None] & (best < 1.0)
        best[nowhere], answers[nowhere] = 1.0, -1
        values = best - right
        worst = values.argmax(axis=1)
        samples = np.arange(n)
        return Violations(np.maximum(values[samples, worst], 0.0), worst, answers[samples, worst])

    def slope(self, batch: LocationBatch, found: Violations) -> Vector:
        """Return the sum of ``phi(answer) - phi(label)`` over samples with a violation."""
        places, factors = [], []
        for i in np.flatnonzero(found.values > 0):
            version = found.versions[i]
            if found.answers[i, 0] >= 0:
                places.append((i, version, *found.answers[i]))
                factors.append(1.0)
            if not batch.empty[i]:
                places.append((i, version, *batch.truth[i, version]))
                factors.append(-1.0)
        return self._sum(batch, places, factors)

    def prepare_batch(
        self, X: Sequence[Region], Y: Sequence[ArrayLike]
    ) -> tuple[LocationBatch, Sequence[ArrayLike]]:
        """Collect a training set, with one version per sample."""
        return self.batch([[x] for x in X], [[y] for y in Y]), Y

    def batch_risk(self, w: Vector, X: LocationBatch, Y: object, rescaling: str) -> tuple[float, Vector]:
        """Return the mean violation and a subgradient."""
        found = self.violations(w, X, rescaling)
        return float(np.mean(found.values)), self.slope(X, found) / len(X)

    def batch_predict(self, w: Vector, X: Sequence[Region]) -> list[NDArray[np.float64]]:
        """Return the prediction for each region."""
        return [self.predict(w, x) for x in X]

    def _sum(self, batch: LocationBatch, places: Sequence[tuple], factors: Sequence[float]) -> Vector:
        versions = batch.stack.shape[1]
        sample, version, row, column = np.array(places, dtype=np.int64).reshape(-1, 4).T
        return sum_of_features(
            batch.stack.reshape(-1, *batch.stack.shape[2:]),
            (sample * versions + version, row, column),
            batch.slots[sample, version, row, column],
            factors,
            self.slots.n_slots,
            self.slots.window,
        ).ravel()

    def _near(self, places: NDArray, y: ArrayLike) -> NDArray[np.bool_]:
        """Return whether each place (..., 2) is within the tolerance of one of the locations."""
        differences = places[..., None, :] - np.reshape(y, (-1, 2))
        return (np.linalg.norm(differences, axis=-1) <= self.tolerance).any(axis=-1)


def _locations(y: ArrayLike) -> NDArray[np.float64]:
    """Return locations as rows (x, y), or raise a ValueError."""
    locations = np.asarray(y, dtype=np.float64)
    if locations.size % 2 or not np.isfinite(locations).all():
        raise ValueError(f"locations are {locations.tolist()}: expected rows (x, y) of finite numbers")
    return locations.reshape(-1, 2)


class EquivariantLocationTask(EquivariantTask):
    """Equivariant version of a `LocationTask`, with all samples and transformations searched at once.

    Parameters
    ----------
    task : LocationTask
        The task.
    transformations : sequence of RegionRotation
        Transformations, including the identity.

    Attributes
    ----------
    virtual_samples : set of (int, int)
        Sample and transformation of all most violated margins since the last `prepare_batch`.
    """

    def __init__(self, task: LocationTask, transformations: Sequence[RegionRotation]):
        super().__init__(task, transformations)
        self.virtual_samples: set[tuple[int, int]] = set()

    def prepare_batch(
        self, X: Sequence[Region], Y: Sequence[ArrayLike]
    ) -> tuple[LocationBatch, Sequence[ArrayLike]]:
        """Collect a training set with all transformations of each sample."""
        self.virtual_samples = set()
        return self.task.versions_batch(self.transformations, X, Y), Y

    def batch_risk(self, w: Vector, X: LocationBatch, Y: object, rescaling: str) -> tuple[float, Vector]:
        """Return the mean violation by the worst version of each sample, and a subgradient."""
        found = self.task.violations(w, X, rescaling)
        violated = np.flatnonzero(found.values > 0)
        self.virtual_samples.update(zip(violated.tolist(), found.versions[violated].tolist(), strict=True))
        return float(np.mean(found.values)), self.task.slope(X, found) / len(X)

    def batch_predict(self, w: Vector, X: Sequence[Region]) -> list[NDArray[np.float64]]:
        """Return the task's predictions."""
        return self.task.batch_predict(w, X)
