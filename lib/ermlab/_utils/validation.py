"""Validation of numbers and arrays that users pass."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

#: Range of magnitudes whose sums of squares, and their quotients, neither overflow nor underflow.
SMALLEST, LARGEST = 1e-100, 1e100
#: Largest sum of a histogram.
LARGEST_SUM = float(np.finfo(np.float64).max) / 8


def real_array(values: ArrayLike, name: str, dtype: DTypeLike = np.float64) -> NDArray[np.floating]:
    """Return an array of real numbers, or raise a ValueError; numbers too large for the type are infinite.

    numpy itself drops imaginary parts with a warning, and masks without one.
    """
    if type(values) is np.ndarray and values.dtype == dtype:
        return values
    if np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries: expected numbers only")
    if np.iscomplexobj(values):
        raise ValueError(f"{name} has complex entries: expected real numbers")
    try:
        with np.errstate(over="ignore"):
            return np.asarray(values, dtype=dtype)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"{name}: {error}; expected real numbers") from error


def require_room(shape: Sequence[int], what: str, itemsize: int = 8) -> None:
    """Raise a ValueError for an array that is larger than the memory of the machine.

    The allocation of such an array may succeed, and the process be killed when it is filled.
    """
    needed = itemsize * math.prod(map(int, shape))
    if needed > _memory():
        # Integers, which may be too large for a float.
        raise ValueError(
            f"{what} would take {needed >> 30} GiB of memory: expected at most {_memory() >> 30}"
        )


@cache
def _memory() -> int:
    """Return the memory of the machine in bytes, or a terabyte if it is unknown."""
    if not hasattr(os, "sysconf"):
        return 1 << 40
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def largest_magnitude(*arrays: NDArray[np.number]) -> float:
    """Return the largest absolute value of all arrays; NaN if one holds NaN, 0 if all are empty."""
    largest = 0.0
    for array in arrays:
        if array.size:
            high, low = float(array.max()), float(array.min())
            if math.isnan(high):
                return high
            largest = max(largest, high, -low)
    return largest


def safe_unit(*arrays: NDArray[np.floating]) -> float:
    """Return the number by which the arrays should be divided before they are squared.

    It is 1 unless the largest magnitude is unusual, and then the power of two just below it, by which
    division is exact.
    """
    largest = largest_magnitude(*arrays)
    if largest == 0 or SMALLEST <= largest <= LARGEST or not math.isfinite(largest):
        return 1.0
    return math.ldexp(1.0, math.frexp(largest)[1] - 1)


def safe_norm(v: NDArray[np.floating]) -> float:
    """Return the Euclidean norm of a vector whose squared entries may overflow or underflow."""
    unit = safe_unit(v)
    scaled = v if unit == 1 else v / unit
    return unit * math.sqrt(float(np.sum(scaled * scaled)))


def require_ordinary(values: NDArray[np.float64], name: str, what: str) -> None:
    """Raise a ValueError if squares overflow or vanish."""
    largest = largest_magnitude(values)
    if largest > 0 and not SMALLEST <= largest <= LARGEST:
        raise ValueError(
            f"{name} has magnitudes up to {largest:.3g}: expected {SMALLEST:g} to {LARGEST:g}, "
            f"scale the {what} (sklearn.preprocessing.StandardScaler)"
        )


def require_sums(sums: NDArray[np.float64], name: str) -> None:
    """Raise a ValueError unless all sums of rows are so small that comparisons of rows stay finite."""
    if sums.size and not sums.max() <= LARGEST_SUM:
        row = int(sums.argmax())
        raise ValueError(f"row {row} of {name} sums to {sums[row]:.3g}: expected at most {LARGEST_SUM:.3g}")


def whole_number(name: str, value: float, least: int) -> int:
    """Return a whole number of at least ``least``, or raise a ValueError."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or number != value or number < least:
        raise ValueError(f"{name} is {value!r}: expected a whole number of at least {least}")
    return number


def finite_matrix(values: ArrayLike, name: str, wanted: str = "(n, d)") -> NDArray[np.float64]:
    """Return a matrix of finite numbers in double precision, or raise a ValueError."""
    values = real_array(values, name)
    if values.ndim != 2:
        raise ValueError(f"{name} has shape {values.shape}: expected {wanted}")
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(f"{name} is {values[row, column]} at ({row}, {column}): expected finite numbers")
    return values


def check_choice(name: str, value: object, choices: Sequence) -> None:
    """Raise a ValueError unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}: expected one of {tuple(choices)}")


def require_finite(values: NDArray[np.float64], message: str) -> NDArray[np.float64]:
    """Return ``values``, or raise a ValueError with ``message`` if one of them is NaN or infinite."""
    if not np.isfinite(values).all():
        raise ValueError(message)
    return values


def positive_number(name: str, value: float, *, infinite: bool = False) -> float:
    """Return a float that is more than 0, and finite unless ``infinite``, or raise a ValueError."""
    number = as_number(value)
    if not number > 0 or (number == math.inf and not infinite):
        expected = "a positive number" + (", or infinity" if infinite else "")
        raise ValueError(f"{name} is {_shown(value)}: expected {expected}")
    return number


def deadline_of(max_time: float | None) -> float:
    """Return the time of ``time.perf_counter`` in ``max_time`` seconds, infinity for None."""
    return math.inf if max_time is None else time.perf_counter() + positive_number("max_time", max_time)


def as_number(value: float) -> float:
    """Return a float; NaN for what is not a single number, or too large for a float."""
    if isinstance(value, (str, bytes)):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def regularization_strength(C: float, n: int = 1) -> float:
    """Return ``1 / (C n)``: the regularization strength for the mean over ``n`` samples."""
    C = positive_number("C", C)
    if not 0 < C * n < math.inf or not 0 < 1.0 / (C * n) < math.inf:
        raise ValueError(f"C is {C} for {n} samples: expected a finite C n and 1 / (C n)")
    return 1.0 / (C * n)


def _shown(value: object) -> str:
    """Return the text of a value for a message."""
    text = "an integer beyond all floats" if isinstance(value, int) and abs(value) > 2**1023 else repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
