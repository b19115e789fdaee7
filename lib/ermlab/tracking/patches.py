"""Pairs of frames cut into small patches, the samples of active learning (cheap-data, section 1.4.4).

The cells of the first frame are divided among windows, which are halved, where the cells leave a wide gap,
until none has more than a few. A cell of the second frame joins the window of the cell that it may come from:
the one it is matched with when all cells together move as little as they can, else the nearest. None of this
asks for the truth. What takes cells of two patches is a hypothesis of neither; a true event that does is
unknown in both.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from ermlab.tracking.annotations import Annotation
from ermlab.tracking.assignment import NONE, Candidates, Hypotheses
from ermlab.tracking.events import Cells, Gates, typical_size
from ermlab.tracking.films import CellFilm, FramePair, frame_pairs
from ermlab.tracking.small_assignment import SmallAssigner, SmallHypotheses

Numbers = NDArray[np.int64]
#: Kind, cells of the first frame, cells of the second.
Event = tuple[str, tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Patch(FramePair):
    """Some cells of two successive frames: a small pair of frames.

    Features are those of the whole frames. The annotation has the true events with all cells in the patch.
    """

    sources: Numbers  #: numbers of its cells in the first frame
    targets: Numbers  #: numbers of its cells in the second frame
    events: Numbers  #: numbers of its hypotheses among those of the pair of frames

    @cached_property
    def assigner(self) -> SmallAssigner:
        """Finds assignments by enumeration with bounds, which few cells allow."""
        return SmallAssigner(self.hypotheses)


def film_patches(film: CellFilm, gates: Gates, most: int, frames: range | None = None) -> list[Patch]:
    """Return the patches of the pairs of frames of a film, pair by pair.

    Parameters
    ----------
    most
        Cells of the first frame that a patch has at most.
    frames
        Numbers of the first frames, by default all but the last.
    """
    return pair_patches(film, frame_pairs(film, gates, frames), gates, most)


def pair_patches(film: CellFilm, pairs: Iterable[FramePair], gates: Gates, most: int) -> list[Patch]:
    """Return the patches of pairs of frames of a film that are there already; see `film_patches`."""
    patches = []
    for pair in pairs:
        frames = (film.cells(pair.frame), film.cells(pair.frame + 1))
        patches += cut(pair, *patch_numbers(*frames, gates, most))
    return patches


def patch_numbers(before: Cells, after: Cells, gates: Gates, most: int) -> tuple[Numbers, Numbers]:
    """Return the number of the patch of each cell of either frame."""
    if most < 1:
        raise ValueError(f"most is {most}: expected at least 1 cell a patch")
    if not len(before):
        return np.zeros(0, dtype=np.int64), _windows(after, most)
    windows = _windows(before, most)
    return windows, windows[_probable_sources(before, after, gates)]


def cut(pair: FramePair, sources: Numbers, targets: Numbers) -> list[Patch]:
    """Return the patches of a pair of frames, given the number of the patch of each cell, from 0 on."""
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


def _windows(cells: Cells, most: int) -> Numbers:
    """Return the number of the window of each cell: the frame is halved until none has more than ``most``.

    A window is halved across its longer side, in the widest gap of the middle third of its cells.
    """
    windows = np.empty(len(cells), dtype=np.int64)
    parts = [(np.arange(len(cells)), np.zeros(2), np.array(cells.shape, dtype=np.float64))]
    count = 0
    while parts:
        here, low, high = parts.pop()
        if len(here) <= most:
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
    """Return the cell of the first frame that each cell of the second may come from."""
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
    """Return the patch that has all cells of each hypothesis, `NONE` if there is no such patch."""
    patches = np.hstack(
        [
            np.where(cells == NONE, NONE, numbers[cells] if len(numbers) else NONE)
            for cells, numbers in ((hypotheses.sources, sources), (hypotheses.targets, targets))
        ]
    )
    some = patches.max(axis=1, initial=NONE)
    return np.where(((patches == NONE) | (patches == some[:, None])).all(axis=1), some, NONE)


def _part(whole: Hypotheses, events: Numbers, sources: Numbers, targets: Numbers) -> SmallHypotheses:
    """Return some of the hypotheses, the cells numbered anew."""
    starts = np.cumsum([0, *map(len, whole.candidates.values())])
    candidates = {}
    for (name, some), start in zip(whole.candidates.items(), starts[:-1], strict=True):
        rows = events[(events >= start) & (events < start + len(some))] - start
        candidates[name] = Candidates(
            _places(some.sources[rows], sources), _places(some.targets[rows], targets), some.features[rows]
        )
    return SmallHypotheses(len(sources), len(targets), candidates)


def _places(cells: Numbers, own: Numbers) -> Numbers:
    """Return the places of cells among the patch's own, `NONE` where there is no cell."""
    return np.where(cells == NONE, NONE, np.searchsorted(own, cells))


def _lost_inside(annotation: Annotation, sources: list[int], targets: list[int]) -> tuple[Event, ...]:
    """Return the true events of cells of the patch that are no hypothesis, the cells numbered anew."""
    return tuple(
        (kind, tuple(map(sources.index, before)), tuple(map(targets.index, after)))
        for kind, before, after in annotation.lost
        if set(before) <= set(sources) and set(after) <= set(targets)
    )
