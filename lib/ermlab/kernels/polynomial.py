"""The polynomial kernel ``(constant + <x, z>)^degree`` and its explicit feature map."""

from __future__ import annotations

from functools import cache
from itertools import chain, combinations_with_replacement
from math import comb, factorial, prod
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import finite_matrix, real_array, require_room, whole_number

#: Largest number of factors of all monomials.
_MOST = 10_000_000
#: With this many columns, and this high a degree, there are more.
_SURELY_MORE = 24
#: Largest number whose factorial fits into 64 bits.
_LARGEST_FACTORIAL = 20


def polynomial_kernel(X: ArrayLike, Z: ArrayLike, degree: int, constant: float = 1.0) -> NDArray[np.float64]:
    """Compute ``(constant + <x, z>)^degree`` for each row of ``X`` and of ``Z``."""
    _check(degree, constant)
    X, Z = finite_matrix(X, "X"), finite_matrix(Z, "Z")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(f"X has {X.shape[1]} columns and Z {Z.shape[1]}: expected the same number")
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            return _finite((constant + X @ Z.T) ** degree)
        except OverflowError as error:
            raise ValueError("degree is too large for a float: lower it") from error


def polynomial_features(X: ArrayLike, degree: int, constant: float = 1.0) -> NDArray[np.float64]:
    """Compute features whose inner products are the polynomial kernel.

    They are the monomials ``x^a`` of degree ``|a| <= degree``, each multiplied by
    ``sqrt(degree! / (a_1! ... a_d! (degree - |a|)!) constant^(degree - |a|))`` (multinomial theorem).

    Parameters
    ----------
    X : array-like of shape (..., d)
        Points.
    degree : int
        Degree of the kernel.
    constant : float, default=1.0
        Constant of the kernel, at least 0.

    Returns
    -------
    ndarray of shape (..., `n_features(d, degree, constant)`)
    """
    _check(degree, constant)
    X = real_array(X, "X")
    if not np.isfinite(X).all():
        raise ValueError("a point is NaN or infinite: expected finite numbers")
    if X.ndim == 0 or X.shape[-1] == 0:
        raise ValueError(f"points of shape {X.shape}: expected (..., d) with d at least 1")
    members, factors = _monomials(X.shape[-1], int(degree), float(constant))
    require_room((*X.shape[:-1], len(factors)), f"{len(factors)} monomials of points of shape {X.shape}")
    # The additional column is the constant factor 1 of monomials of lower degree.
    columns = np.concatenate([X, np.ones((*X.shape[:-1], 1))], axis=-1)
    with np.errstate(over="ignore", invalid="ignore"):
        features = columns[..., members[:, 0]]
        for column in members.T[1:]:
            features *= columns[..., column]
        features *= factors
    return _finite(features)


def n_features(dimension: int, degree: int, constant: float = 1.0) -> int:
    """Return the number of polynomial features of points of a dimension."""
    _check(degree, constant)
    return _count(whole_number("dimension", dimension, 1), int(degree), float(constant))


@cache
def _monomials(dimension: int, degree: int, constant: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the factors of each monomial, as columns of ``(x, 1)``, and its coefficient."""
    count = _count(dimension, degree, constant)
    monomials = combinations_with_replacement(range(dimension + (constant > 0)), degree)
    members = np.fromiter(chain.from_iterable(monomials), dtype=np.int64, count=count * degree)
    members = members.reshape(count, degree)
    try:
        powers = np.array([constant**i for i in range(degree + 1)]) if constant > 0 else np.ones(degree + 1)
        squares = _orders(members) * powers[np.count_nonzero(members == dimension, axis=1)]
        return members, np.sqrt(squares.astype(np.float64))
    except OverflowError as error:
        raise ValueError(f"factors for degree {degree}, constant {constant} overflow: lower them") from error


def _count(dimension: int, degree: int, constant: float) -> int:
    """Return the number of monomials, or raise a ValueError if there are too many to list."""
    columns = dimension + (constant > 0)
    # Without this test the number itself may have millions of digits.
    if min(columns - 1, degree) < _SURELY_MORE:
        count = comb(columns + degree - 1, degree)
        if count * degree <= _MOST:
            return count
    raise ValueError(f"degree {degree} in {dimension} dimensions has too many monomials to list")


def _orders(members: NDArray[np.int64]) -> NDArray:
    """Return the number of different orders of the factors of each monomial, which are sorted."""
    degree = members.shape[1]
    if len(members) == 1:  # all factors are equal, possibly very many
        return np.ones(1)
    # The product of the ranks of all factors among those equal to them is the product of factorials.
    places = np.ones_like(members)
    for j in range(1, degree):
        places[:, j] += np.where(members[:, j] == members[:, j - 1], places[:, j - 1], 0)
    if degree <= _LARGEST_FACTORIAL:
        return factorial(degree) // places.prod(axis=1)
    ways = factorial(degree)
    return np.array([float(ways // prod(row)) for row in places.tolist()])


def _check(degree: int, constant: float) -> None:
    if not isinstance(degree, int | np.integer) or degree < 1:
        raise ValueError(f"degree is {degree!r}: expected a whole number of at least 1")
    if not (isinstance(constant, Real) and 0 <= constant < np.inf):
        raise ValueError(f"constant is {constant!r}: expected a number of at least 0")


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(values).all():
        raise ValueError("a power is infinite: scale the points down, or lower the degree")
    return values
