"""Read and write the results of an experiment: `values.json`, and `timings.json` for measured times.

Times change from run to run and nothing else may, so they are kept in a separate file:
two runs with one seed give the same ``values.json``, byte for byte.
"""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ermlab._utils.files import write_json
from ermlab.exceptions import DataError
from reproduction.pipeline.settings import run_config

VALUES, TIMINGS = "values.json", "timings.json"


def repeated(values: Iterable[float], unit: str = "seed", test_over_train: float = 0.0) -> dict[str, Any]:
    """Mark numbers as repeated measurements of one quantity, one for each seed or other unit.

    Results with the same unit and number of measurements are paired: measurement i of one and of the other
    must come from the same seed, film, split or subject.

    Parameters
    ----------
    values
        The measurements.
    unit
        What they were repeated over, in the singular: ``"film"``, ``"split"``, ``"image"``.
    test_over_train
        For splits of one sample into training and test parts, which overlap: the size of the test part over
        that of the training part. It widens intervals as the corrected resampled t-test does.
    """
    marked: dict[str, Any] = {"repeats": [float(value) for value in values]}
    if unit != "seed":
        marked["unit"] = unit
    if test_over_train:
        marked["test_over_train"] = float(test_over_train)
    return marked


def resampled(value: float, draws: Iterable[float], unit: str, n: int) -> dict[str, Any]:
    """Mark a number as an estimate with bootstrap draws, for statistics that are no means over units.

    Parameters
    ----------
    value
        The statistic on all units.
    draws
        The statistic on resampled units. Draw i of all results with the same unit and number must come from
        the same resample.
    unit
        What was resampled, in the singular: ``"image"``, ``"scene"``.
    n
        Number of units.
    """
    return {"value": float(value), "draws": [float(draw) for draw in draws], "unit": unit, "n": int(n)}


def write_results(
    folder: str | Path,
    values: Mapping[str, Any],
    *,
    datasets: Mapping[str, str] | None = None,
    timings: Mapping[str, Any] | None = None,
) -> None:
    """Write an experiment's numbers into ``folder``, whose name is the experiment's.

    In a run of the workflow, the scale and the settings of the experiment and its data sets are written, too.

    Parameters
    ----------
    values
        Names to numbers, truth values, strings, arrays, mappings of these, `repeated` or `resampled` results.
    datasets
        Data set names to ``"real"`` or ``"simulated"``; empty when no data are involved.
    timings
        Measured seconds, kept apart in ``timings.json``.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    datasets = dict(datasets or {})
    for name, kind in datasets.items():
        if kind not in ("real", "simulated"):
            raise ValueError(f"data set {name!r} is {kind!r}: expected 'real' or 'simulated'")
    config = run_config()
    document = {
        "experiment": folder.name,
        "datasets": datasets,
        "settings": {name: config[name] for name in ("scale", folder.name, *datasets) if name in config},
        "values": _plain(values, "values"),
    }
    write_json(folder / VALUES, document)
    if timings is not None:
        document = {"experiment": folder.name, "timings": _plain(timings, "timings")}
        write_json(folder / TIMINGS, document)


def read_results(folder: str | Path) -> dict[str, Any]:
    """Return what `write_results` wrote: experiment, datasets, settings, values and timings, by name."""
    folder = Path(folder)
    document = read_json(folder / VALUES)
    timings = folder / TIMINGS
    document["timings"] = read_json(timings)["timings"] if timings.exists() else {}
    return document


def read_json(path: str | Path) -> Any:
    """Read a JSON file, with an error that says what to do if it is missing or damaged."""
    path = Path(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: run `make` or `snakemake {path}` first") from None
    except (OSError, ValueError, RecursionError) as error:  # also of numbers with thousands of digits
        raise DataError(f"{path} is damaged ({error}): delete it and run `make` again") from error


def _plain(value: Any, place: str) -> Any:
    """Turn numpy objects into what JSON knows; refuse NaN and infinity, naming the place."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item, f"{place}.{name}") for name, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(item, f"{place}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{place} is {value}: results must be finite numbers")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"{place} is a {type(value).__name__}: expected a number, truth value, string or array")
