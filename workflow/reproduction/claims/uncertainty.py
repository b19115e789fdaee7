"""Draws from the uncertainty of results that were measured repeatedly.

A result that rests on seeds, splits, films or subjects is written with `results.repeated`: one number for
each of them. Draws of its mean follow Student's t with as many degrees of freedom as the repeats allow, so
that the share of draws in which ``a > b`` holds is one minus the p-value of a one-sided t-test. Results that
were measured on the same units (the same name and number) are drawn together: their differences are paired.

A statistic that is not a mean over units, such as an average precision, is written with `results.resampled`:
its value and its bootstrap draws, of which those of the same units belong together.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from reproduction.claims.expression import MissingValue

N_DRAWS = 10_000
_REPEATED = {"repeats", "unit", "test_over_train"}
_RESAMPLED = {"value", "draws", "unit", "n"}


@dataclass(frozen=True)
class Units:
    """What a result was measured on: the name of the units, their number, and the overlap of splits."""

    name: str
    number: int
    test_over_train: float = 0.0


def is_uncertain(value: Any) -> bool:
    """Return whether ``value`` was written by `results.repeated` or `results.resampled`."""
    if not isinstance(value, Mapping):
        return False
    names = set(value)
    return ("repeats" in names and names <= _REPEATED) or ("draws" in names and names == _RESAMPLED)


def units_of(value: Any) -> set[Units]:
    """Return the units of all uncertain results in ``value``."""
    if is_uncertain(value):
        return {_units(value)}
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return set().union(*map(units_of, items))


def estimate(value: Any) -> Any:
    """Replace each uncertain result in ``value`` by its estimate, and all numbers by arrays of shape (1,)."""
    return _replace(value, lambda result: np.array([_estimate(result)]))


def draw(value: Any) -> Any:
    """Replace each uncertain result in ``value`` by draws, and all other numbers by arrays of shape (1,)."""
    return _replace(value, _draws)


def _replace(value: Any, take: Callable[[Mapping[str, Any]], NDArray]) -> Any:
    if is_uncertain(value):
        return take(value)
    if isinstance(value, Mapping):
        return {name: _replace(item, take) for name, item in value.items()}
    if isinstance(value, list):
        return [_replace(item, take) for item in value]
    return np.array([value])


def _units(result: Mapping[str, Any]) -> Units:
    if "draws" in result:
        return Units(result["unit"], result["n"])
    return Units(result.get("unit", "seed"), len(result["repeats"]), result.get("test_over_train", 0.0))


def _estimate(result: Mapping[str, Any]) -> float:
    if "draws" in result:
        return float(result["value"])
    if not result["repeats"]:
        raise MissingValue("a repeated value has no measurement")
    return float(np.mean(result["repeats"]))


def _draws(result: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return draws of shape (N_DRAWS,), or (1,) for a single measurement, of which no spread is known."""
    units = _units(result)
    if "draws" in result:
        return np.resize(np.asarray(result["draws"], dtype=float), N_DRAWS)
    mean = _estimate(result)
    if units.number < 2:
        return np.array([mean])
    deviations = np.asarray(result["repeats"], dtype=float) - mean
    return mean + np.sqrt(1 / units.number + units.test_over_train) * (_noise(units) @ deviations)


@lru_cache(maxsize=32)
def _noise(units: Units) -> NDArray[np.float64]:
    """Return noise of shape (N_DRAWS, number) whose product with deviations from a mean is Student's t.

    The product has the scale of one measurement. For overlapping splits the variance of the mean is that of
    the corrected resampled t-test (Nadeau and Bengio, 2003), 1 / n + n_test / n_train times that of one.
    """
    rng = np.random.default_rng([crc32(units.name.encode()), units.number])
    freedom = units.number - 1
    normal = rng.standard_normal((N_DRAWS, units.number))
    return normal / np.sqrt(rng.chisquare(freedom, (N_DRAWS, 1)))
