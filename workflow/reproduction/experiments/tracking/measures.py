"""Errors of trackers: missed and false events, their spread, measures of the Cell Tracking Challenge."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from ctc_metrics.metrics import det, lnk, tra
from ctc_metrics.utils.representations import count_acyclic_graph_correction_operations
from numpy.typing import ArrayLike, NDArray

from ermlab.tracking.assignment import EVENTS, Assignment
from ermlab.tracking.ctc import Lineage
from ermlab.tracking.films import CellFilm, FramePair
from ermlab.tracking.lineage import CellTracks

Rows = NDArray[np.int64]


def judged_events(pair: FramePair) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which candidate events are known to be true, and which to be false.

    False are those that share a cell with a true event.
    """
    hypotheses = pair.hypotheses
    true = np.isin(np.arange(len(hypotheses)), pair.annotation.events)
    settled = hypotheses.incidence @ true.astype(np.float64) > 0
    touched = hypotheses.incidence.T @ settled.astype(np.float64) > 0
    return true, touched & ~true


def event_errors(pair: FramePair, y: Assignment) -> Iterator[dict[str, Any]]:
    """Yield the numbers of known, missed and false events of each kind.

    Events that gating excluded from the candidates (``lost``) count as known and missed.
    """
    true, false = judged_events(pair)
    for number, kind in enumerate(EVENTS):
        of_kind = pair.hypotheses.kind == number
        lost = sum(event[0] == kind for event in pair.annotation.lost)
        yield {
            "frame": pair.frame,
            "kind": kind,
            "known": int((of_kind & true).sum()) + lost,
            "missed": int((of_kind & true & ~y).sum()) + lost,
            "false": int((of_kind & false & y).sum()),
            "lost": lost,
        }


def count_missed(pair: FramePair, y: Assignment) -> int:
    """Return the number of known true events that an assignment misses, excluded candidates included."""
    return int((~y[pair.annotation.events]).sum()) + len(pair.annotation.lost)


def average_losses(errors: pd.DataFrame) -> pd.Series:
    """Return the percentage of known events that each method misses."""
    sums = errors.groupby("method", sort=False)[["known", "missed"]].sum()
    return 100 * sums["missed"] / sums["known"]


def resampled_losses(errors: pd.DataFrame, n_blocks: int, draws: int, seed: int) -> pd.DataFrame:
    """Return losses in percent on resampled blocks of successive frames, as a table (draws, methods).

    All methods are evaluated on the same draws, so that differences of columns are paired.

    Parameters
    ----------
    errors : DataFrame
        Rows of `event_errors` with a column ``method``.
    n_blocks : int
        Number of blocks that the film is cut into, at most one per pair of frames.
    draws : int
        Number of draws with replacement.
    seed : int
        Seed of the draws.
    """
    counts = {
        name: errors.pivot_table(index="frame", columns="method", values=name, aggfunc="sum", sort=False)
        for name in ("known", "missed")
    }
    frames = np.sort(counts["known"].index.to_numpy())
    blocks = np.array_split(frames, min(n_blocks, len(frames)))
    of_blocks = {
        name: np.array([table.loc[block].sum().to_numpy() for block in blocks])
        for name, table in counts.items()
    }
    chosen = np.random.default_rng(seed).integers(len(blocks), size=(draws, len(blocks)))
    known, missed = (of_blocks[name][chosen].sum(axis=1) for name in ("known", "missed"))
    return pd.DataFrame(100 * missed / np.maximum(known, 1), columns=counts["known"].columns)


def interval(values: ArrayLike) -> list[float]:
    """Return the 2.5 and the 97.5 percentile."""
    return np.percentile(np.asarray(values, dtype=np.float64), [2.5, 97.5]).tolist()


@dataclass(frozen=True)
class ChallengeMeasures:
    """Measures of the Cell Tracking Challenge, 1 for perfect tracks.

    DET counts cells that are missed, invented or taken together, LNK links that are missed, wrong or of the
    wrong kind, TRA both, as weighted operations that turn the graph of tracks into the true one (Matula et
    al. 2015).
    """

    DET: float
    TRA: float
    LNK: float
    edge_f1: float  #: F1 score of the links between cells of successive frames; 1 if there are none


def challenge_measures(film: CellFilm, found: CellTracks, frames: range | None = None) -> ChallengeMeasures:
    """Compare found tracks with the true ones, in the frames that were tracked.

    py-ctcmetrics reads label images; here it is given what it would find in them: the cells of each frame,
    and which detection is which true cell. A true cell that several detections hold is found by the largest
    of them. Detections of one frame with the same label are pieces of one cell. Detections of which nothing
    is known are left out on both sides.

    Parameters
    ----------
    film : CellFilm
        Detections with their true tracks.
    found : CellTracks
        Tracks of the detections.
    frames : range, default=None
        Frames that were tracked; by default from the first to the last with a tracked detection. True cells
        in tracked frames without any detection count only if the frames are given.
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
    """Return the tracks without detections of which nothing is known; a track with a gap becomes two."""
    label = np.zeros_like(found.label)
    rows: list[list[int]] = []
    last: dict[int, int] = {}  # old label to the new one of its last detection
    begins, ends, parents = (
        dict(zip(found.lineage.label.tolist(), column.tolist(), strict=True))
        for column in (found.lineage.begin, found.lineage.end, found.lineage.parent)
    )
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
    by_area = rows[np.argsort(film.area[rows[:, 0]], kind="stable")]
    largest = {int(track): int(detection) for detection, track in by_area}
    return sorted(largest.items())


def _clipped(lineage: Lineage, frames: range) -> tuple[Rows, list[list[int]]]:
    """Return the rows of the true tracks clipped to the frames, and the labels of each frame."""
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
