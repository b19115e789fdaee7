"""Tracks from events between frames, with one label per detection as in the Cell Tracking Challenge.

A move continues a track, a division ends it and begins one per child, an appearance begins one. As detections
may be pieces of a cell, or several cells in one:

- The pieces of a cell that splits, whose pieces only move until they merge again, keep its label.
- Two tracks that merge otherwise are two cells detected as one, which has the label of the larger. When it
  splits, one part continues this label; the other begins a track whose parent is the hidden track, which is
  how the files describe a gap.
- A detection that splits otherwise had been two cells. The larger part continues the label, the other begins
  a track without a parent, since no cell divided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.tracking.assignment import EVENTS, NONE, Assignment
from ermlab.tracking.cells import as_label_image
from ermlab.tracking.ctc import Lineage
from ermlab.tracking.films import CellFilm, FramePair

Numbers = NDArray[np.int64]
_NAMES = tuple(EVENTS)


@dataclass(frozen=True)
class CellTracks:
    """Tracks of the detections of a film.

    Parameters
    ----------
    label : ndarray of shape (n_detections,)
        Track of each detection of the film, from 1; 0 in frames that were not tracked.
    lineage : Lineage
        First and last frame of each track, and its parent.
    """

    label: NDArray[np.int64]
    lineage: Lineage


@dataclass(frozen=True, eq=False)
class _Event:
    """An event, with the indices of its detections in the film."""

    kind: str
    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(frozen=True)
class _Step:
    """What happened between two frames; most events are moves, which are followed all at once."""

    before: Numbers  #: detection that each move begins with
    after: Numbers  #: detection that it ends with
    events: list[_Event]  #: all others


def track_film(film: CellFilm, pairs: Sequence[FramePair], assignments: Sequence[Assignment]) -> CellTracks:
    """Return the tracks that the events between all successive frames make up.

    Parameters
    ----------
    film : CellFilm
        The detections.
    pairs : sequence of FramePair
        All pairs of successive frames of the film, in order.
    assignments : sequence of ndarray of bool
        Masks of the events of each pair that happened.
    """
    if [pair.frame for pair in pairs] != list(range(len(film) - 1)) or len(pairs) != len(assignments):
        raise ValueError(
            f"pairs of frames {[pair.frame for pair in pairs]} and {len(assignments)} assignments: "
            f"expected all of 0 to {len(film) - 2}"
        )
    steps = [
        _happened(film, pair, np.asarray(chosen, dtype=bool))
        for pair, chosen in zip(pairs, assignments, strict=True)
    ]
    return _Labels(film, steps).tracks()


def relabel(label_images: Iterable[ArrayLike], film: CellFilm, label: Numbers) -> Iterator[NDArray[np.int32]]:
    """Yield label images whose regions have the labels of their tracks.

    Parameters
    ----------
    label_images : iterable of array-like
        The label image of each frame; its regions, by ascending label, are the detections.
    film : CellFilm
        The detections.
    label : ndarray of shape (n_detections,)
        Label of each detection, as in `CellTracks`.
    """
    t = -1
    for t, image in enumerate(label_images):
        if t == len(film):
            raise ValueError(f"more than {t} label images: expected {t}, as the film has frames")
        image = as_label_image(image)
        regions, number = np.unique(image, return_inverse=True)
        here = label[film.numbers(t)]
        background = regions[:1] == 0
        if len(regions) - background.sum() != len(here):
            raise ValueError(
                f"frame {t} has {len(regions) - background.sum()} regions: expected {len(here)}, "
                f"as the film has detections"
            )
        table = np.concatenate([np.zeros(background.sum(), dtype=np.int32), here.astype(np.int32)])
        yield table[number].reshape(image.shape)
    if t + 1 != len(film):
        raise ValueError(f"{t + 1} label images: expected {len(film)}, as the film has frames")


def _happened(film: CellFilm, pair: FramePair, chosen: Assignment) -> _Step:
    hypotheses = pair.hypotheses
    if chosen.shape != (len(hypotheses),) or not hypotheses.is_assignment(chosen):
        raise ValueError(
            f"the events of frame {pair.frame} are no assignment: expected one fate or past for each cell"
        )
    first, second = film.numbers(pair.frame).start, film.numbers(pair.frame + 1).start
    n_moves = len(hypotheses.candidates["move"])
    moves, others = np.flatnonzero(chosen[:n_moves]), n_moves + np.flatnonzero(chosen[n_moves:])
    columns = (hypotheses.kind[others], hypotheses.sources[others], hypotheses.targets[others])
    events = [
        _Event(
            _NAMES[kind],
            tuple(first + i for i in sources if i != NONE),
            tuple(second + j for j in targets if j != NONE),
        )
        for kind, sources, targets in zip(*(column.tolist() for column in columns), strict=True)
    ]
    return _Step(first + hypotheses.sources[moves, 0], second + hypotheses.targets[moves, 0], events)


class _Labels:
    """Assignment of labels to detections, event by event."""

    def __init__(self, film: CellFilm, steps: Sequence[_Step]):
        self._film, self._steps = film, steps
        self._moved = np.full(len(film.frame), -1)  # where each detection moves, -1 if it does not
        for step in steps:
            self._moved[step.before] = step.after
        self._fate = {
            detection: event for step in steps for event in step.events for detection in event.before
        }
        self._label = np.zeros(len(film.frame), dtype=np.int64)
        self._parents: list[int] = []  # of the labels 1, 2, ...
        # Labels of cells hidden in a detection of another label, and their direction from it before.
        self._hidden: dict[int, list[tuple[int, NDArray[np.float64]]]] = {}

    def tracks(self) -> CellTracks:
        """Return the labels and their lineage."""
        for detection in range(self._film.numbers(0).stop):
            self._begin(detection)
        for step in self._steps:
            self._label[step.after] = self._label[step.before]
            for event in step.events:
                getattr(self, f"_{event.kind}")(event)
        frame = self._film.frame
        order = np.argsort(self._label, kind="stable")
        labels, first, counts = np.unique(self._label[order], return_index=True, return_counts=True)
        lineage = Lineage(
            labels,
            frame[order[first]],
            frame[order[first + counts - 1]],
            np.array(self._parents, dtype=np.int64),
        )
        return CellTracks(self._label, lineage)

    def _begin(self, detection: int, parent: int = 0) -> None:
        self._parents.append(parent)
        self._label[detection] = len(self._parents)

    def _appearance(self, event: _Event) -> None:
        self._begin(event.after[0])

    def _disappearance(self, event: _Event) -> None:
        pass

    def _division(self, event: _Event) -> None:
        parent = int(self._label[event.before[0]])
        for child in event.after:
            self._begin(child, parent)

    def _merge(self, event: _Event) -> None:
        """Continue the larger of two tracks, which hides the other, or the common track of two pieces."""
        large, small = self._by_area(event.before)
        label, other = int(self._label[large]), int(self._label[small])
        self._label[event.after[0]] = label
        if label != other:
            direction = self._film.position[small] - self._film.position[large]
            within = self._hidden.setdefault(label, [])
            within += [*self._hidden.pop(other, []), (other, direction)]

    def _split(self, event: _Event) -> None:
        """Continue the track with both pieces of a cell, or with one of two cells."""
        label = int(self._label[event.before[0]])
        if self._merge_again(*event.after):
            self._label[list(event.after)] = label
            return
        kept, other = self._by_area(event.after)
        parent = 0
        if hidden := self._hidden.get(label):
            parent, direction = hidden.pop()
            if (self._film.position[other] - self._film.position[kept]) @ direction < 0:
                kept, other = other, kept
        self._label[kept] = label
        self._begin(other, parent)

    def _merge_again(self, a: int, b: int) -> bool:
        """Return whether two detections only move until they merge with each other."""
        ends = [self._after_moves(detection) for detection in (a, b)]
        return ends[0] is ends[1] is not None and ends[0].kind == "merge"

    def _after_moves(self, detection: int) -> _Event | None:
        """Return the first event of a detection that is no move; None at the end of the film."""
        while (after := int(self._moved[detection])) >= 0:
            detection = after
        return self._fate.get(detection)

    def _by_area(self, detections: tuple[int, int]) -> list[int]:
        """Return two detections, the larger one first."""
        return sorted(detections, key=lambda detection: -self._film.area[detection])
