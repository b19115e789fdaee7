"""True events between two frames, derived from true tracks.

A detection may be a cell, a piece of a cell or several cells in one. Detections that share a cell, or a
parent and its children, are connected; the numbers of connected detections determine the event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ermlab.tracking.assignment import EVENTS, NONE, Hypotheses
from ermlab.tracking.ctc import Lineage

#: Kind of an event by its number of detections in each frame; divisions are separated from splits later.
_KINDS = {(1, 1): "move", (1, 2): "split", (2, 1): "merge", (0, 1): "appearance", (1, 0): "disappearance"}
_NAMES = list(EVENTS)
Tracks = Iterable[Iterable[int]]
#: Kind, cells of the first frame, cells of the second.
Event = tuple[str, tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Annotation:
    """The known events of a pair of frames.

    Parameters
    ----------
    events : ndarray of int
        Indices of the true events among the hypotheses, ascending.
    lost : tuple of (str, tuple of int, tuple of int)
        True events that are no hypothesis: kind, detections of the first frame, detections of the second.
    complete : bool
        Whether ``events`` is an assignment: each detection has a true event among the hypotheses.
    """

    events: NDArray[np.int64]
    lost: tuple[Event, ...]
    complete: bool


class Family:
    """Successors and predecessors of tracks.

    Parameters
    ----------
    lineage : Lineage
        First and last frame of each track, and its parent.
    """

    def __init__(self, lineage: Lineage):
        self._begin = dict(zip(lineage.label.tolist(), lineage.begin.tolist(), strict=True))
        self._end = dict(zip(lineage.label.tolist(), lineage.end.tolist(), strict=True))
        self._parent = dict(zip(lineage.label.tolist(), lineage.parent.tolist(), strict=True))
        self._children: dict[int, set[int]] = {}
        for child, parent in self._parent.items():
            self._children.setdefault(parent, set()).add(child)

    def check(self, tracks: Iterable[int]) -> None:
        """Raise a ValueError unless all tracks are in the lineage."""
        if unknown := sorted(set(tracks) - set(self._begin)):
            raise ValueError(f"track {unknown[0]} is not in the lineage: expected its labels")

    def after(self, track: int, frame: int) -> set[int]:
        """Return the tracks in ``frame + 1`` that continue a track of ``frame``: itself or its children."""
        if self._end[track] > frame:
            return {track}
        return {c for c in self._children.get(track, ()) if self._begin[c] == frame + 1}

    def before(self, track: int, frame: int) -> set[int]:
        """Return the tracks in ``frame`` that a track of ``frame + 1`` continues: itself or its parent."""
        if self._begin[track] <= frame:
            return {track}
        parent = self._parent[track]
        return {parent} if parent and self._end[parent] == frame else set()

    def divides(self, track: int, frame: int) -> bool:
        """Return whether a track of ``frame`` has several children in the next frame."""
        return len(self.after(track, frame) - {track}) > 1


def annotate(
    hypotheses: Hypotheses, sources: Tracks, targets: Tracks, lineage: Lineage, frame: int
) -> Annotation:
    """Find the true events between ``frame`` and the next one among the hypotheses.

    The appearance or disappearance of a track is unknown where a detection without a known track could be its
    cell.

    Parameters
    ----------
    hypotheses : Hypotheses
        The candidate events.
    sources, targets : iterable of iterables of int
        The tracks of each detection of the first and of the second frame: none where they are unknown,
        several where cells were detected as one. A track may have several detections, its pieces.
    lineage : Lineage
        The true tracks.
    frame : int
        Index of the first frame.
    """
    family = Family(lineage)
    sources, targets = ([set(tracks) for tracks in side] for side in (sources, targets))
    if (len(sources), len(targets)) != (hypotheses.n_sources, hypotheses.n_targets):
        raise ValueError(
            f"tracks of {len(sources)} and {len(targets)} detections: expected those of "
            f"{hypotheses.n_sources} and {hypotheses.n_targets}"
        )
    family.check(set().union(*sources, *targets))
    known = _known(sources, targets, family, frame)
    true = [
        (_kind(before, after, sources, family, frame), before, after)
        for before, after in _connected(sources, targets, family, frame)
        if all(known[0][i] for i in before) and all(known[1][j] for j in after)
    ]
    doubtful = _doubtful(sources, targets, hypotheses)
    true = [event for event in true if event[0] is not None and event not in doubtful]
    numbers = _numbers(hypotheses)
    found = [numbers.get(_key(event)) for event in true]
    events = np.array(sorted(n for n in found if n is not None), dtype=np.int64)
    taken = np.zeros(len(hypotheses), dtype=bool)
    taken[events] = True
    return Annotation(
        events,
        tuple(event for event, number in zip(true, found, strict=True) if number is None),
        hypotheses.is_assignment(taken),
    )


def _known(
    sources: list[set[int]], targets: list[set[int]], family: Family, frame: int
) -> tuple[list[bool], list[bool]]:
    """Return masks of the detections with known tracks whose successors or predecessors are detected."""
    here, there = set().union(*sources), set().union(*targets)
    fates = [bool(tracks) and all(family.after(k, frame) <= there for k in tracks) for tracks in sources]
    pasts = [bool(tracks) and all(family.before(k, frame) <= here for k in tracks) for tracks in targets]
    return fates, pasts


def _doubtful(sources: list[set[int]], targets: list[set[int]], hypotheses: Hypotheses) -> set[Event]:
    """Return the appearances and disappearances that a detection without a known track makes doubtful."""
    unknown = [np.array([not tracks for tracks in side], dtype=bool) for side in (sources, targets)]
    found = set()
    for i in hypotheses.sources.T:
        for j in hypotheses.targets.T:
            linked = (i != NONE) & (j != NONE)
            before, after = i[linked], j[linked]
            found |= {("appearance", (), (cell,)) for cell in after[unknown[0][before]].tolist()}
            found |= {("disappearance", (cell,), ()) for cell in before[unknown[1][after]].tolist()}
    return found


def _connected(
    sources: list[set[int]], targets: list[set[int]], family: Family, frame: int
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the connected detections of the two frames."""
    holders: dict[int, list[int]] = {}
    for j, tracks in enumerate(targets):
        for track in tracks:
            holders.setdefault(track, []).append(j)
    links = [
        (i, j)
        for i, tracks in enumerate(sources)
        for track in tracks
        for successor in family.after(track, frame)
        for j in holders.get(successor, ())
    ]
    m, n = len(sources), len(targets)
    rows, columns = np.array(links, dtype=np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(rows)), (rows, columns + m)), shape=(m + n, m + n))
    count, member = connected_components(graph, directed=False) if m + n else (0, np.zeros(0, dtype=int))
    order = np.argsort(member, kind="stable")
    groups = np.split(order, np.searchsorted(member[order], np.arange(1, count)))
    return [
        (tuple(group[group < m].tolist()), tuple((group[group >= m] - m).tolist()))
        for group in groups
        if len(group)
    ]


def _kind(
    before: tuple[int, ...], after: tuple[int, ...], sources: list[set[int]], family: Family, frame: int
) -> str | None:
    kind = _KINDS.get((len(before), len(after)))
    if kind == "split" and any(family.divides(track, frame) for track in sources[before[0]]):
        return "division"
    return kind


def _numbers(hypotheses: Hypotheses) -> Mapping[bytes, int]:
    """Return the index of each hypothesis by its `_key`."""
    sides = (np.sort(cells, axis=1) for cells in (hypotheses.sources, hypotheses.targets))
    rows = np.ascontiguousarray(np.column_stack([hypotheses.kind, *sides]), dtype=np.int64)
    keys = rows.view(f"V{rows.itemsize * rows.shape[1]}").ravel().tolist()
    return dict(zip(keys, range(len(keys)), strict=True))


def _key(event: Event) -> bytes:
    """Return kind and detections of an event as bytes, which are faster to compare than tuples."""
    kind, before, after = event
    sides = ([NONE] * (2 - len(cells)) + sorted(cells) for cells in (before, after))
    return np.array([_NAMES.index(kind), *chain(*sides)], dtype=np.int64).tobytes()
