"""A few cells of a film, cut out to be looked at."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.array_files import ArrayFile
from ermlab.tracking.annotations import Family
from ermlab.tracking.ctc import Lineage
from ermlab.tracking.films import CellFilm


@dataclass(frozen=True)
class TrackedFrames(ArrayFile):
    """A part of the view of a film, with tracks that were found.

    Parameters
    ----------
    images
        Grey, (frames, height, width).
    masks
        Track at each pixel, 0 for the background, of the same shape.
    lineage
        Rows (label, first frame, last frame, parent or 0) of the tracks.
    """

    images: NDArray[np.uint16]
    masks: NDArray[np.int32]
    lineage: NDArray[np.int64]


def cut_middle(
    images: Sequence[NDArray], masks: Sequence[NDArray], lineage: Lineage, side: int
) -> TrackedFrames:
    """Return the square of so many pixels in the middle of the view, all of it where it is smaller."""
    height, width = images[0].shape
    top, left = (max((extent - side) // 2, 0) for extent in (height, width))
    part = np.s_[top : top + side, left : left + side]
    return TrackedFrames(
        np.stack([np.asarray(image)[part] for image in images]),
        np.stack([np.asarray(mask)[part] for mask in masks]).astype(np.int32),
        np.array(lineage.rows(), dtype=np.int64).reshape(-1, 4),
    )


def cut_film(
    film: CellFilm, frames: range, corner: tuple[float, float] = (0, 0), shape: tuple[int, int] | None = None
) -> CellFilm:
    """Return the detections of some frames in a part of the view, in its coordinates.

    Tracks and lineage stay as they are known, with frames counted from the first that is left.

    Parameters
    ----------
    corner, shape
        Upper left corner, and height and width; by default all of the view.
    """
    shape = tuple(film.shape.tolist()) if shape is None else shape
    place = film.position - np.asarray(corner)
    kept = (place >= 0).all(axis=1) & (place < shape).all(axis=1)
    kept &= (film.frame >= frames.start) & (film.frame < frames.stop)
    number = np.cumsum(kept) - 1
    rows = film.tracks[kept[film.tracks[:, 0]]]
    return CellFilm(
        frame=film.frame[kept] - frames.start,
        position=place[kept],
        area=film.area[kept],
        intensity=film.intensity[kept],
        eccentricity=film.eccentricity[kept],
        shape=np.array(shape),
        n_frames=len(frames),
        tracks=np.column_stack([number[rows[:, 0]], rows[:, 1]]),
        lineage=film.lineage - np.array([0, frames.start, frames.start, 0]),
    )


def few_cells(film: CellFilm, frames: range, side: int) -> tuple[int, tuple[int, int]]:
    """Return the first frame and the corner of a square with few cells of which as much as possible happens.

    Squares are those around each cell, within the frame. One with a division comes first, then one with three
    cells before and four after, or as near to that as there is.

    Parameters
    ----------
    frames
        First frames to choose from.
    """
    family = Family(film.true_lineage)
    best, chosen = None, None
    for t in frames:
        tracks = film.tracks_in(t)
        for cell, place in enumerate(film.cells(t).position):
            corner = np.clip(np.rint(place - side / 2), 0, np.maximum(film.shape - side, 0)).astype(int)
            cut = cut_film(film, range(t, t + 2), tuple(corner), (side, side))
            before, after = len(cut.cells(0)), len(cut.cells(1))
            divides = any(family.divides(track, t) for track in tracks[cell])
            rank = (not divides, abs(before - 3) + abs(after - 4))
            if best is None or rank < best:
                best, chosen = rank, (t, (int(corner[0]), int(corner[1])))
    if chosen is None:
        raise ValueError(f"no cell in frames {frames}: expected at least one")
    return chosen
