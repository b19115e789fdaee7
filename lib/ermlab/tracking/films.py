"""Films of cells as a tracker sees them: detections, and as much as is known of their true tracks."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.array_files import ArrayFile
from ermlab.tracking.annotations import Annotation, annotate
from ermlab.tracking.assignment import Assigner, Hypotheses
from ermlab.tracking.ctc import Lineage
from ermlab.tracking.events import Cells, Gates, hypotheses_between

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]
#: Labels, frames and sides stay below, so that sums of them fit into any integer that they are kept in.
_LARGEST = np.iinfo(np.int32).max
#: Frames of a film, of which each takes memory even without a cell.
_MOST_FRAMES = 10_000_000


@dataclass(frozen=True)
class CellFilm(ArrayFile):
    """Detections of a film, ordered by frame.

    Parameters
    ----------
    frame
        Frame of each detection, (n,), from 0, never falling.
    position, area, intensity, eccentricity
        As in `Cells`, for all detections.
    shape
        Height and width of a frame.
    n_frames
        Number of frames; those without a detection count.
    tracks
        Rows (detection, track), by detection: its true track, (m, 2). A detection of several cells that were
        taken for one has several rows, one of which nothing is known has none.
    lineage
        Rows (label, first frame, last frame, parent or 0) of the true tracks, (k, 4).
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
            raise ValueError(f"frame: expected rising numbers from 0 to {self.n_frames - 1}")
        for name, array, width in (("tracks", self.tracks, 2), ("lineage", self.lineage, 4)):
            if np.ndim(array) != 2 or np.shape(array)[1] != width:
                raise ValueError(f"{name} has shape {np.shape(array)}: expected (rows, {width})")
        tracked = self.tracks[:, 0]
        if np.any(np.diff(tracked) < 0) or (len(tracked) and not 0 <= tracked[0] <= tracked[-1] < n):
            raise ValueError(f"tracks: expected rows by detection, those from 0 to {n - 1}")
        self._check_lineage()
        self._check_tracks()

    def _check_types(self) -> None:
        """Raise a ValueError unless whole numbers are such, fit each other and promise no endless film."""
        if not isinstance(self.n_frames, (int, np.integer)) or not 0 <= self.n_frames <= _MOST_FRAMES:
            raise ValueError(f"n_frames is {self.n_frames!r}: expected a whole number up to {_MOST_FRAMES}")
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
        for name, expected in (("frame", (n,)), ("position", (n, 2))):
            if np.shape(getattr(self, name)) != expected:
                raise ValueError(f"{name} has shape {np.shape(getattr(self, name))}: expected {expected}")
        for name in ("area", "intensity", "eccentricity"):
            if np.shape(getattr(self, name)) != (n,):
                raise ValueError(f"{name} has shape {np.shape(getattr(self, name))}: expected {(n,)}")

    def _check_lineage(self) -> None:
        """Raise a ValueError unless each track has one row, and ends before its children begin."""
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
        """Raise a ValueError unless each track is seen in frames in which it lives."""
        detection, track = self.tracks.T
        frame, (begin, end) = self.frame[detection], self.lineage[self._rows(track), 1:3].T
        for seen in np.flatnonzero((frame < begin) | (frame > end)):
            raise ValueError(
                f"tracks has track {track[seen]} in frame {frame[seen]}: expected frames {begin[seen]} to "
                f"{end[seen]}, as in the lineage"
            )

    def _rows(self, tracks: Numbers) -> Numbers:
        """Return the rows of some tracks in the lineage."""
        label = self.lineage[:, 0]
        if len(unknown := np.setdiff1d(tracks, label)):
            raise ValueError(f"track {unknown[0]} is not in the lineage: expected a row for each track")
        order = np.argsort(label)
        return order[np.searchsorted(label, tracks, sorter=order)]

    def __len__(self) -> int:
        return self.n_frames

    def numbers(self, t: int) -> slice:
        """Return which detections are those of frame ``t``."""
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
    """Two successive frames: what may have happened, and what is known of it."""

    frame: int  #: number of the first
    hypotheses: Hypotheses
    annotation: Annotation

    @cached_property
    def assigner(self) -> Assigner:
        """Finds assignments; built once, since that takes longer than many a search."""
        return Assigner(self.hypotheses)


def frame_pairs(film: CellFilm, gates: Gates, frames: range | None = None) -> list[FramePair]:
    """Return successive frames with their hypotheses and true events.

    Parameters
    ----------
    frames
        Numbers of the first frames, by default all but the last.
    """
    frames = range(len(film) - 1) if frames is None else frames
    if len(frames) and not 0 <= min(frames[0], frames[-1]) <= max(frames[0], frames[-1]) < len(film) - 1:
        raise ValueError(f"frames are {frames}: expected first frames 0 to {len(film) - 2}")
    pairs = []
    for t in frames:
        hypotheses = hypotheses_between(film.cells(t), film.cells(t + 1), gates)
        known = annotate(hypotheses, film.tracks_in(t), film.tracks_in(t + 1), film.true_lineage, t)
        pairs.append(FramePair(t, hypotheses, known))
    return pairs


def halves(film: CellFilm) -> tuple[range, range]:
    """Return the first frames of the pairs of either half of a film, one to learn from and one to test on.

    The pair between the halves is left out: no frame is in both.
    """
    middle = (len(film) - 1) // 2
    return range(middle), range(middle + 1, len(film) - 1)
