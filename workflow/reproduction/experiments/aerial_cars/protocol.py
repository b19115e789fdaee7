"""The experiment with aerial cars: regions to learn from, four detectors, and what they find in a frame.

One scene is tested at a time; regions, slots and the price C come from the other two alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.detection.boxes import suppress
from ermlab.detection.location import (
    NOWHERE,
    EquivariantLocationTask,
    LocationTask,
    rotations,
)
from ermlab.features.hog_cells import hog
from ermlab.features.patches import Region, RegionGrids
from ermlab.kernels.slot import WINDOW, SlotMap, score_windows
from ermlab.metrics.detection import average_precision
from ermlab.optimize import L2, minimize
from ermlab.structured.structured_svm import StructuredRisk
from reproduction.datasets.kit_ais_cars import CAR, read_kit_ais_cars
from reproduction.experiments.aerial_cars.measures import car_curve, criteria, squares

#: For each method whether it has slots and whether it is equivariant.
METHODS = {
    "linear": (False, False),
    "linear_equivariant": (False, True),
    "slot": (True, False),
    "slot_equivariant": (True, True),
}
#: Methods without rotations that are also trained on more regions, to see whether mere numbers would do.
CONTROLS = {"linear_more": "linear", "slot_more": "slot"}
#: Cells around a frame that its grid adds, so that a window can be centred on a car at the border.
PAD = 4
_LIMIT = 500


@dataclass(frozen=True)
class Settings:
    """What all methods share; workflow/schemas/config.schema.yaml says why each is what it is."""

    cell: int  #: side of a HOG cell in pixels
    cells: int  #: cells along a region
    tolerance: float  #: largest distance in pixels of a location that counts as found
    n_slots: int
    rotations: int
    cars: int  #: regions around a car, for each scene
    backgrounds: int  #: regions without a car, for each scene
    slot_windows: int  #: windows that k-means sees at most
    tol: float  #: relative gap of the optimiser
    max_boxes: int  #: detections a frame at most
    max_overlap: float  #: of two detections' squares at most

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Take the settings out of a mapping that may hold more."""
        return cls(**{field.name: values[field.name] for field in fields(cls)})

    @property
    def side(self) -> int:
        """Side of a window in pixels."""
        return WINDOW[0] * self.cell


@dataclass(frozen=True)
class Frames:
    """Frames with the centres of their vehicles."""

    images: tuple[NDArray[np.uint8], ...]
    centres: tuple[NDArray[np.float64], ...]
    others: tuple[NDArray[np.bool_], ...]  #: whether a vehicle is no car
    scenes: NDArray[np.str_]

    def of_scene(self, scene: str) -> list[int]:
        """Return the numbers of a scene's frames."""
        return np.flatnonzero(self.scenes == scene).tolist()

    @cached_property
    def scene_names(self) -> list[str]:
        """The scenes in alphabetical order."""
        return sorted(set(self.scenes.tolist()))


def read_frames(folder: str | Path, frames: int) -> Frames:
    """Read at most so many frames of each scene, evenly spread."""
    data = read_kit_ais_cars(folder)
    numbers = [np.flatnonzero(data.scenes == scene) for scene in dict.fromkeys(data.scenes.tolist())]
    chosen = np.concatenate(
        [some[np.linspace(0, len(some) - 1, min(frames, len(some))).round().astype(int)] for some in numbers]
    )
    return Frames(
        tuple(data.images[i] for i in chosen),
        tuple((data.boxes[i][:, :2] + data.boxes[i][:, 2:]) / 2 for i in chosen),
        tuple(data.labels[i] != CAR for i in chosen),
        data.scenes[chosen],
    )


def frame_grid(image: NDArray, cell: int) -> NDArray[np.float32]:
    """Return the HOG cells of a frame and of `PAD` cells around it."""
    return hog(image, cell, pad=PAD)


def read_grids(path: str | Path) -> list[NDArray[np.float32]]:
    """Read the cells of all frames, in their order."""
    with np.load(path, allow_pickle=False) as content:
        return [content[name] for name in sorted(content.files)]


def window_centres(shape: tuple[int, int], cell: int) -> NDArray[np.int64]:
    """Return the middle pixels (x, y) of the windows of a frame's grid, (rows, columns, 2)."""
    rows, columns = np.indices(shape)
    first = (1 - PAD) * cell + WINDOW[0] * cell // 2
    return first + cell * np.stack([columns, rows], axis=-1)


def choose_regions(
    frames: Frames, scene: str, settings: Settings, rng: np.random.Generator
) -> tuple[list[Region], list[NDArray[np.float64]]]:
    """Draw regions around cars and regions without, and label them.

    The middle of a region is up to half a cell off the car's, as the windows of a frame are. Its label is the
    car, and then all vehicles near enough to come into view: to find another one is no mistake.
    """
    numbers = frames.of_scene(scene)
    cars = [(frame, k) for frame in numbers for k in np.flatnonzero(~frames.others[frame])]
    reach = settings.cell * (settings.cells + 2) * np.sqrt(0.5)
    regions, labels = [], []
    for pick in rng.permutation(len(cars))[: settings.cars]:
        frame, k = cars[pick]
        shift = rng.uniform(-settings.cell / 2, settings.cell / 2, 2)
        x, y = np.round(frames.centres[frame][k] + shift).astype(int).tolist()
        near = frames.centres[frame] - (x, y)
        others = np.linalg.norm(near, axis=1) < reach
        others[k] = False
        regions.append(Region(frame, x, y))
        labels.append(np.vstack([near[k], near[others]]))
    backgrounds = _empty_regions(frames, numbers, settings, rng)
    return regions + backgrounds, labels + [NOWHERE] * len(backgrounds)


def _empty_regions(
    frames: Frames, numbers: Sequence[int], settings: Settings, rng: np.random.Generator
) -> list[Region]:
    """Draw regions none of whose windows, however turned, is right for a vehicle."""
    views = (settings.cells - WINDOW[0]) / 2 * settings.cell
    clear = views * np.sqrt(2) + settings.tolerance
    regions: list[Region] = []
    for _ in range(100 * settings.backgrounds):
        if len(regions) == settings.backgrounds:
            return regions
        frame = int(rng.choice(numbers))
        height, width = frames.images[frame].shape[:2]
        x, y = int(rng.integers(width)), int(rng.integers(height))
        if (np.linalg.norm(frames.centres[frame] - (x, y), axis=1) > clear).all():
            regions.append(Region(frame, x, y))
    raise ValueError(
        f"frames {list(numbers)} have no room for {settings.backgrounds} regions without a vehicle"
    )


@dataclass(frozen=True)
class Detector:
    """Weights and slots, and what the optimiser needed."""

    w: NDArray[np.float64]
    slots: SlotMap
    calls: int
    samples: int
    virtual_samples: int  #: transformed samples used; without transformations all are themselves
    gap: float

    def scores(self, grid: NDArray[np.float32], slots: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the score of each window of a frame."""
        return score_windows(self.w, grid, slots)


class Trainer:
    """Trains the four methods on regions; grids of regions and of their rotations are computed once."""

    def __init__(self, frames: Frames, settings: Settings, seed: int):
        self.frames, self.settings, self.seed = frames, settings, seed
        self.grids = RegionGrids(frames.images, settings.cells, settings.cell)

    def regions(self, scenes: Sequence[str]) -> tuple[list[Region], list[NDArray[np.float64]]]:
        """Return the regions of some scenes; those of a scene do not depend on the others."""
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

    def train(self, method: str, scenes: Sequence[str], prices: Sequence[float]) -> list[Detector]:
        """Return a detector for each price C, rising: planes found for one serve the next."""
        has_slots, equivariant = METHODS[method]
        X, Y = self.regions(scenes)
        turns = rotations(self.settings.rotations if equivariant else 1)
        task = EquivariantLocationTask(
            LocationTask(self.grids, self._linear(), self.settings.tolerance), turns
        )
        if has_slots:
            slots = self._learn_slots(task, X, Y)
            task = EquivariantLocationTask(LocationTask(self.grids, slots, self.settings.tolerance), turns)
        risk = StructuredRisk(task, X, Y, "slack")
        detectors, planes = [], None
        for C in sorted(prices):
            result = minimize(
                risk, L2(1 / (C * len(X))), tol=self.settings.tol, max_iter=_LIMIT, planes=planes
            )
            planes = result.planes
            used = len(task.virtual_samples)
            detectors.append(
                Detector(result.w, task.task.slots, result.n_iter, len(X), used, result.relative_gap)
            )
        return detectors

    def _linear(self) -> SlotMap:
        """Return the map to a single slot."""
        return SlotMap(1).fit(np.zeros((1, WINDOW[0] * WINDOW[1] * 31)))

    def _learn_slots(self, task: EquivariantLocationTask, X: list, Y: list) -> SlotMap:
        """Find slots by k-means on windows of the regions as the method sees them, half of them cars."""
        batch, _ = task.prepare_batch(X, Y)
        rng = np.random.default_rng([self.seed, 1])
        samples, versions = batch.stack.shape[:2]
        cars = np.argwhere(np.broadcast_to(~batch.empty[:, None], (samples, versions)))
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


def detect(scores: NDArray[np.float32], settings: Settings) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the centres of the best windows of a frame that do not overlap, and their scores, best first."""
    centres = window_centres(scores.shape, settings.cell).reshape(-1, 2)
    flat = scores.ravel().astype(np.float64)
    kept = suppress(squares(centres, settings.side), flat, settings.max_boxes, settings.max_overlap)
    return centres[kept], flat[kept]


def choose_prices(
    trainer: Trainer, grids: Sequence[NDArray], prices: Sequence[float]
) -> list[dict[str, Any]]:
    """Train on one scene and look at another, for every pair of scenes, method and price.

    Returns rows with ``method``, ``price``, ``train``, ``test`` and ``ap``, by the distance of centres. For
    the fold that tests a third scene the pairs among the other two are the ones to choose by.
    """
    frames = trainer.frames
    rows = []
    for method in METHODS:
        for train in frames.scene_names:
            detectors = trainer.train(method, [train], prices)
            for test in frames.scene_names:
                if test == train:
                    continue
                numbers = frames.of_scene(test)
                slots = [detectors[0].slots.assign_windows(grids[i]) for i in numbers]
                for C, detector in zip(sorted(prices), detectors, strict=True):
                    scores = [detector.scores(grids[i], q) for i, q in zip(numbers, slots, strict=True)]
                    ap = _average_precision(frames, numbers, scores, trainer.settings)
                    rows.append({"method": method, "price": C, "train": train, "test": test, "ap": ap})
    return rows


def chosen_price(table: pd.DataFrame, method: str, scenes: Sequence[str]) -> float:
    """Return the price with the best mean over the pairs among ``scenes``, the lowest of several.

    ``table`` holds the rows of `choose_prices`; rows that concern other scenes are not looked at.
    """
    rows = table[(table["method"] == method) & table["train"].isin(scenes) & table["test"].isin(scenes)]
    if rows.empty:
        raise ValueError(f"no pair of {list(scenes)} for {method!r}: expected rows of choose_prices")
    return float(rows.groupby("price")["ap"].mean().idxmax())


def _average_precision(
    frames: Frames, numbers: Sequence[int], scores: Sequence[NDArray], settings: Settings
) -> float:
    found = [detect(some, settings) for some in scores]
    curve = car_curve(
        [centres for centres, _ in found],
        [values for _, values in found],
        [frames.centres[i] for i in numbers],
        [frames.others[i] for i in numbers],
        settings.side,
        criteria(settings.tolerance)["centre"],
    )
    return average_precision(curve.precision, curve.recall)
