"""Content of the files of trackers: parameters, weights and statistics, checked."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.files import reading
from ermlab.tracking.cell_detection import DetectionSettings
from ermlab.tracking.events import FEATURES, Gates
from ermlab.tracking.film_fit import FilmStatistics

FORMAT = "ermlab cell tracker 1"
#: Parameters that files contain unchanged.
PLAIN = ("alpha", "norm", "tol")
NORMS = ("l1", "l2")
SETTINGS = {"gates": Gates, "detection": DetectionSettings}
#: Limit on parameters and weights in files, which excludes infinity and NaN, too.
_LARGEST = 1e100


def read_parameters(path: Path, parameters: Any) -> dict[str, Any]:
    """Return the parameters of a tracker from those in a file."""
    with reading(f"{path}: parameters {parameters!r:.200}", "those of a CellTracker"):
        for name in ("alpha", "tol"):
            if not _is_number(parameters[name]) or parameters[name] < 0:
                raise ValueError(f"{name} is {parameters[name]!r}")
        if parameters["norm"] not in NORMS:
            raise ValueError(f"norm is {parameters['norm']!r}")
        settings = {name: _settings(kind, parameters[name]) for name, kind in SETTINGS.items()}
        return {name: parameters[name] for name in PLAIN} | settings


def _settings(kind: type, values: dict[str, Any] | None) -> Gates | DetectionSettings | None:
    """Return settings of finite numbers; None is kept, and allowed for numbers whose default is None."""
    if values is None:
        return None
    optional = {field.name for field in fields(kind) if field.default is None}
    for name, value in values.items():
        if not _is_number(value) and not (value is None and name in optional):
            raise ValueError(f"{name} is {value!r}")
    return kind(**values)


def read_known(path: Path, known: Any) -> FilmStatistics | None:
    """Return the statistics of the films in training from those in a file; old files have none."""
    if known is None:
        return None
    with reading(f"{path}: known {known!r:.200}", "the statistics of films"):
        if wrong := [name for name, value in known.items() if not _is_number(value) or value < 0]:
            raise ValueError(f"{wrong[0]} is {known[wrong[0]]!r}")
        return FilmStatistics(**known)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST


def read_weights(path: Path, weights: Any) -> NDArray[np.float64]:
    """Return the weights of a file as a vector; each feature must have one."""
    with reading(f"{path}: weights", "a number for each feature of each event"):
        if not isinstance(weights, dict):
            raise ValueError(f"{type(weights).__name__!r} instead of an object")
        if {kind: set(of_kind) for kind, of_kind in weights.items()} != {
            kind: set(names) for kind, names in FEATURES.items()
        }:
            raise ValueError("events or features differ")
        vector = [weights[kind][name] for kind, names in FEATURES.items() for name in names]
        if wrong := [value for value in vector if not _is_number(value)]:
            raise ValueError(
                "not finite" if isinstance(wrong[0], float) else f"could not convert {wrong[0]!r}"
            )
        return np.array(vector, dtype=float)
