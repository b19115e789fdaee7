"""Where in an image region a thing is, or that it is not there (equivariant SVM, section 3.1).

The input is a `Region`, the output an array (m, 2) of locations (x, y), in pixels from the middle of the
region: none, or a predicted one, or, as a label, the one to be found and then all others that would be no
mistake. The joint feature is the window of HOG cells around the location, in the block of its slot, and 0 if
there is no location. `RegionRotation` turns region and locations together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.features.patches import Region, RegionGrids, turned
from ermlab.kernels.slot import SlotMap, score_windows, sum_of_features, windows_shape
from ermlab.structured.equivariant import EquivariantTask

Vector = NDArray[np.float64]
NOWHERE = np.empty((0, 2))
_TURN = 2 * np.pi


@dataclass(frozen=True)
class RegionRotation:
    """A rotation of image and location by the same angle: a transformation of the equivariant SVM."""

    angle: float

    def input(self, x: Region) -> Region:
        """Return the turned region."""
        return replace(x, angle=(x.angle + self.angle) % _TURN)

    def output(self, y: ArrayLike) -> NDArray[np.float64]:
        """Return the turned locations."""
        return turned(np.reshape(y, (-1, 2)), self.angle)


def rotations(n: int) -> list[RegionRotation]:
    """Return ``n`` rotations at equal steps over [0, 2 pi), the identity first."""
    if n != int(n) or n < 1:
        raise ValueError(f"{n} rotations: expected a whole number of at least 1")
    return [RegionRotation(_TURN * k / n) for k in range(int(n))]


@dataclass(frozen=True)
class LocationBatch:
    """Samples with their versions, all of one shape: what the search of the most violated ones works on."""

    stack: NDArray[np.float32]  #: grids (samples, versions, rows, columns, channels)
    slots: NDArray[np.int64]  #: slot of each window (samples, versions, rows, columns)
    wrong: NDArray[np.bool_]  #: whether a window is no right answer, likewise
    truth: NDArray[np.int64]  #: row and column of the window to be found (samples, versions, 2)
    empty: NDArray[np.bool_]  #: samples without a location

    def __len__(self) -> int:
        return len(self.stack)


@dataclass(frozen=True)
class Violations:
    """For each sample the worst version, its worst answer, and how much that violates the margin."""

    values: Vector  #: 0 where nothing is violated
    versions: NDArray[np.int64]
    answers: NDArray[np.int64]  #: row and column of a window (samples, 2); -1, -1 for the answer "nowhere"


class LocationTask:
    """Structured prediction of a location, with a loss of 0 or 1.

    By slack rescaling, that of the source, only wrong answers can violate a margin; by margin rescaling a
    right one can, too, if it scores higher than the label.

    Parameters
    ----------
    grids
        The cells of the regions.
    slots
        The slot map of the windows; with one slot the model is linear.
    tolerance
        Largest distance in pixels of a location that counts as found.
    """

    def __init__(self, grids: RegionGrids, slots: SlotMap, tolerance: float):
        if not tolerance >= 0:
            raise ValueError(f"tolerance is {tolerance}: expected a number of at least 0")
        self.grids, self.slots, self.tolerance = grids, slots, float(tolerance)
        self._shape = windows_shape((grids.cells, grids.cells), slots.window)
        self._places = self._window_places()

    def _window_places(self) -> NDArray[np.float64]:
        """Return the middles (x, y) of all windows, (rows, columns, 2), from the middle of the region."""
        rows, columns = np.indices(self._shape)
        middles = (np.array(self._shape) - 1) / 2
        return self.grids.cell * np.stack([columns - middles[1], rows - middles[0]], axis=-1)

    @property
    def dimension(self) -> int:
        """Length of ``w``: a descriptor and a bias for each slot."""
        return self.slots.n_slots * (self.slots.centers_.shape[1] + 1)

    def window(self, location: ArrayLike) -> tuple[int, int]:
        """Return row and column of the window nearest to a location."""
        x, y = np.asarray(location) / self.grids.cell
        rows, columns = self._shape
        row, column = np.round(y + (rows - 1) / 2), np.round(x + (columns - 1) / 2)
        return int(np.clip(row, 0, rows - 1)), int(np.clip(column, 0, columns - 1))

    def joint_feature(self, x: Region, y: ArrayLike) -> Vector:
        """Return ``e_q (x) (phi, 1)`` of the window at the first location, 0 for none."""
        if not len(y):
            return np.zeros(self.dimension)
        batch = self.batch([[x]], [[y]])
        row, column = batch.truth[0, 0]
        return self._sum(batch, [(0, 0, row, column)], [1.0])

    def loss(self, y: ArrayLike, z: ArrayLike) -> float:
        """Return 0 if ``z`` is near a location of ``y``, or if both are empty, else 1."""
        if not len(z):
            return float(len(y) > 0)
        return float(not self._near(np.asarray(z)[None, 0], y)[0])

    def predict(self, w: Vector, x: Region) -> NDArray[np.float64]:
        """Return the location of the best window, none if its score is below 0."""
        batch = self.batch([[x]], [[NOWHERE]])
        scores = score_windows(w, batch.stack[0, 0], batch.slots[0, 0], self.slots.window)
        best = np.unravel_index(np.argmax(scores), scores.shape)
        return self._places[best][None] if scores[best] > 0 else NOWHERE

    def most_violated(self, w: Vector, x: Region, y: ArrayLike, rescaling: str) -> NDArray[np.float64]:
        """Return the answer that violates the margin most, ``y`` itself if none does."""
        found = self.violations(w, self.batch([[x]], [[y]]), rescaling)
        if found.values[0] <= 0:
            return np.reshape(y, (-1, 2))
        row, column = found.answers[0]
        return self._places[row, column][None] if row >= 0 else NOWHERE

    def batch(self, X: Sequence[Sequence[Region]], Y: Sequence[Sequence[ArrayLike]]) -> LocationBatch:
        """Gather the versions of samples: a list of regions, and of labels, for each."""
        if not len(X) or len(X) != len(Y):
            raise ValueError(f"{len(X)} samples and {len(Y)} labels: expected as many, at least 1")
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

    def violations(self, w: Vector, batch: LocationBatch, rescaling: str) -> Violations:
        """Find the worst version and answer of each sample (eq. 8), the first of several equally bad."""
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
        # Where there is something to be found, "nowhere", of score 0, is a wrong answer, too.
        nowhere = ~batch.empty[:, None] & (best < 1.0)
        best[nowhere], answers[nowhere] = 1.0, -1
        values = best - right
        worst = values.argmax(axis=1)
        samples = np.arange(n)
        return Violations(np.maximum(values[samples, worst], 0.0), worst, answers[samples, worst])

    def slope(self, batch: LocationBatch, found: Violations) -> Vector:
        """Return the sum over samples of ``phi(answer) - phi(label)``, where something is violated."""
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
        """Gather a training set, each sample as it is."""
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
        """Say of each place (..., 2) whether it is within the tolerance of one of the locations."""
        differences = places[..., None, :] - np.reshape(y, (-1, 2))
        return (np.linalg.norm(differences, axis=-1) <= self.tolerance).any(axis=-1)


def _locations(y: ArrayLike) -> NDArray[np.float64]:
    """Return locations as rows (x, y), or raise a ValueError if they are none."""
    locations = np.asarray(y, dtype=np.float64)
    if locations.size % 2 or not np.isfinite(locations).all():
        raise ValueError(f"locations are {locations.tolist()}: expected rows (x, y) of finite numbers")
    return locations.reshape(-1, 2)


class EquivariantLocationTask(EquivariantTask):
    """The equivariant version of a `LocationTask`, with all samples and transformations searched at once.

    Attributes
    ----------
    virtual_samples
        Pairs of a sample and the number of a transformation that were ever the worst, and violated, since the
        last `prepare_batch`.
    """

    def __init__(self, task: LocationTask, transformations: Sequence[RegionRotation]):
        super().__init__(task, transformations)
        self._members = list(transformations)
        self.virtual_samples: set[tuple[int, int]] = set()

    def prepare_batch(
        self, X: Sequence[Region], Y: Sequence[ArrayLike]
    ) -> tuple[LocationBatch, Sequence[ArrayLike]]:
        """Gather a training set with all transformations of each sample."""
        self.virtual_samples = set()
        inputs = [[t.input(x) for t in self._members] for x in X]
        return self.task.batch(inputs, [[t.output(y) for t in self._members] for y in Y]), Y

    def batch_risk(self, w: Vector, X: LocationBatch, Y: object, rescaling: str) -> tuple[float, Vector]:
        """Return the mean of the violations by the worst version of each sample, and a subgradient."""
        found = self.task.violations(w, X, rescaling)
        violated = np.flatnonzero(found.values > 0)
        self.virtual_samples.update(zip(violated.tolist(), found.versions[violated].tolist(), strict=True))
        return float(np.mean(found.values)), self.task.slope(X, found) / len(X)

    def batch_predict(self, w: Vector, X: Sequence[Region]) -> list[NDArray[np.float64]]:
        """Return the task's predictions."""
        return self.task.batch_predict(w, X)
