"""The polynomial kernel ``(c + <x, z>)^p``, and features whose inner product it is."""

from functools import cache
from itertools import combinations_with_replacement
from math import comb, factorial, prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.kernels._units import finite_matrix

#: Features of more monomials than this would fill the memory.
_MOST = 10_000_000


def polynomial_kernel(X: ArrayLike, Z: ArrayLike, degree: int, constant: float = 1.0) -> NDArray[np.float64]:
    """Return ``(constant + <x, z>)^degree`` for each row of ``X`` and of ``Z``."""
    _check(degree, constant)
    X, Z = finite_matrix(X, "X"), finite_matrix(Z, "Z")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(f"X has {X.shape[1]} columns and Z {Z.shape[1]}: expected as many")
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite((constant + X @ Z.T) ** degree)


def polynomial_features(X: ArrayLike, degree: int, constant: float = 1.0) -> NDArray[np.float64]:
    """Return for points of shape (..., d) the features of the polynomial kernel, (..., `n_features`).

    They are the monomials ``x^a`` of degree ``|a| <= degree``, by the multinomial theorem each times
    ``sqrt(degree! / (a_1! ... a_d! (degree - |a|)!) constant^(degree - |a|))``.
    """
    _check(degree, constant)
    X = np.asarray(X, dtype=float)
    if not np.isfinite(X).all():
        raise ValueError("a point is NaN or infinite: expected finite numbers")
    if X.ndim == 0 or X.shape[-1] == 0:
        raise ValueError(f"points of shape {X.shape}: expected (..., d) with d at least 1")
    members, factors = _monomials(X.shape[-1], degree, float(constant))
    # One column more for the constant factor 1 of monomials of lower degree.
    ones = np.ones((*X.shape[:-1], 1))
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite(factors * np.concatenate([X, ones], axis=-1)[..., members].prod(axis=-1))


def n_features(dimension: int, degree: int, constant: float = 1.0) -> int:
    """Return the number of polynomial features of points of a dimension."""
    _check(degree, constant)
    return len(_monomials(dimension, degree, float(constant))[1])


@cache
def _monomials(dimension: int, degree: int, constant: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the factors of each monomial, as columns of ``(x, 1)``, and what it is multiplied with."""
    columns = range(dimension + (constant > 0))
    count = comb(len(columns) + degree - 1, degree)
    if count * degree > _MOST:
        raise ValueError(f"degree {degree} in {dimension} dimensions has {count} monomials: too many to list")
    members = np.array(list(combinations_with_replacement(columns, degree)), dtype=np.int64)
    counts = [np.bincount(member, minlength=dimension + 1).tolist() for member in members]
    ways = [factorial(degree) // prod(map(factorial, count)) for count in counts]
    try:
        squares = [way * constant ** count[-1] for way, count in zip(ways, counts, strict=True)]
        return members, np.sqrt(np.array(squares, dtype=np.float64))
    except OverflowError as error:
        raise ValueError(
            f"factors of degree {degree} with constant {constant} overflow: lower them"
        ) from error


def _check(degree: int, constant: float) -> None:
    if not isinstance(degree, int | np.integer) or degree < 1:
        raise ValueError(f"degree is {degree!r}: expected a whole number of at least 1")
    if not 0 <= constant < np.inf:
        raise ValueError(f"constant is {constant}: expected a number of at least 0")


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(values).all():
        raise ValueError("a power is infinite: scale the points down, or lower the degree")
    return values
