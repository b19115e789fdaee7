"""Films of cells: detections and their known true tracks, and pairs of successive frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.array_files import ArrayFile
from ermlab.tracking.annotations import Annotation, annotate
from ermlab.tracking.assignment import Assigner, Hypotheses
from ermlab.tracking.ctc import Lineage
from ermlab.tracking.events import Cells, Gates, hypotheses_between

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]
#: Largest label, frame and side: sums of them fit into any integer type in use.
_LARGEST = np.iinfo(np.int32).max
#: Largest number of frames; each takes memory even without a cell.
_MAX_FRAMES = 10_000_000


@dataclass(frozen=True)
class CellFilm(ArrayFile):
    """Detections of a film, ordered by frame.

    Parameters
    ----------
    frame : ndarray of shape (n_detections,)
        Frame of each detection, ascending from 0.
    position, area, intensity, eccentricity : ndarray
        As in `Cells`, for all detections.
    shape : ndarray of shape (2,)
        Height and width of a frame.
    n_frames : int
        Number of frames, including those without a detection.
    tracks : ndarray of shape (n_rows, 2)
        Rows (detection, true track), ordered by detection. A detection of several cells has several rows, one
        whose track is unknown has none.
    lineage : ndarray of shape (n_tracks, 4)
        Rows (label, first frame, last frame, parent or 0) of the true tracks.
    """

    frame: Numbers
    position: Vector
    area: Vector
    intensity: Vector
    eccentricity: Vector
    shape: Numbers
    n_frames: int
    tracks: Numbers
    lineage: Numbers

    def __post_init__(self) -> None:
        self._check_types()
        n = len(self.frame)
        if np.any(np.diff(self.frame) < 0) or (
            n and not 0 <= self.frame[0] <= self.frame[-1] < self.n_frames
        ):
            raise ValueError(f"frame: expected ascending numbers from 0 to {self.n_frames - 1}")
        for name, array, width in (("tracks", self.tracks, 2), ("lineage", self.lineage, 4)):
            if np.ndim(array) != 2 or np.shape(array)[1] != width:
                raise ValueError(f"{name} has shape {np.shape(array)}: expected (rows, {width})")
        tracked = self.tracks[:, 0]
        if np.any(np.diff(tracked) < 0) or (len(tracked) and not 0 <= tracked[0] <= tracked[-1] < n):
            raise ValueError(f"tracks: expected rows ordered by detection, from 0 to {n - 1}")
        self._check_lineage()
        self._check_tracks()

    def _check_types(self) -> None:
        """Raise a ValueError unless types, shapes and sizes are valid."""
        if not isinstance(self.n_frames, (int, np.integer)) or not 0 <= self.n_frames <= _MAX_FRAMES:
            raise ValueError(f"n_frames is {self.n_frames!r}: expected a whole number up to {_MAX_FRAMES}")
        for name in ("frame", "shape", "tracks", "lineage"):
            array = np.asarray(getattr(self, name))
            if array.dtype.kind not in "iu" and array.size:
                raise ValueError(f"{name} is of {array.dtype}: expected whole numbers")
            if array.size and not -_LARGEST <= array.min() <= array.max() <= _LARGEST:
                raise ValueError(
                    f"{name} holds numbers from {array.min()} to {array.max()}: expected 32 bits"
                )
            object.__setattr__(self, name, array.astype(np.int64, copy=False))
        if self.shape.shape != (2,) or self.shape.min() < 0:
            raise ValueError(f"shape is {self.shape.tolist()}: expected height and width")
        n = self.frame.size
        for name in ("frame", "position", "area", "intensity", "eccentricity"):
            shape, expected = np.shape(getattr(self, name)), (n, 2) if name == "position" else (n,)
            if shape != expected:
                raise ValueError(f"{name} has shape {shape}: expected {expected}")

    def _check_lineage(self) -> None:
        """Raise a ValueError unless each track has one row and ends before its children begin."""
        label, begin, end, parent = self.lineage.T
        if label.min(initial=1) < 1 or len(np.unique(label)) < len(label):
            raise ValueError("lineage has a label below 1 or twice: expected labels from 1, each once")
        children = np.flatnonzero(parent)
        ended = end[self._rows(parent[children])] < begin[children]
        for child in children[~ended]:
            raise ValueError(
                f"lineage has track {label[child]} from frame {begin[child]} on, before its parent "
                f"{parent[child]} has ended: expected the parent to end first"
            )

    def _check_tracks(self) -> None:
        """Raise a ValueError unless each track is detected only between its first and last frame."""
        detection, track = self.tracks.T
        frame, (begin, end) = self.frame[detection], self.lineage[self._rows(track), 1:3].T
        for seen in np.flatnonzero((frame < begin) | (frame > end)):
            raise ValueError(
                f"tracks has track {track[seen]} in frame {frame[seen]}: expected frames {begin[seen]} to "
                f"{end[seen]}, as in the lineage"
            )

    def _rows(self, tracks: Numbers) -> Numbers:
        """Return the rows of the given tracks in the lineage."""
        label = self.lineage[:, 0]
        if len(unknown := np.setdiff1d(tracks, label)):
            raise ValueError(f"track {unknown[0]} is not in the lineage: expected a row for each track")
        order = np.argsort(label)
        return order[np.searchsorted(label, tracks, sorter=order)]

    def __len__(self) -> int:
        return self.n_frames

    def numbers(self, t: int) -> slice:
        """Return the slice of the detections of frame ``t``."""
        return slice(self._starts[t], self._starts[t + 1])

    def cells(self, t: int) -> Cells:
        """Return the detections of frame ``t``."""
        here = self.numbers(t)
        height, width = self.shape
        return Cells(
            self.position[here],
            self.area[here],
            self.intensity[here],
            self.eccentricity[here],
            (int(height), int(width)),
        )

    def tracks_in(self, t: int) -> list[set[int]]:
        """Return the true tracks of each detection of frame ``t``."""
        here = self.numbers(t)
        found: list[set[int]] = [set() for _ in range(here.stop - here.start)]
        first, last = np.searchsorted(self.tracks[:, 0], [here.start, here.stop])
        for detection, track in self.tracks[first:last].tolist():
            found[detection - here.start].add(track)
        return found

    @cached_property
    def true_lineage(self) -> Lineage:
        """The true tracks."""
        return Lineage(*self.lineage.T)

    @cached_property
    def _starts(self) -> Numbers:
        return np.searchsorted(self.frame, np.arange(self.n_frames + 1))


@dataclass(frozen=True)
class FramePair:
    """Two successive frames: the candidate events and the known ones."""

    frame: int  #: index of the first frame
    hypotheses: Hypotheses
    annotation: Annotation

    @cached_property
    def assigner(self) -> Assigner:
        """Search for assignments; cached, since to build it may take longer than a search."""
        return Assigner(self.hypotheses)


def frame_pairs(film: CellFilm, gates: Gates, frames: range | None = None) -> list[FramePair]:
    """Return pairs of successive frames with their candidate events and known true events.

    Parameters
    ----------
    film : CellFilm
        The detections.
    gates : Gates
        Limits of the candidate events.
    frames : range, optional
        Indices of the first frames, by default all but the last.
    """
    frames = range(len(film) - 1) if frames is None else frames
    if len(frames) and not 0 <= min(frames[0], frames[-1]) <= max(frames[0], frames[-1]) < len(film) - 1:
        raise ValueError(f"frames are {frames}: expected first frames 0 to {len(film) - 2}")
    pairs = []
    for t in frames:
        hypotheses = hypotheses_between(film.cells(t), film.cells(t + 1), gates)
        pairs.append(FramePair(t, hypotheses, _Deferred(partial(_known_events, film, hypotheses, t))))
    return pairs


class _Deferred(Annotation):
    """An annotation that is found when it is first used, as predictions do without."""

    def __init__(self, find: Callable[[], Annotation]):
        object.__setattr__(self, "_find", find)

    def __getattr__(self, name: str) -> Any:
        """Find the annotation: its attributes are missing only before."""
        if name not in Annotation.__dataclass_fields__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.__dict__.update(vars(self._find()))
        return self.__dict__[name]


def _known_events(film: CellFilm, hypotheses: Hypotheses, t: int) -> Annotation:
    return annotate(hypotheses, film.tracks_in(t), film.tracks_in(t + 1), film.true_lineage, t)


def halves(film: CellFilm) -> tuple[range, range]:
    """Return the first frames of the pairs in each half of a film, for training and test.

    The pair between the halves is left out, so that no frame is in both.
    """
    middle = (len(film) - 1) // 2
    return range(middle), range(middle + 1, len(film) - 1)
