"""LapTrack, a tracker by linear assignment without learning, on the detections of a film.

Y. T. Fukai and K. Kawaguchi, LapTrack: linear assignment particle tracking with tunable metrics,
Bioinformatics 39, 2023. Cells are linked from frame to frame; then cells that begin later are joined to the
nearest track that goes on, as a second child.
"""

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np
from laptrack import LapTrack

from ermlab.tracking.events import typical_size
from ermlab.tracking.films import CellFilm, FramePair
from ermlab.tracking.tracks import Links, events_of


def lap_links(film: CellFilm, frames: range, link: float, division: float) -> list[Links]:
    """Return the links of each of the frames, successive ones, to the next.

    Parameters
    ----------
    frames
        Numbers of the first frames.
    link, division
        How far a cell may go, and a child from its parent, in sizes of a typical cell.
    """
    if len(frames) and not 0 <= frames.start < frames.stop < len(film):
        raise ValueError(f"frames are {frames}: expected first frames 0 to {len(film) - 2}")
    cells = [film.cells(t) for t in range(frames.start, frames.stop + 1)]
    if not any(map(len, cells)):  # LapTrack asks for one
        return [np.zeros((0, 2), dtype=np.int64) for _ in frames]
    size = typical_size(cells)
    tracker = LapTrack(
        cutoff=(link * size) ** 2, splitting_cutoff=(division * size) ** 2, gap_closing_cutoff=False
    )
    graph = tracker.predict([some.position for some in cells])
    links: list[list[tuple[int, int]]] = [[] for _ in frames]
    for ends in graph.edges:
        (t, i), (after, j) = sorted(ends)
        if after == t + 1:
            links[t].append((i, j))
    return [np.array(sorted(rows), dtype=np.int64).reshape(-1, 2) for rows in links]


def choose_reaches(
    film: CellFilm, pairs: Sequence[FramePair], reaches: Iterable[float]
) -> tuple[float, float]:
    """Return the reaches of `lap_links` with which most true events of successive pairs are found."""
    frames = range(pairs[0].frame, pairs[-1].frame + 1)

    def found(reach: tuple[float, float]) -> int:
        links = lap_links(film, frames, *reach)
        return sum(
            int(events_of(pair.hypotheses, rows)[pair.annotation.events].sum())
            for pair, rows in zip(pairs, links, strict=True)
        )

    return max(product(sorted(reaches), repeat=2), key=found)
