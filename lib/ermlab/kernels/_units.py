"""Checks of magnitudes: squares of very large or very small numbers overflow or vanish."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Magnitudes between which sums of squares and their quotients are safe, for any number of summands.
SMALLEST, LARGEST = 1e-100, 1e100
#: Largest sum of a histogram.
LARGEST_SUM = float(np.finfo(np.float64).max) / 8


def largest_magnitude(*arrays: NDArray[np.number]) -> float:
    """Return the largest absolute value in all arrays, NaN if one holds NaN, 0 if all are empty."""
    largest = 0.0
    for array in arrays:
        if array.size:
            high, low = float(array.max()), float(array.min())
            if math.isnan(high):
                return high
            largest = max(largest, high, -low)
    return largest


def safe_unit(*arrays: NDArray[np.floating]) -> float:
    """Return the number to divide the arrays by before they are squared.

    It is 1 unless the largest magnitude is out of the ordinary, and then the power of two just below it.
    Division by a power of two is exact, so that results do not depend on the unit but for its factor.
    """
    largest = largest_magnitude(*arrays)
    if largest == 0 or SMALLEST <= largest <= LARGEST or not math.isfinite(largest):
        return 1.0
    return math.ldexp(1.0, math.frexp(largest)[1] - 1)


def require_sums(sums: NDArray[np.float64], name: str) -> None:
    """Raise a ValueError unless the sums of two rows, and of their comparisons, stay finite."""
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
    try:
        values = np.asarray(values, dtype=np.float64)
    except TypeError as error:
        raise ValueError(f"{name}: {error}; expected numbers") from error
    if values.ndim != 2:
        raise ValueError(f"{name} has shape {values.shape}: expected {wanted}")
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(f"{name} is {values[row, column]} at ({row}, {column}): expected finite numbers")
    return values
