"""Measures of the Cell Tracking Challenge, computed by py-ctcmetrics from tracks of detections.

The library reads label images; here it is given what it would find in them: the cells of each frame, and
which detection is which true cell. Detections of which nothing is known are left out on both sides: whether
they are cells, nobody has said.
"""

from dataclasses import dataclass

import numpy as np
from ctc_metrics.metrics import det, lnk, tra
from ctc_metrics.utils.representations import count_acyclic_graph_correction_operations
from numpy.typing import NDArray

from ermlab.tracking.ctc import Lineage
from ermlab.tracking.films import CellFilm
from ermlab.tracking.tracks import CellTracks

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class ChallengeMeasures:
    """How near found tracks are to the true ones, 1 for equal.

    DET counts cells that are missed, invented or taken together, LNK links that are missed, wrong or of the
    wrong kind, TRA both, as weighted operations that mend the graph of tracks (Matula et al. 2015).
    """

    DET: float
    TRA: float
    LNK: float
    edge_f1: float  #: of links between cells of successive frames; 1 if there are none


def challenge_measures(film: CellFilm, found: CellTracks, frames: range | None = None) -> ChallengeMeasures:
    """Compare found tracks with the true ones, in the frames that were tracked.

    A true cell that several detections hold is found by the largest of them. Detections of one frame with the
    same label are pieces of one cell.

    Parameters
    ----------
    frames
        Which were tracked. By default the first to the last with a detection that was; if nothing was
        detected in others, that is not known from the tracks, and the true cells in them would not count.
    """
    if frames is None:
        if not len(found.lineage):
            raise ValueError("no tracks: expected at least one, or which frames were tracked")
        frames = range(int(found.lineage.begin.min()), int(found.lineage.end.max()) + 1)
    judged = np.isin(np.arange(len(film.frame)), film.tracks[:, 0])
    computed = _visible(found, film, judged)
    labels, mapped_true, mapped_found = [], [], []
    for t in frames:
        here = film.numbers(t)
        labels.append(sorted(set(computed.label[here][judged[here]].tolist())))
        holders = _holders(film, t)
        mapped_true.append([track for track, _ in holders])
        mapped_found.append([int(computed.label[detection]) for _, detection in holders])
    truth, labels_true = _clipped(film.true_lineage, frames)
    if not len(truth):
        raise ValueError(f"no true cell in {frames}: expected at least one to compare with")
    counts = count_acyclic_graph_correction_operations(
        _counted_from(truth, frames.start),
        _counted_from(_rows(computed.lineage), frames.start),
        labels_true,
        labels,
        mapped_true,
        mapped_found,
    )
    right = counts["num_edges"] - counts["EA"]
    wrong = counts["ED"] + counts["EA"]
    return ChallengeMeasures(
        DET=det(**counts),
        TRA=tra(**counts)[0],
        LNK=lnk(**counts) if counts["num_edges"] else 1.0,
        edge_f1=float(2 * right / (2 * right + wrong)) if right + wrong else 1.0,
    )


def _visible(found: CellTracks, film: CellFilm, judged: NDArray[np.bool_]) -> CellTracks:
    """Return the tracks without the detections that nothing is known of: one with a gap becomes two."""
    label = np.zeros_like(found.label)
    rows: list[list[int]] = []
    last: dict[int, int] = {}  # old label to the new one of its last detection
    parents = dict(zip(found.lineage.label.tolist(), found.lineage.parent.tolist(), strict=True))
    begins = dict(zip(found.lineage.label.tolist(), found.lineage.begin.tolist(), strict=True))
    ends = dict(zip(found.lineage.label.tolist(), found.lineage.end.tolist(), strict=True))
    for detection in np.flatnonzero(judged & (found.label > 0)).tolist():
        old, t = int(found.label[detection]), int(film.frame[detection])
        row = rows[last[old] - 1] if old in last else None
        if row is None or row[2] < t - 1:
            parent = parents[old] if t == begins[old] else 0
            seen = parent in last and rows[last[parent] - 1][2] == ends[parent]
            row = [len(rows) + 1, t, t, last[parent] if seen else 0]
            rows.append(row)
            last[old] = row[0]
        row[2] = t
        label[detection] = row[0]
    return CellTracks(label, Lineage(*np.array(rows, dtype=np.int64).reshape(-1, 4).T))


def _holders(film: CellFilm, t: int) -> list[tuple[int, int]]:
    """Return each true cell of a frame that was detected, with its largest detection."""
    here = film.numbers(t)
    first, last = np.searchsorted(film.tracks[:, 0], [here.start, here.stop])
    rows = film.tracks[first:last]
    largest = {int(k): int(d) for d, k in rows[np.argsort(film.area[rows[:, 0]], kind="stable")]}
    return sorted(largest.items())


def _clipped(lineage: Lineage, frames: range) -> tuple[Rows, list[list[int]]]:
    """Return the rows of the true tracks within some frames, and the labels of each frame."""
    rows = _rows(lineage)
    rows = rows[(rows[:, 1] < frames.stop) & (rows[:, 2] >= frames.start)]
    rows = rows[np.argsort(rows[:, 0])]
    # A parent that ended before the first frame is not there.
    rows[~np.isin(rows[:, 3], rows[:, 0]), 3] = 0
    rows[:, 1:3] = np.clip(rows[:, 1:3], frames.start, frames.stop - 1)
    return rows, [rows[(rows[:, 1] <= t) & (rows[:, 2] >= t), 0].tolist() for t in frames]


def _rows(lineage: Lineage) -> Rows:
    return np.array(lineage.rows(), dtype=np.int64).reshape(-1, 4)


def _counted_from(rows: Rows, first: int) -> Rows:
    """Return rows of a lineage whose frames are counted from ``first``."""
    return rows - np.array([0, first, first, 0])
