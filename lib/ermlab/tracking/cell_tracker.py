"""A trainable tracker of cells, from fully or partially annotated films (cheap-data chapter)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ermlab._utils.files import broken, read_json, write_json
from ermlab._utils.lazy import import_optional
from ermlab._utils.parallel import map_in_threads
from ermlab._utils.progress import progress
from ermlab._utils.validation import check_choice
from ermlab.optimize import L1, L2
from ermlab.tracking._tracker_files import FORMAT, PLAIN, SETTINGS, read_known, read_parameters, read_weights
from ermlab.tracking.assignment import Assignment, Candidates, Hypotheses
from ermlab.tracking.cell_detection import DetectionSettings, detect_frames
from ermlab.tracking.cells import join_frames
from ermlab.tracking.ctc import Lineage
from ermlab.tracking.events import FEATURES, Cells, Gates
from ermlab.tracking.film_fit import (
    FilmReport,
    FilmStatistics,
    UnfamiliarFilmWarning,
    calibrate,
    completed,
    film_statistics,
    known_range,
)
from ermlab.tracking.films import CellFilm, FramePair, frame_pairs
from ermlab.tracking.image_stacks import as_frames
from ermlab.tracking.label_films import LabelFilm, measured_frames
from ermlab.tracking.lineage import CellTracks, track_film
from ermlab.tracking.training import average_loss, train_tracker

if TYPE_CHECKING:
    import pandas as pd

_NORMS = {"l1": L1, "l2": L2}
_BUNDLED = {"nuclei": "cell_tracker.json", "points": "point_tracker.json"}
#: Limit on the distance of pieces of a cell that leaves no candidates.
_NO_PIECES = 1e-9


class CellTracker(BaseEstimator):
    """Tracker of cells by the best assignment of events between frames, with learned scores.

    Parameters
    ----------
    alpha : float, default=1e-3
        Regularization strength.
    norm : {"l2", "l1"}, default="l2"
        Norm of the weights that is penalized; ``"l1"`` selects features.
    gates : Gates, optional
        Limits of the candidate events, by default ``Gates()``.
    detection : DetectionSettings, optional
        Settings of the detection of cells in images, by default ``DetectionSettings()``.
    tol : float, default=1e-2
        Relative gap at which training ends.
    n_jobs : int, optional
        Number of threads; results do not depend on it.
    max_time : float, optional
        Limit in seconds on training, checked before each pass over the pairs of frames.
    verbose : bool, default=False
        Whether to print the progress of training.

    Attributes
    ----------
    coef_ : ndarray
        Weights of the features, in the order of `ermlab.tracking.events.FEATURES`.
    known_ : FilmStatistics or None
        The largest statistics of the films in training, None for a tracker from an old file. Measurements
        that are less reliable in a film count less there: see `ermlab.tracking.film_fit.calibrate`.
    report_ : FilmReport or None
        Comparison of the film that was tracked last with those in training. An `UnfamiliarFilmWarning` tells
        if they differ.
    notes_ : str
        Origin and quality of the tracker, as stored in its file.
    """

    # For trackers whose weights were assigned.
    known_: FilmStatistics | None = None
    report_: FilmReport | None = None
    notes_: str = ""

    def __init__(
        self,
        alpha: float = 1e-3,
        norm: str = "l2",
        gates: Gates | None = None,
        detection: DetectionSettings | None = None,
        tol: float = 1e-2,
        n_jobs: int | None = None,
        max_time: float | None = None,
        verbose: bool = False,
    ):
        self.alpha = alpha
        self.norm = norm
        self.gates = gates
        self.detection = detection
        self.tol = tol
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.verbose = verbose

    def fit(
        self, films: CellFilm | Sequence[CellFilm], annotations: Sequence[Sequence[ArrayLike]] | None = None
    ) -> Self:
        """Learn from the known tracks of films.

        Parameters
        ----------
        films : CellFilm or sequence of CellFilm
            Films with the true tracks of all or some detections.
        annotations : sequence of sequences of array-like of int, optional
            For each film and each pair of its frames the indices of the known events, instead of all events
            that follow from the tracks.
        """
        if self.norm not in _NORMS:
            raise ValueError(f"norm is {self.norm!r}: expected one of {', '.join(_NORMS)}")
        films = [films] if isinstance(films, CellFilm) else films
        if annotations is not None:
            annotations = _of_all_pairs(annotations, films)
        pairs = self._pairs(films)
        penalty = _NORMS[self.norm](self.alpha)
        options = {"tol": self.tol, "n_jobs": self.n_jobs, "max_time": self.max_time}
        with progress(self):
            result = train_tracker(pairs, penalty, annotations=annotations, **options)
        if not result.converged:
            warnings.warn(
                f"training stopped after {result.n_iter} iterations, before the relative gap of {self.tol:g} "
                "was reached: raise max_time or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.coef_ = result.w
        self.known_, self.report_, self.notes_ = None, None, ""
        # Tracked without calibration, which needs the result.
        self.known_ = known_range(
            film_statistics(film, self._track_film(film, self._gates)) for film in films
        )
        return self

    def predict(self, film: CellFilm | Sequence[ArrayLike]) -> CellTracks:
        """Return the tracks of a film: the label of each detection, and the lineage.

        Parameters
        ----------
        film : CellFilm or sequence of array-like
            The detections, or the images in which to detect cells.
        """
        check_is_fitted(self)
        if not isinstance(film, CellFilm):
            film = join_frames([cells for _, cells in detect_frames(film, self.detection)])
        return self._track_calibrated(film, self._gates)

    def track_images(self, images: str | Path | Iterable[ArrayLike]) -> tuple[LabelFilm, Lineage]:
        """Detect and track the cells of a film.

        Frames are used one after the other, and none is kept: a film on disk need not fit into memory. There
        is no volume (3-D) tracking, and a cell that is not detected in a frame begins a new track.

        Parameters
        ----------
        images : str, Path or iterable of array-like of shape (height, width)
            The frames, or what `read_stack` reads: a folder, a TIFF stack or a zarr array. An iterator, which
            can be read only once, needs the diameter of a nucleus in ``detection``.

        Returns
        -------
        label_images : LabelFilm
            For each frame the label of the track at the pixels of a cell, 0 elsewhere: a sequence of arrays
            of int, compressed in memory.
        lineage : Lineage
            First and last frame of each label, and its parent.
        """
        check_is_fitted(self)
        return self._track(detect_frames(as_frames(images), self.detection))

    def track_masks(
        self,
        masks: str | Path | Iterable[ArrayLike],
        images: str | Path | Iterable[ArrayLike] | None = None,
    ) -> tuple[LabelFilm, Lineage]:
        """Track the cells of a segmentation of your own.

        Parameters
        ----------
        masks : str, Path or iterable of array-like of int of shape (height, width)
            The label images of the frames, 0 for the background, or what `read_stack` reads. Labels need not
            agree between frames. They are used one after the other, and none is kept.
        images : str, Path or iterable of array-like of shape (height, width), optional
            The frames, for the intensities. Without them, intensities do not distinguish cells.

        Returns
        -------
        label_images : LabelFilm
            The masks with the labels of the tracks, as from `track_images`.
        lineage : Lineage
            First and last frame of each label, and its parent.
        """
        check_is_fitted(self)
        return self._track(measured_frames(as_frames(masks), None if images is None else as_frames(images)))

    def track_points(
        self,
        table: pd.DataFrame | Mapping[str, Any] | str | Path,
        columns: Mapping[str, str] | None = None,
        *,
        diameter: float | None = None,
        shape: tuple[float, float] | None = None,
    ) -> pd.DataFrame:
        """Track points, one per cell and frame, from a table.

        Points have no shape: each is one cell, so that merges and splits are no candidates. Measurements
        that the table lacks are the same for all cells, so that their differences are 0. The tracker
        ``CellTracker.pretrained("points")`` was trained on positions only, for tables that have no more.

        Parameters
        ----------
        table : DataFrame, mapping of str to array-like, str or Path
            The table or CSV file with columns of the frame, x, y, and optionally area, intensity and
            eccentricity.
        columns : mapping of str to str, optional
            Names of the columns as in `film_of_points`, by default recognized.
        diameter : float, optional
            Diameter of a typical cell in the unit of x and y, by default estimated from areas or distances.
        shape : tuple of float, optional
            Height and width of the frames in the unit of x and y, by default those of all points.

        Returns
        -------
        DataFrame
            The table, with the same rows, and columns ``track_id``, from 1; ``tree_id``, the first track of
            the family; and ``parent_track_id``, the track of the mother or 0. A frame without points, or a
            cell without a point in a frame, ends tracks: gaps are not closed.
        """
        check_is_fitted(self)
        # Imported here, as pandas takes long to import and only tables need it.
        points = import_optional("ermlab.tracking.points", "CellTracker.track_points")
        return points.track_table_of(
            points.read_points(table, columns, diameter=diameter, shape=shape),
            lambda film: self._track_calibrated(film, replace(self._gates, pieces=_NO_PIECES)),
        )

    def score(self, films: CellFilm | Sequence[CellFilm], y: None = None) -> float:
        """Return the share of the known true events that the tracker finds."""
        check_is_fitted(self)
        films = [films] if isinstance(films, CellFilm) else films
        if self.known_ is not None:
            films = [calibrate(film, self.known_)[0] for film in films]
        return 1 - average_loss(self.coef_, self._pairs(films), self.n_jobs)

    def save(self, path: str | Path, notes: str | None = None) -> None:
        """Write parameters and weights to a JSON file; ``notes`` describe their origin."""
        check_is_fitted(self)
        self.notes_ = self.notes_ if notes is None else notes
        weights = iter(self.coef_.tolist())
        document = {
            "format": FORMAT,
            "notes": self.notes_,
            "parameters": self._plain_parameters(),
            "known": None if self.known_ is None else asdict(self.known_),
            "weights": {kind: {name: next(weights) for name in names} for kind, names in FEATURES.items()},
        }
        write_json(path, document)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a tracker that `save` wrote."""
        path = Path(path)
        document = read_json(path)
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise broken(path, "another format", f"a file of format {FORMAT!r}")
        tracker = cls(**read_parameters(path, document.get("parameters")))
        tracker.coef_ = read_weights(path, document.get("weights"))
        tracker.known_ = read_known(path, document.get("known"))
        tracker.notes_ = str(document.get("notes", ""))
        return tracker

    @classmethod
    def pretrained(cls, kind: str = "nuclei") -> Self:
        """Return a bundled tracker, whose ``notes_`` tell its training films and its quality on others.

        Parameters
        ----------
        kind : {"nuclei", "points"}, default="nuclei"
            Whether cells have an area, an intensity and a shape, or only a position.
        """
        check_choice("kind", kind, tuple(_BUNDLED))
        return cls.load(str(files("ermlab") / "tracking" / "models" / _BUNDLED[kind]))

    @property
    def _gates(self) -> Gates:
        return Gates() if self.gates is None else self.gates

    def _pairs(self, films: CellFilm | Sequence[CellFilm]) -> list[FramePair]:
        films = [films] if isinstance(films, CellFilm) else films
        return [pair for film in films for pair in frame_pairs(film, self._gates)]

    def _track(self, found: Iterable[tuple[NDArray[np.integer], Cells]]) -> tuple[LabelFilm, Lineage]:
        """Track regions and their measurements, frame by frame."""
        frames: list[Cells] = []
        label_images = LabelFilm(_noting(found, frames))
        film = join_frames(frames)
        tracks = self.predict(film)
        labels = [tracks.label[film.numbers(t)] for t in range(len(film))]
        return label_images.with_labels(labels), tracks.lineage

    def _track_calibrated(self, film: CellFilm, gates: Gates) -> CellTracks:
        """Track a film with measurements as reliable as in training, and warn if it is unfamiliar."""
        if self.known_ is None:
            return self._track_film(film, gates)
        film, report = calibrate(film, self.known_)
        tracks = self._track_film(film, gates)
        self.report_ = completed(report, film, tracks)
        if self.report_.reasons:
            warnings.warn(
                f"the film is unlike those in the training of the tracker: {'; '.join(self.report_.reasons)}."
                " Check the tracks, or train a tracker on some annotated frames of your own "
                "(`ermlab track-train`, or `CellTracker.fit`)",
                UnfamiliarFilmWarning,
                stacklevel=3,
            )
        return tracks

    def _track_film(self, film: CellFilm, gates: Gates) -> CellTracks:
        def solve(t: int) -> tuple[FramePair, Assignment]:
            (pair,) = frame_pairs(film, gates, range(t, t + 1))
            return _happened(pair, pair.assigner.best(pair.hypotheses.scores(self.coef_)))

        # The candidates of one pair at a time: those of a long film take gigabytes.
        solved = map_in_threads(solve, range(len(film) - 1), self.n_jobs)
        return track_film(film, [pair for pair, _ in solved], [chosen for _, chosen in solved])

    def _plain_parameters(self) -> dict[str, Any]:
        """Return the parameters for JSON, without those that depend on the machine and the occasion."""
        settings = {name: getattr(self, name) for name in SETTINGS}
        return {name: getattr(self, name) for name in PLAIN} | {
            name: None if value is None else asdict(value) for name, value in settings.items()
        }


def _noting(
    found: Iterable[tuple[NDArray[np.integer], Cells]], frames: list[Cells]
) -> Iterator[NDArray[np.integer]]:
    """Yield label images, and append the cells of each to ``frames``."""
    for labels, cells in found:
        frames.append(cells)
        yield labels


def _happened(pair: FramePair, chosen: Assignment) -> tuple[FramePair, Assignment]:
    """Return a pair without features, of the events that happened and those that each cell must have."""
    candidates, kept = {}, []
    starts = np.cumsum([0, *map(len, pair.hypotheses.candidates.values())])
    for (name, events), start in zip(pair.hypotheses.candidates.items(), starts, strict=False):
        taken = chosen[start : start + len(events)]
        here = np.flatnonzero(taken | (name in ("appearance", "disappearance")))
        candidates[name] = Candidates(events.sources[here], events.targets[here], np.zeros((len(here), 0)))
        kept.append(taken[here])
    hypotheses = Hypotheses(pair.hypotheses.n_sources, pair.hypotheses.n_targets, candidates)
    return FramePair(pair.frame, hypotheses, pair.annotation), np.concatenate(kept)


def _of_all_pairs(annotations: Sequence[Sequence[ArrayLike]], films: Sequence[CellFilm]) -> list[ArrayLike]:
    """Return the annotations of the pairs of frames of all films as one list."""
    if len(annotations) != len(films):
        raise ValueError(f"annotations of {len(annotations)} films: expected {len(films)}")
    for number, (film, of_film) in enumerate(zip(films, annotations, strict=True)):
        if len(of_film) != len(film) - 1:
            raise ValueError(
                f"annotations of {len(of_film)} pairs of frames of film {number}: expected {len(film) - 1}"
            )
    return [events for of_film in annotations for events in of_film]
