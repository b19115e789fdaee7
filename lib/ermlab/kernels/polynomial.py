"""The polynomial kernel ``(c + <x, z>)^p``, and features whose inner product it is."""

from functools import cache
from itertools import combinations_with_replacement
from math import factorial, prod

import numpy as np
from numpy.typing import ArrayLike, NDArray


def polynomial_kernel(X: ArrayLike, Z: ArrayLike, degree: int, constant: float = 1.0) -> NDArray[np.float64]:
    """Return ``(constant + <x, z>)^degree`` for each row of ``X`` and of ``Z``."""
    _check(degree, constant)
    return (constant + np.asarray(X, dtype=float) @ np.asarray(Z, dtype=float).T) ** degree


def polynomial_features(X: ArrayLike, degree: int, constant: float = 1.0) -> NDArray[np.float64]:
    """Return for points of shape (..., d) the features of the polynomial kernel, (..., `n_features`).

    They are the monomials ``x^a`` of degree ``|a| <= degree``, by the multinomial theorem each times
    ``sqrt(degree! / (a_1! ... a_d! (degree - |a|)!) constant^(degree - |a|))``.
    """
    _check(degree, constant)
    X = np.asarray(X, dtype=float)
    if X.ndim == 0 or X.shape[-1] == 0:
        raise ValueError(f"points of shape {X.shape}: expected (..., d) with d at least 1")
    members, factors = _monomials(X.shape[-1], degree, float(constant))
    # One column more for the constant factor 1 of monomials of lower degree.
    ones = np.ones((*X.shape[:-1], 1))
    return factors * np.concatenate([X, ones], axis=-1)[..., members].prod(axis=-1)


def n_features(dimension: int, degree: int, constant: float = 1.0) -> int:
    """Return the number of polynomial features of points of a dimension."""
    _check(degree, constant)
    return len(_monomials(dimension, degree, float(constant))[1])


@cache
def _monomials(dimension: int, degree: int, constant: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the factors of each monomial, as columns of ``(x, 1)``, and what it is multiplied with."""
    columns = range(dimension + (constant > 0))
    members = np.array(list(combinations_with_replacement(columns, degree)), dtype=np.int64)
    counts = [np.bincount(member, minlength=dimension + 1).tolist() for member in members]
    ways = [factorial(degree) // prod(map(factorial, count)) for count in counts]
    return members, np.sqrt([way * constant ** count[-1] for way, count in zip(ways, counts, strict=True)])


def _check(degree: int, constant: float) -> None:
    if not isinstance(degree, int | np.integer) or degree < 1:
        raise ValueError(f"degree is {degree!r}: expected a whole number of at least 1")
    if not 0 <= constant < np.inf:
        raise ValueError(f"constant is {constant}: expected a number of at least 0")
