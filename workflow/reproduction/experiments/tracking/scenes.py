"""Parts of films that pictures show: a few cells, and the middle of the frames with their detections."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.array_files import ArrayFile
from ermlab.tracking.annotations import Family
from ermlab.tracking.films import CellFilm
from ermlab.tracking.lineage import CellTracks, relabel


@dataclass(frozen=True)
class TrackedFrames(ArrayFile):
    """Square in the middle of the frames of a film, with tracks that were found.

    Parameters
    ----------
    images : array of shape (n_frames, height, width)
        Gray values.
    masks : array of shape (n_frames, height, width)
        Track at each pixel, 0 for the background.
    lineage : array of shape (n_tracks, 4)
        Rows (label, first frame, last frame, parent or 0) of the tracks.
    """

    images: NDArray[np.uint16]
    masks: NDArray[np.int32]
    lineage: NDArray[np.int64]


@dataclass(frozen=True)
class DetectedFrames(ArrayFile):
    """Square in the middle of the frames of a film, with the detections of the film.

    Parameters
    ----------
    images : array of shape (n_frames, height, width)
        Gray values.
    detections : array of shape (n_frames, height, width)
        Number of the detection at each pixel, counted from 1 through the whole film, 0 for the background.
    """

    images: NDArray[np.uint16]
    detections: NDArray[np.int32]

    def with_tracks(self, tracks: CellTracks, n_frames: int) -> TrackedFrames:
        """Return the first frames with the tracks of their detections."""
        label = np.concatenate([[0], tracks.label]).astype(np.int32)
        return TrackedFrames(
            self.images[:n_frames],
            label[self.detections[:n_frames]],
            np.array(tracks.lineage.rows(), dtype=np.int64).reshape(-1, 4),
        )


def cut_middle(
    images: Sequence[NDArray], label_images: Iterable[ArrayLike], film: CellFilm, side: int
) -> DetectedFrames:
    """Cut a square from the middle of all frames, or the whole extent where that is smaller.

    Parameters
    ----------
    images, label_images : sequences of arrays
        Frames of a film, and the regions that were detected in them.
    film : CellFilm
        Detections of the film.
    side : int
        Side of the square in pixels.
    """
    height, width = images[0].shape
    top, left = (max((extent - side) // 2, 0) for extent in (height, width))
    part = np.s_[top : top + side, left : left + side]
    detections = relabel(label_images, film, np.arange(1, len(film.frame) + 1))
    return DetectedFrames(
        np.stack([np.asarray(image)[part] for image in images]),
        np.stack([numbers[part] for numbers in detections]),
    )


def cut_film(
    film: CellFilm, frames: range, corner: tuple[float, float] = (0, 0), shape: tuple[int, int] | None = None
) -> CellFilm:
    """Return the detections of successive frames in a part of the view, in its coordinates.

    Tracks and lineage stay as they are known, with frames counted from the first that is kept.

    Parameters
    ----------
    film : CellFilm
        Film to cut.
    frames : range
        Frames to keep.
    corner : tuple, default=(0, 0)
        Upper left corner of the part.
    shape : tuple, default=None
        Height and width of the part; by default those of the film.
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


def few_cells(film: CellFilm, side: int) -> tuple[int, tuple[int, int]]:
    """Return the first frame and the corner of a square that shows a few cells, if possible one that divides.

    Squares are centered at the cells, moved into the frame. Those with a division come first, then those
    closest to three cells before and four after.

    Parameters
    ----------
    film : CellFilm
        Film to choose from.
    side : int
        Side of the square in pixels.
    """
    family = Family(film.true_lineage)
    best, chosen = None, None
    for t in range(len(film) - 1):
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
        raise ValueError(f"no cell in frames 0 to {len(film) - 2}: expected at least one")
    return chosen
