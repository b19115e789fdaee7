"""Whether a film looks like those that a tracker was trained on, and measurements of the same reliability.

Nearest cells of successive frames, each the nearest of the other and closer than half the way to their next
neighbors, are nearly always the same cell. How much their measurements differ shows how reliable these are,
without any truth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ermlab.tracking.events import typical_size
from ermlab.tracking.films import CellFilm
from ermlab.tracking.lineage import CellTracks

MEASUREMENTS = ("area", "intensity", "eccentricity")
#: A link is sure if it is shorter than this share of the distance to the next neighbor.
_SURE = 0.5
#: Least number of sure links from which reliability is estimated.
_FEW = 20
#: Largest change that counts, a factor of 20: a single outlier does not decide.
_LARGEST = 3.0
#: Cells nearer to the border than this many sizes may enter and leave.
_INSIDE = 1.5
#: A film is unfamiliar if cells move, or tracks are interrupted, by more than these factors times the largest
#: value in training, and in any case more than these values. Chosen on simulated films of nine kinds at three
#: frame rates, with six kinds of errors in the measurements (`benchmarks/tracking_quality.py`).
_LIMITS = {"motion": (1.1, 0.4), "interrupted": (3.0, 0.1)}
_MEANING = {
    "motion": "cells move by {found:.2g} of the distance to their next neighbors between frames (known: up "
    "to {known:.2g})",
    "interrupted": "{found:.1%} of the cells appear or disappear inside the frame (known: up to {known:.1%})",
}


class UnfamiliarFilmWarning(UserWarning):
    """A film differs from those that a tracker was trained on, in a way that may cause errors."""


@dataclass(frozen=True)
class FilmStatistics:
    """Numbers that describe a film as a tracker sees it.

    Parameters
    ----------
    area, intensity : float
        Mean absolute difference of the logarithms between sure pairs of nearest cells in successive frames.
    eccentricity : float
        Mean absolute difference between them.
    motion : float
        Median distance to the nearest cell of the next frame, relative to that to the nearest one of the same
        frame. Of random points it would be about 0.5.
    interrupted : float
        Share of the cells away from the border at which a track begins without a parent, or ends without a
        child.
    """

    area: float = 0.0
    intensity: float = 0.0
    eccentricity: float = 0.0
    motion: float = 0.0
    interrupted: float = 0.0


@dataclass(frozen=True)
class FilmReport:
    """Comparison of a film with those that a tracker was trained on.

    Parameters
    ----------
    found, known : FilmStatistics
        Numbers of the film, and the largest ones of the films in training.
    scales : dict of str to float
        Factors by which differences of area, intensity and eccentricity were multiplied, since they are less
        reliable than in training; 1 where they are not.
    n_links : int
        Number of sure links from which they were estimated.
    reasons : tuple of str
        What is unfamiliar about the film; empty if nothing is.
    """

    found: FilmStatistics
    known: FilmStatistics
    scales: dict[str, float]
    n_links: int
    reasons: tuple[str, ...] = ()


def film_statistics(film: CellFilm, tracks: CellTracks | None = None) -> FilmStatistics:
    """Return the statistics of a film; those of its tracks are 0 if none are given.

    Parameters
    ----------
    film : CellFilm
        The detections; true tracks are not used.
    tracks : CellTracks, optional
        Tracks that were found.
    """
    changes, motion = _changes(film)
    values = {name: float(changes[name].mean()) if len(changes[name]) else 0.0 for name in MEASUREMENTS}
    return FilmStatistics(
        **values,
        motion=float(np.median(motion)) if len(motion) else 0.0,
        interrupted=0.0 if tracks is None else _interrupted(film, tracks),
    )


def known_range(statistics: Iterable[FilmStatistics]) -> FilmStatistics:
    """Return the largest value of each statistic."""
    rows = [asdict(one) for one in statistics]
    return FilmStatistics(**{name: max(row[name] for row in rows) for name in rows[0]})


def calibrate(film: CellFilm, known: FilmStatistics) -> tuple[CellFilm, FilmReport]:
    """Return a film whose measurements are as reliable as in training, and a report without reasons.

    Logarithms of area and intensity, and eccentricities, are multiplied by the ratio of their changes in
    training to those in the film, if it is below 1: the less reliable they are, the less they count. Typical
    areas, on which all lengths depend, stay.
    """
    found, n_links = film_statistics(film), len(_changes(film)[0]["area"])
    scales = dict.fromkeys(MEASUREMENTS, 1.0)
    if n_links >= _FEW:
        for name in MEASUREMENTS:
            change = getattr(found, name)
            if change > getattr(known, name) > 0:
                scales[name] = getattr(known, name) / change
    report = FilmReport(found, known, scales, n_links)
    if all(scale == 1 for scale in scales.values()):
        return film, report
    typical = np.median(film.area)
    scaled = replace(
        film,
        area=typical * (film.area / typical) ** scales["area"],
        intensity=(film.intensity / np.median(film.intensity)) ** scales["intensity"],
        eccentricity=film.eccentricity * scales["eccentricity"],
    )
    return scaled, report


def completed(report: FilmReport, film: CellFilm, tracks: CellTracks) -> FilmReport:
    """Return a report that takes the tracks that were found into account, with reasons."""
    found = replace(report.found, interrupted=_interrupted(film, tracks))
    reasons = []
    if report.n_links >= _FEW:
        for name, (factor, least) in _LIMITS.items():
            value, known = getattr(found, name), getattr(report.known, name)
            if value > max(factor * known, least):
                reasons.append(_MEANING[name].format(found=value, known=known))
    return replace(report, found=found, reasons=tuple(reasons))


def _changes(film: CellFilm) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.float64]]:
    """Return the changes of each measurement along sure links, and the relative motion of all cells."""
    changes: dict[str, list[NDArray]] = {name: [np.zeros(0)] for name in MEASUREMENTS}
    motion = [np.zeros(0)]
    for t in range(len(film) - 1):
        before, after = film.cells(t), film.cells(t + 1)
        if len(before) < 2 or not len(after):
            continue
        here, there = cKDTree(before.position), cKDTree(after.position)
        distance, j = there.query(before.position)
        neighbor = here.query(before.position, k=2)[0][:, 1]
        back = here.query(after.position)[1]
        apart = neighbor > 0
        motion.append(distance[apart] / neighbor[apart])
        i = np.flatnonzero((back[j] == np.arange(len(before))) & (distance < _SURE * neighbor))
        j = j[i]
        for name in ("area", "intensity"):
            ratio = np.log(getattr(before, name)[i]) - np.log(getattr(after, name)[j])
            changes[name].append(np.minimum(np.abs(ratio), _LARGEST))
        changes["eccentricity"].append(np.abs(before.eccentricity[i] - after.eccentricity[j]))
    return {name: np.concatenate(parts) for name, parts in changes.items()}, np.concatenate(motion)


def _interrupted(film: CellFilm, tracks: CellTracks) -> float:
    """Return the share of the cells away from the border at which a track begins or ends for no reason."""
    size = typical_size(film.cells(t) for t in range(len(film)))
    room = np.minimum(film.position, film.shape - 1 - film.position).min(axis=1, initial=np.inf)
    inside = room > _INSIDE * size
    lineage = tracks.lineage
    label = np.searchsorted(lineage.label, tracks.label)
    begins = (film.frame == lineage.begin[label]) & (film.frame > 0) & (lineage.parent[label] == 0)
    ends = (film.frame == lineage.end[label]) & (film.frame < len(film) - 1)
    ends &= ~np.isin(tracks.label, lineage.parent)
    chances = 2 * inside.sum() - inside[film.frame == 0].sum() - inside[film.frame == len(film) - 1].sum()
    return float((begins & inside).sum() + (ends & inside).sum()) / max(int(chances), 1)
