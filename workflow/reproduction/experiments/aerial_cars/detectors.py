"""Training regions and the four detectors of aerial cars (equivariant SVM, section 3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ermlab.detection.latent_location import LatentLocationTask
from ermlab.detection.location import NOWHERE, EquivariantLocationTask, LocationTask, rotations
from ermlab.features.hog_cells import hog
from ermlab.features.patches import Region, RegionGrids, turned_patch
from ermlab.kernels.slot import WINDOW, SlotMap, score_windows, windows_shape
from ermlab.optimize import L2, minimize
from ermlab.structured import LatentSVM, StructuredRisk
from reproduction.experiments.aerial_cars.protocol import METHODS, Frames, Settings

_MAX_ITER = 500


def choose_regions(
    frames: Frames, scene: str, settings: Settings, rng: np.random.Generator
) -> tuple[list[Region], list[NDArray[np.float64]]]:
    """Draw regions around cars and regions without vehicles, and label them.

    The center of a region is up to half a cell from that of its car, like the windows of a frame. Its label
    is the car followed by all vehicles near enough to come into view: to find one of them is not an error.
    """
    numbers = frames.of_scene(scene)
    cars = [(frame, k) for frame in numbers for k in np.flatnonzero(~frames.others[frame])]
    reach = settings.cell * (settings.cells + 2) * np.sqrt(0.5)
    regions, labels = [], []
    for pick in rng.permutation(len(cars))[: settings.cars]:
        frame, k = cars[pick]
        shift = rng.uniform(-settings.cell / 2, settings.cell / 2, 2)
        x, y = np.round(frames.centers[frame][k] + shift).astype(int).tolist()
        relative = frames.centers[frame] - (x, y)
        neighbors = np.linalg.norm(relative, axis=1) < reach
        neighbors[k] = False
        regions.append(Region(frame, x, y))
        labels.append(np.vstack([relative[k], relative[neighbors]]))
    backgrounds = _empty_regions(frames, numbers, settings, rng)
    return regions + backgrounds, labels + [NOWHERE] * len(backgrounds)


def _empty_regions(
    frames: Frames, numbers: Sequence[int], settings: Settings, rng: np.random.Generator
) -> list[Region]:
    """Draw regions without a window that is a correct answer for some vehicle, under any rotation."""
    view = (settings.cells - WINDOW[0]) / 2 * settings.cell
    clearance = view * np.sqrt(2) + settings.tolerance
    regions: list[Region] = []
    for _ in range(100 * settings.backgrounds):
        if len(regions) == settings.backgrounds:
            return regions
        frame = int(rng.choice(numbers))
        height, width = frames.images[frame].shape[:2]
        x, y = int(rng.integers(width)), int(rng.integers(height))
        if (np.linalg.norm(frames.centers[frame] - (x, y), axis=1) > clearance).all():
            regions.append(Region(frame, x, y))
    raise ValueError(
        f"frames {list(numbers)} have no room for {settings.backgrounds} regions without a vehicle"
    )


@dataclass(frozen=True)
class Detector:
    """Weights and slots of a detector, and the numbers of its training."""

    w: NDArray[np.float64]
    slots: SlotMap
    n_samples: int
    n_virtual: int  #: transformed samples used by the optimizer
    gap: float  #: relative gap

    def scores(self, grid: NDArray[np.float32], assigned: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the score of each window of a frame; ``assigned`` is the slot of each."""
        return score_windows(self.w, grid, assigned)


@dataclass(frozen=True)
class PoseDetector:
    """Weights of a linear detector that searches the pose of each car."""

    w: NDArray[np.float64]
    n_samples: int
    n_poses: int  #: rotations over the full circle
    gap: float  #: relative gap of the last convex problem

    def scores(
        self, image: NDArray[np.uint8], settings: Settings
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the centers (x, y) of the windows of a frame under all rotations, and their scores."""
        height, width = image.shape[:2]
        middle = width // 2, height // 2
        centers, scores = [], []
        for t in rotations(self.n_poses):
            grid = _rotated_grid(image, middle, t.angle, settings.cell)
            shape = windows_shape(grid.shape[:2])
            rows, columns = (settings.cell * (np.arange(n) - (n - 1) / 2) for n in shape)
            found = np.add(t.inverse_output(np.stack(np.meshgrid(columns, rows), axis=-1)), middle)
            inside = ((found >= 0) & (found < (width, height))).all(axis=-1)
            flat = score_windows(self.w, grid, np.zeros(shape, dtype=np.int64)).ravel()
            centers.append(found[inside])
            scores.append(flat[inside])
        return np.concatenate(centers), np.concatenate(scores).astype(np.float64)


def _rotated_grid(
    image: NDArray[np.uint8], middle: tuple[int, int], angle: float, cell: int
) -> NDArray[np.float32]:
    """Return the HOG cells of a rotated frame, with room for a window around each of its pixels."""
    height, width = image.shape[:2]
    c, s = abs(np.cos(angle)), abs(np.sin(angle))
    # Odd numbers of cells, so that the middle of the frame is that of a cell; two more are left out by hog.
    extents = (width * s + height * c, width * c + height * s)
    cells = [2 * int(np.ceil(extent / (2 * cell))) + WINDOW[0] + 2 for extent in extents]
    side = cell * max(cells)
    top, left = ((side - cell * n) // 2 for n in cells)
    patch = turned_patch(image, middle, side, angle)
    return hog(patch[top : side - top, left : side - left], cell)


class Trainer:
    """Training of the four methods; the cells of regions and of their rotations are computed once."""

    def __init__(self, frames: Frames, settings: Settings, seed: int):
        self.frames, self.settings, self.seed = frames, settings, seed
        self.grids = RegionGrids(frames.images, settings.cells, settings.cell)

    def regions(self, scenes: Sequence[str]) -> tuple[list[Region], list[NDArray[np.float64]]]:
        """Return the regions of several scenes; those of one scene do not depend on the others."""
        chosen = [
            choose_regions(
                self.frames,
                scene,
                self.settings,
                np.random.default_rng([self.seed, self.frames.scene_names.index(scene)]),
            )
            for scene in scenes
        ]
        return [x for X, _ in chosen for x in X], [y for _, Y in chosen for y in Y]

    def train(self, method: str, scenes: Sequence[str], C: Sequence[float]) -> list[Detector]:
        """Return a detector for each C, ascending; each fit starts with the planes of the previous one."""
        has_slots, equivariant = METHODS[method]
        X, Y = self.regions(scenes)
        transformations = rotations(self.settings.rotations if equivariant else 1)
        task = self._task(self._single_slot(), transformations)
        if has_slots:
            task = self._task(self._learn_slots(task, X, Y), transformations)
        risk = StructuredRisk(task, X, Y, "slack")
        detectors, planes = [], None
        for value in sorted(C):
            result = minimize(
                risk, L2(1 / (value * len(X))), tol=self.settings.tol, max_iter=_MAX_ITER, planes=planes
            )
            planes = result.planes
            n_virtual = len(task.virtual_samples)
            detectors.append(Detector(result.w, task.task.slots, len(X), n_virtual, result.relative_gap))
        return detectors

    def train_latent(self, scenes: Sequence[str], C: float) -> PoseDetector:
        """Return the linear detector with the pose as a latent variable."""
        X, Y = self.regions(scenes)
        task = LocationTask(self.grids, self._single_slot(), self.settings.tolerance)
        svm = LatentSVM(
            LatentLocationTask(task, rotations(self.settings.rotations)), C=C, tol=self.settings.tol
        ).fit(X, Y)
        gap = svm.result_.history.relative_gap[-1]
        return PoseDetector(svm.coef_, len(X), self.settings.rotations, gap)

    def _task(self, slots: SlotMap, transformations: list) -> EquivariantLocationTask:
        return EquivariantLocationTask(
            LocationTask(self.grids, slots, self.settings.tolerance), transformations
        )

    def _single_slot(self) -> SlotMap:
        """Return the slot map of the linear methods."""
        return SlotMap(1).fit(np.zeros((1, WINDOW[0] * WINDOW[1] * 31)))

    def _learn_slots(self, task: EquivariantLocationTask, X: list, Y: list) -> SlotMap:
        """Find slots by k-means on windows of the transformed regions, half of them cars."""
        batch, _ = task.prepare_batch(X, Y)
        rng = np.random.default_rng([self.seed, 1])
        n_samples, n_versions = batch.stack.shape[:2]
        cars = np.argwhere(np.broadcast_to(~batch.empty[:, None], (n_samples, n_versions)))
        cars = rng.permutation(cars)[: self.settings.slot_windows // 2]
        places = [(*pair, *batch.truth[tuple(pair)]) for pair in cars]
        shape = batch.slots.shape
        places += [
            tuple(rng.integers(shape)) for _ in range(min(len(places), self.settings.slot_windows // 2))
        ]
        descriptors = [
            batch.stack[i, t, r : r + WINDOW[0], c : c + WINDOW[1]].ravel() for i, t, r, c in places
        ]
        return SlotMap(self.settings.n_slots, random_state=self.seed).fit(np.array(descriptors))
