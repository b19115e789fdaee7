"""Pairs of frames cut into small patches, the samples of active learning (cheap-data, section 1.4.4).

The cells of the first frame are divided among windows, which are halved at wide gaps between cells until none
has too many. A cell of the second frame joins the window of its probable source: the cell it is matched with
if all cells together move as little as possible, else the nearest. This does not depend on the annotation.
Events with cells of two patches are hypotheses of neither, and unknown in both if they are true.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from ermlab.tracking.annotations import Annotation, Event
from ermlab.tracking.assignment import NONE, Candidates, Hypotheses
from ermlab.tracking.events import Cells, Gates, typical_size
from ermlab.tracking.films import CellFilm, FramePair, frame_pairs
from ermlab.tracking.small_assignment import SmallAssigner, SmallHypotheses

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Patch(FramePair):
    """A small pair of frames: some cells of two successive frames.

    Features are those of the whole frames. The annotation has the true events with all cells in the patch.
    """

    sources: Numbers  #: indices of its cells in the first frame
    targets: Numbers  #: indices of its cells in the second frame
    events: Numbers  #: indices of its hypotheses among those of the pair of frames

    @cached_property
    def assigner(self) -> SmallAssigner:
        """Search for assignments by branch and bound, which is fast for few cells."""
        return SmallAssigner(self.hypotheses)


def film_patches(film: CellFilm, gates: Gates, max_cells: int, frames: range | None = None) -> list[Patch]:
    """Return the patches of the pairs of frames of a film.

    Parameters
    ----------
    film : CellFilm
        The detections.
    gates : Gates
        Limits of the candidate events.
    max_cells : int
        Largest number of cells of the first frame in a patch.
    frames : range, optional
        Indices of the first frames, by default all but the last.
    """
    return pair_patches(film, frame_pairs(film, gates, frames), gates, max_cells)


def pair_patches(film: CellFilm, pairs: Iterable[FramePair], gates: Gates, max_cells: int) -> list[Patch]:
    """Return the patches of given pairs of frames of a film; see `film_patches`."""
    patches = []
    for pair in pairs:
        frames = (film.cells(pair.frame), film.cells(pair.frame + 1))
        patches += _cut(pair, *patch_numbers(*frames, gates, max_cells))
    return patches


def patch_numbers(before: Cells, after: Cells, gates: Gates, max_cells: int) -> tuple[Numbers, Numbers]:
    """Return the index of the patch of each cell, for both frames."""
    if max_cells < 1:
        raise ValueError(f"max_cells is {max_cells}: expected at least 1 cell per patch")
    if not len(before):
        return np.zeros(0, dtype=np.int64), _windows(after, max_cells)
    windows = _windows(before, max_cells)
    return windows, windows[_probable_sources(before, after, gates)]


def _cut(pair: FramePair, sources: Numbers, targets: Numbers) -> list[Patch]:
    """Return the patches of a pair of frames, given the index of the patch of each cell."""
    events_of = _patch_of_events(pair.hypotheses, sources, targets)
    truth = np.isin(np.arange(len(pair.hypotheses)), pair.annotation.events)
    patches = []
    for number in range(max(sources.max(initial=-1), targets.max(initial=-1)) + 1):
        own_sources, own_targets = np.flatnonzero(sources == number), np.flatnonzero(targets == number)
        events = np.flatnonzero(events_of == number)
        hypotheses = _part(pair.hypotheses, events, own_sources, own_targets)
        annotation = Annotation(
            np.flatnonzero(truth[events]),
            _lost_inside(pair.annotation, own_sources.tolist(), own_targets.tolist()),
            hypotheses.is_assignment(truth[events]),
        )
        patches.append(Patch(pair.frame, hypotheses, annotation, own_sources, own_targets, events))
    return patches


def _windows(cells: Cells, max_cells: int) -> Numbers:
    """Return the index of the window of each cell: the frame is halved until none has over ``max_cells``.

    A window is halved across its longer side, at the widest gap between cells of its middle third.
    """
    windows = np.empty(len(cells), dtype=np.int64)
    parts = [(np.arange(len(cells)), np.zeros(2), np.array(cells.shape, dtype=np.float64))]
    count = 0
    while parts:
        here, low, high = parts.pop()
        if len(here) <= max_cells:
            windows[here] = count
            count += len(here) > 0
            continue
        side = int(np.argmax(high - low))
        here = here[np.argsort(cells.position[here, side], kind="stable")]
        place = cells.position[here, side]
        first = max(len(here) // 3, 1)
        after = first + int(np.argmax(np.diff(place[first - 1 : len(here) - first + 1])))
        border = (place[after - 1] + place[after]) / 2
        parts.append((here[after:], np.where(np.arange(2) == side, border, low), high))
        parts.append((here[:after], low, np.where(np.arange(2) == side, border, high)))
    return windows


def _probable_sources(before: Cells, after: Cells, gates: Gates) -> Numbers:
    """Return the probable source in the first frame of each cell of the second."""
    if not len(after):
        return np.zeros(0, dtype=np.int64)
    sources = cKDTree(before.position).query(after.position)[1]
    distance = cdist(before.position, after.position)
    reach = gates.move * typical_size([before, after])
    i, j = linear_sum_assignment(np.minimum(distance, reach))
    near = distance[i, j] < reach
    sources[j[near]] = i[near]
    return sources


def _patch_of_events(hypotheses: Hypotheses, sources: Numbers, targets: Numbers) -> Numbers:
    """Return the patch that has all cells of a hypothesis, `NONE` if there is none, for each hypothesis."""
    patches = np.hstack(
        [
            np.where(cells == NONE, NONE, numbers[cells] if len(numbers) else NONE)
            for cells, numbers in ((hypotheses.sources, sources), (hypotheses.targets, targets))
        ]
    )
    patch = patches.max(axis=1, initial=NONE)
    return np.where(((patches == NONE) | (patches == patch[:, None])).all(axis=1), patch, NONE)


def _part(whole: Hypotheses, events: Numbers, sources: Numbers, targets: Numbers) -> SmallHypotheses:
    """Return some of the hypotheses, with new indices of the cells."""
    starts = np.cumsum([0, *map(len, whole.candidates.values())])
    first = np.searchsorted(events, starts)
    candidates = {}
    for k, (name, kind) in enumerate(whole.candidates.items()):
        rows = events[first[k] : first[k + 1]] - starts[k]
        candidates[name] = Candidates(
            _places(kind.sources[rows], sources), _places(kind.targets[rows], targets), kind.features[rows]
        )
    return SmallHypotheses(len(sources), len(targets), candidates)


def _places(cells: Numbers, own: Numbers) -> Numbers:
    """Return the positions of cells among those of the patch; `NONE` stays."""
    return np.where(cells == NONE, NONE, np.searchsorted(own, cells))


def _lost_inside(annotation: Annotation, sources: list[int], targets: list[int]) -> tuple[Event, ...]:
    """Return the true events within the patch that are no hypothesis, with new indices of the cells."""
    return tuple(
        (kind, tuple(map(sources.index, before)), tuple(map(targets.index, after)))
        for kind, before, after in annotation.lost
        if set(before) <= set(sources) and set(after) <= set(targets)
    )
