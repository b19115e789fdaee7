"""Frames, settings and detections that all stages of the experiment with aerial cars share.

One scene is tested at a time; regions, slots and C come from the other two scenes alone.

Annotated boxes are upright whatever the angle of a car, so their overlap says little. A car counts as found
by the distance of the centers, or by the overlap of squares of one size around them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.detection.boxes import as_boxes, overlap, suppress
from ermlab.kernels.slot import WINDOW
from ermlab.metrics.detection import DetectionCurve, Measure, detection_curve

#: For each method whether it has slots and whether it is equivariant.
METHODS = {
    "linear": (False, False),
    "linear_equivariant": (False, True),
    "slot": (True, False),
    "slot_equivariant": (True, True),
}
#: The foil: the linear detector with the pose of the car as a latent variable, with the C of another method.
LATENT, LATENT_PRICE = "linear_latent", "linear_equivariant"
LATENT_TITLE = "linear, latent pose"
TITLES = {
    "linear": "linear",
    "linear_equivariant": "linear, equivariant",
    "slot": "slot",
    "slot_equivariant": "slot, equivariant",
}
#: Cells that the grid of a frame adds on each side, so that a window can be centered on a car at the border.
PAD = 4


@dataclass(frozen=True)
class Settings:
    """Settings that all methods share; workflow/schemas/config.schema.yaml gives the reasons."""

    cell: int  #: side of a HOG cell in pixels
    cells: int  #: cells along a region
    tolerance: float  #: largest distance in pixels between a correct location and the car
    n_slots: int
    rotations: int
    cars: int  #: largest number of regions around a car per scene
    backgrounds: int  #: regions without a car per scene
    slot_windows: int  #: largest number of windows for k-means
    tol: float  #: relative gap at which the optimizer stops
    max_boxes: int  #: largest number of detections per frame
    max_overlap: float  #: largest overlap of the squares of two detections

    @property
    def side(self) -> int:
        """Side of a window in pixels."""
        return WINDOW[0] * self.cell


@dataclass(frozen=True)
class Frames:
    """Frames with the centers of their vehicles."""

    images: tuple[NDArray[np.uint8], ...]
    centers: tuple[NDArray[np.float64], ...]
    others: tuple[NDArray[np.bool_], ...]  #: whether a vehicle is not a car
    scenes: NDArray[np.str_]

    def of_scene(self, scene: str) -> list[int]:
        """Return the indices of the frames of a scene."""
        return np.flatnonzero(self.scenes == scene).tolist()

    @cached_property
    def scene_names(self) -> list[str]:
        """The scenes in alphabetical order."""
        return sorted(set(self.scenes.tolist()))

    def save(self, path: str | Path) -> None:
        """Write the frames to an npz file."""
        arrays = {
            f"{name}_{i:03d}": array
            for name in ("images", "centers", "others")
            for i, array in enumerate(getattr(self, name))
        }
        np.savez(path, scenes=self.scenes, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> "Frames":
        """Read frames that `save` wrote."""
        with np.load(path, allow_pickle=False) as content:
            names = sorted(content.files)
            fields = {
                field: tuple(content[name] for name in names if name.startswith(f"{field}_"))
                for field in ("images", "centers", "others")
            }
            return cls(**fields, scenes=content["scenes"])


def load_grids(path: str | Path) -> list[NDArray[np.float32]]:
    """Read the HOG cells of all frames, in their order."""
    with np.load(path, allow_pickle=False) as content:
        return [content[name] for name in sorted(content.files)]


def window_centers(shape: tuple[int, int], cell: int) -> NDArray[np.int64]:
    """Return the center pixels (x, y) of the windows of a frame's grid, (rows, columns, 2)."""
    rows, columns = np.indices(shape)
    first = (1 - PAD) * cell + WINDOW[0] * cell // 2
    return first + cell * np.stack([columns, rows], axis=-1)


def detect(scores: NDArray[np.float32], settings: Settings) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the centers of the best windows of a frame after suppression, and their scores, best first."""
    centers = window_centers(scores.shape, settings.cell).reshape(-1, 2)
    return keep_best(centers, scores.ravel().astype(np.float64), settings)


def keep_best(
    centers: NDArray, scores: NDArray[np.float64], settings: Settings
) -> tuple[NDArray, NDArray[np.float64]]:
    """Return the centers (x, y) of the best windows after suppression, and their scores, best first."""
    kept = suppress(squares(centers, settings.side), scores, settings.max_boxes, settings.max_overlap)
    return centers[kept], scores[kept]


def squares(centers: ArrayLike, side: int) -> NDArray[np.int64]:
    """Return boxes of ``side`` x ``side`` pixels (odd) around the pixels nearest to (n, 2) points."""
    if side != int(side) or side < 1 or side % 2 == 0:
        raise ValueError(f"side is {side}: expected an odd whole number, so that there is a center pixel")
    middles = np.floor(np.reshape(centers, (-1, 2)) + 0.5).astype(np.int64)
    half = int(side) // 2
    return np.hstack([middles - half, middles + half])


def center_agreement(radius: float) -> Measure:
    """Return an agreement of boxes that is at least 0.5 if their centers are at most ``radius`` apart.

    It is ``max(1 - (d / radius)^2 / 2, 0)`` for the distance ``d``.
    """
    if not radius > 0:
        raise ValueError(f"radius is {radius}: expected a positive number")

    def agreement(boxes: ArrayLike, truth: ArrayLike) -> NDArray[np.float64]:
        found, true = (
            (corners[:, :2] + corners[:, 2:]) / 2 for corners in (as_boxes(boxes), as_boxes(truth, "truth"))
        )
        distances = np.linalg.norm(found[:, None] - true[None], axis=-1)
        return np.maximum(1 - (distances / radius) ** 2 / 2, 0.0)

    return agreement


def criteria(radius: float) -> dict[str, Measure]:
    """Return the two agreements of squares: ``"center"``, the main one, and ``"pascal"``."""
    return {"center": center_agreement(radius), "pascal": overlap}


def car_curve(
    frames: Frames,
    numbers: Sequence[int],
    found: Sequence[tuple[ArrayLike, ArrayLike]],
    side: int,
    measure: Measure,
) -> DetectionCurve:
    """Return the curve of detections in several frames.

    Parameters
    ----------
    frames : Frames
        Ground truth. Vehicles that are not cars neither count as found nor as false positives.
    numbers : sequence of int
        Indices of the frames.
    found : sequence of tuple
        Centers (n, 2) and scores (n,) of the detections in each of these frames.
    side : int
        Side of the squares around detections and vehicles.
    measure : callable
        One of `criteria`.
    """
    return detection_curve(
        [squares(centers, side) for centers, _ in found],
        [scores for _, scores in found],
        [squares(frames.centers[i], side) for i in numbers],
        [frames.others[i] for i in numbers],
        measure=measure,
    )
