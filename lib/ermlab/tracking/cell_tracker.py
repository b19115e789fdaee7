"""A tracker of cells that learns from films, however few of their cells are annotated (cheap-data)."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ermlab._utils.files import broken, read_json, reading, write_json
from ermlab._utils.parallel import map_in_threads
from ermlab.optimize import L1, L2
from ermlab.tracking.cell_detection import DetectionSettings, detect_frames
from ermlab.tracking.cells import join_frames
from ermlab.tracking.ctc import Lineage
from ermlab.tracking.events import FEATURES, Gates
from ermlab.tracking.films import CellFilm, FramePair, frame_pairs
from ermlab.tracking.lineage import relabel, track_film
from ermlab.tracking.tracks import CellTracks
from ermlab.tracking.training import average_loss, train_tracker

_FORMAT = "ermlab cell tracker 1"
#: Parameters that are kept in files as they are.
_PLAIN = ("alpha", "norm", "tol")
_NORMS = {"l1": L1, "l2": L2}
_SETTINGS = {"gates": Gates, "detection": DetectionSettings}
#: No parameter and no weight of a sensible tracker is as large; infinity and NaN are not below it, either.
_LARGEST = 1e100


class CellTracker(BaseEstimator):
    """Tracks cells by the best assignment of events between frames, whose scores are learned.

    Parameters
    ----------
    alpha
        Strength of regularisation.
    norm
        ``"l2"`` or ``"l1"``; the latter leaves features out.
    gates
        Which events are considered; None takes the usual ones.
    detection
        How cells are found in images; None takes the usual settings.
    tol
        Relative gap at which training ends.
    n_threads
        Pairs of frames that are worked on at the same time; results do not depend on it.

    Attributes
    ----------
    coef_
        Weights of the features of `ermlab.tracking.events.FEATURES`, one after the other.
    """

    def __init__(
        self,
        alpha: float = 1e-3,
        norm: str = "l2",
        gates: Gates | None = None,
        detection: DetectionSettings | None = None,
        tol: float = 1e-2,
        n_threads: int | None = None,
    ):
        self.alpha = alpha
        self.norm = norm
        self.gates = gates
        self.detection = detection
        self.tol = tol
        self.n_threads = n_threads

    def fit(
        self, films: CellFilm | Sequence[CellFilm], annotations: Sequence[Sequence[ArrayLike]] | None = None
    ) -> Self:
        """Learn from what is known of the tracks of some films.

        Parameters
        ----------
        films
            With the true tracks of all detections or of some.
        annotations
            For each film and each of its pairs of frames the numbers of the events that are known, in place
            of all that the tracks tell.
        """
        if self.norm not in _NORMS:
            raise ValueError(f"norm is {self.norm!r}: expected one of {', '.join(_NORMS)}")
        films = [films] if isinstance(films, CellFilm) else films
        if annotations is not None:
            annotations = _of_all_pairs(annotations, films)
        pairs = self._pairs(films)
        penalty = _NORMS[self.norm](self.alpha)
        result = train_tracker(
            pairs, penalty, annotations=annotations, tol=self.tol, n_threads=self.n_threads
        )
        self.coef_ = result.w
        return self

    def predict(self, film: CellFilm | Sequence[ArrayLike]) -> CellTracks:
        """Return the tracks of a film: the label of each detection, and the lineage.

        ``film`` may be its images, too: the detections are then those that `track_images` finds in them.
        """
        check_is_fitted(self)
        if not isinstance(film, CellFilm):
            film = self._detect(film)[1]
        pairs = frame_pairs(film, self._gates)
        best = map_in_threads(
            lambda pair: pair.assigner.best(pair.hypotheses.scores(self.coef_)), pairs, self.n_threads
        )
        return track_film(film, pairs, best)

    def track_images(self, images: Sequence[ArrayLike]) -> tuple[list[NDArray[np.int32]], Lineage]:
        """Detect and track the cells of a film.

        Returns
        -------
        label_images
            For each frame: the label of its track at the pixels of a cell, 0 elsewhere.
        lineage
            First and last frame of each label, and its parent.
        """
        check_is_fitted(self)
        label_images, film = self._detect(images)
        tracks = self.predict(film)
        return list(relabel(label_images, film, tracks.label)), tracks.lineage

    def score(self, films: CellFilm | Sequence[CellFilm], y: None = None) -> float:
        """Return the share of the known true events that are found."""
        check_is_fitted(self)
        return 1 - average_loss(self.coef_, self._pairs(films), self.n_threads)

    def save(self, path: str | Path, notes: str = "") -> None:
        """Write settings and weights as a text file; ``notes`` say where they come from."""
        check_is_fitted(self)
        weights = iter(self.coef_.tolist())
        document = {
            "format": _FORMAT,
            "notes": notes,
            "parameters": self._plain_parameters(),
            "weights": {kind: {name: next(weights) for name in names} for kind, names in FEATURES.items()},
        }
        write_json(path, document)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote."""
        path = Path(path)
        document = read_json(path)
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise broken(path, "another format", f"a file of format {_FORMAT!r}")
        tracker = cls(**_parameters(path, document.get("parameters")))
        tracker.coef_ = _weights(path, document.get("weights"))
        return tracker

    @classmethod
    def pretrained(cls) -> Self:
        """Return the tracker that comes with the library, trained on simulated films of two laboratories."""
        return cls.load(str(files("ermlab") / "tracking" / "models" / "cell_tracker.json"))

    @property
    def _gates(self) -> Gates:
        return Gates() if self.gates is None else self.gates

    def _pairs(self, films: CellFilm | Sequence[CellFilm]) -> list[FramePair]:
        films = [films] if isinstance(films, CellFilm) else films
        return [pair for film in films for pair in frame_pairs(film, self._gates)]

    def _detect(self, images: Sequence[ArrayLike]) -> tuple[list[NDArray[np.int32]], CellFilm]:
        found = [(labels.astype(np.int32), cells) for labels, cells in detect_frames(images, self.detection)]
        return [labels for labels, _ in found], join_frames([cells for _, cells in found])

    def _plain_parameters(self) -> dict[str, Any]:
        """Return the parameters as what JSON knows; the number of threads is a matter of the machine."""
        made = {name: getattr(self, name) for name in ("gates", "detection")}
        return {name: getattr(self, name) for name in _PLAIN} | {
            name: None if value is None else asdict(value) for name, value in made.items()
        }


def _of_all_pairs(annotations: Sequence[Sequence[ArrayLike]], films: Sequence[CellFilm]) -> list[ArrayLike]:
    """Return the annotations of the pairs of frames of all films in one list."""
    if len(annotations) != len(films):
        raise ValueError(f"annotations of {len(annotations)} films: expected {len(films)}")
    for number, (film, of_film) in enumerate(zip(films, annotations, strict=True)):
        if len(of_film) != len(film) - 1:
            raise ValueError(
                f"annotations of {len(of_film)} pairs of frames of film {number}: expected {len(film) - 1}"
            )
    return [events for of_film in annotations for events in of_film]


def _parameters(path: Path, parameters: Any) -> dict[str, Any]:
    """Return the arguments of a tracker from those in a file."""
    with reading(f"{path}: parameters {parameters!r:.200}", "those of a CellTracker"):
        for name in ("alpha", "tol"):
            if not _is_number(parameters[name]) or parameters[name] < 0:
                raise ValueError(f"{name} is {parameters[name]!r}")
        if parameters["norm"] not in _NORMS:
            raise ValueError(f"norm is {parameters['norm']!r}")
        made = {name: _settings(kind, parameters[name]) for name, kind in _SETTINGS.items()}
        return {name: parameters[name] for name in _PLAIN} | made


def _settings(kind: type, values: dict[str, Any] | None) -> Gates | DetectionSettings | None:
    """Return settings of finite numbers; None where they are, or where that is the default of a number."""
    if values is None:
        return None
    optional = {field.name for field in fields(kind) if field.default is None}
    for name, value in values.items():
        if not _is_number(value) and not (value is None and name in optional):
            raise ValueError(f"{name} is {value!r}")
    return kind(**values)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST


def _weights(path: Path, weights: Any) -> NDArray[np.float64]:
    """Return the weights of a file in one vector; each feature must have one."""
    with reading(f"{path}: weights", "a number for each feature of each event"):
        if not isinstance(weights, dict):
            raise ValueError(f"{type(weights).__name__!r} in place of an object")
        if {kind: set(of_kind) for kind, of_kind in weights.items()} != {
            kind: set(names) for kind, names in FEATURES.items()
        }:
            raise ValueError("events or features are others")
        vector = [weights[kind][name] for kind, names in FEATURES.items() for name in names]
        if wrong := [value for value in vector if not _is_number(value)]:
            raise ValueError(
                "not finite" if isinstance(wrong[0], float) else f"could not convert {wrong[0]!r}"
            )
        return np.array(vector, dtype=float)
