"""The elastic net for few samples and very many features, along a grid of regularization strengths.

``1/(2n) |Zw - y|^2 + l1 |w|_1 + l2/2 |w|^2`` (thesis, table 4.4) is solved in its dual, which has one
variable per sample: minimize ``n/2 |t|^2 - <y, t> + 1/(2 l2) sum_j max(|<z_j, t>| - l1, 0)^2``. It is smooth
and piecewise quadratic, so that Newton's method needs few steps for any number of features. The weights are
``w_j = soft(<z_j, t>, l1) / l2``; equal features have equal weights. Counts of patterns in few samples have
many equal columns: of a million columns only thousands are distinct.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array, issparse
from sklearn.exceptions import ConvergenceWarning

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.sparse_matrices import sound_csr
from ermlab._utils.validation import largest_magnitude, real_array

_STEPS = 200
_DECREASE = 1e-4
#: Step length at which the line search stops.
_SHORTEST = 1e-10
#: Rounding in the gap, relative to the objective without weights.
_ROUNDING = 1e-12
#: Magnitudes of features, target and sizes: squares of their products neither overflow nor vanish.
_SMALLEST, _LARGEST = 1e-50, 1e50


@dataclass(frozen=True)
class ElasticNetGrid:
    """Grid of models, ordered by l1 ratio, and for each ratio by decreasing regularization strength.

    Parameters
    ----------
    alphas : tuple of float
        Regularization strengths, relative to the smallest one at which all weights are 0.
    l1_ratios : tuple of float
        Shares of the l1 norm in the penalty.
    tol : float, default=1e-4
        Largest duality gap, relative to the objective without weights.
    """

    alphas: tuple[float, ...]
    l1_ratios: tuple[float, ...]
    tol: float = 1e-4

    def __post_init__(self) -> None:
        for name in ("alphas", "l1_ratios"):
            values = getattr(self, name)
            if not values or not all(isinstance(value, Real) and 0 < value < 1 for value in values):
                raise ValueError(f"{name} is {values}: expected numbers between 0 and 1")
        if not (isinstance(self.tol, Real) and 0 < self.tol < np.inf):
            raise ValueError(f"tol is {self.tol!r}: expected a number above 0")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return the grid of a mapping, which may have other keys."""
        return cls(tuple(values["alphas"]), tuple(values["l1_ratios"]), values["tol"])

    @property
    def models(self) -> list[tuple[float, float]]:
        """Relative regularization strength and l1 ratio of each model."""
        return [(alpha, ratio) for ratio in self.l1_ratios for alpha in sorted(self.alphas, reverse=True)]


@dataclass(frozen=True)
class ElasticNetFits:
    """Models of a grid.

    Attributes
    ----------
    coefs : ndarray of shape (n_models, n_features)
    sizes : ndarray of shape (n_features,)
        Multiplicity of each feature.
    gaps : ndarray of shape (n_models,)
        Duality gaps relative to the objective without weights.
    """

    coefs: NDArray[np.float64]
    sizes: NDArray[np.float64]
    gaps: NDArray[np.float64]

    def predict(self, Z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the predictions of all models minus the mean training target, (n_models, n_samples)."""
        with one_blas_thread():
            return (self.coefs * self.sizes) @ Z.T

    def nonzeros(self, model: int) -> int:
        """Return the number of non-zero weights, with multiplicity."""
        return int(self.sizes[self.coefs[model] != 0].sum())


def fit_elastic_nets(
    Z: NDArray[np.float64], y: ArrayLike, grid: ElasticNetGrid, sizes: ArrayLike | None = None
) -> ElasticNetFits:
    """Fit all models of the grid to features of mean 0; the target is centered.

    Parameters
    ----------
    Z : array-like of shape (n_samples, n_features)
        Features of mean 0.
    y : array-like of shape (n_samples,)
        Target.
    grid : ElasticNetGrid
        Regularization strengths.
    sizes : array-like of shape (n_features,), default=None
        Multiplicity of each feature: k equal features may be given once with multiplicity k, and each has the
        weight that is returned. By default 1.

    Returns
    -------
    ElasticNetFits
    """
    Z, y = real_array(Z, "Z"), real_array(y, "y")
    if Z.ndim != 2 or y.shape != (len(Z),) or not len(y):
        raise ValueError(f"features {Z.shape}, target {y.shape}: expected (n, d) and (n,)")
    for name, values in (("a feature", Z), ("the target", y)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} is NaN or infinite: expected finite numbers")
    sizes = np.ones(Z.shape[1]) if sizes is None else real_array(sizes, "sizes")
    if sizes.shape != (Z.shape[1],) or not (np.isfinite(sizes).all() and (sizes >= 0).all()):
        raise ValueError(f"sizes of shape {sizes.shape}: expected {Z.shape[1]} numbers of at least 0")
    for name, values in (("features have", Z), ("the target has", y), ("sizes have", sizes)):
        largest = largest_magnitude(values)
        if largest > 0 and not _SMALLEST <= largest <= _LARGEST:
            raise ValueError(
                f"{name} magnitudes up to {largest:.3g}: expected {_SMALLEST:g} to {_LARGEST:g}, scale them "
                "(sklearn.preprocessing.StandardScaler)"
            )
    y = y - y.mean()
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        return _fit_grid(Z, y, grid, sizes)


def solve_dual(
    Z: NDArray[np.float64],
    y: NDArray[np.float64],
    sizes: NDArray[np.float64],
    l1: float,
    l2: float,
    t: NDArray[np.float64],
    tol: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return weights, dual variables and gap; ``t`` is the starting point, ``tol`` the gap to reach."""
    n = len(y)
    products = t @ Z
    for _ in range(_STEPS):
        active = np.flatnonzero(np.abs(products) > l1)
        excess = products[active] - l1 * np.sign(products[active])
        used, count = Z[:, active], sizes[active]
        weights = excess / l2
        residual = y - used @ (count * weights)
        slope = n * t - residual
        value = _dual(t, y, products, sizes, l1, l2)
        penalty = l1 * count @ np.abs(weights) + 0.5 * l2 * count @ weights**2
        gap = 0.5 * residual @ residual / n + penalty + value
        if not math.isfinite(gap):
            raise ValueError(
                f"the objective with l2 = {l2:.3g} overflows for products of features and target up to "
                f"{np.abs(products).max():.3g}: scale the features (sklearn.preprocessing.StandardScaler)"
            )
        if gap <= tol:
            break
        curvature = (used * (count / l2)) @ used.T
        curvature[np.diag_indices(n)] += n
        try:
            step = -np.linalg.solve(curvature, slope)
        except np.linalg.LinAlgError:
            break  # singular up to rounding: l2 is negligible beside the squares of the features
        along = step @ Z
        length, decrease = 1.0, _DECREASE * float(slope @ step)
        while (
            _dual(t + length * step, y, products + length * along, sizes, l1, l2) > value + length * decrease
            and length > _SHORTEST
        ):
            length *= 0.5
        if length <= _SHORTEST:
            break  # no progress beyond rounding
        t = t + length * step
        products = products + length * along
    full = np.zeros(Z.shape[1])
    whole = 0.5 * float(y @ y) / n
    if gap > max(tol, whole):
        # The weights, small differences divided by l2, are lost in rounding: zero weights are better.
        return full, y / n, whole
    full[active] = weights
    return full, t, float(max(gap, 0.0))


def _dual(t: NDArray, y: NDArray, products: NDArray, sizes: NDArray, l1: float, l2: float) -> float:
    """Return the dual objective, to be minimized."""
    excess = np.maximum(np.abs(products) - l1, 0.0)
    return float(0.5 * len(y) * t @ t - y @ t + 0.5 * (sizes * excess) @ excess / l2)


def _fit_grid(Z: NDArray, y: NDArray, grid: ElasticNetGrid, sizes: NDArray) -> ElasticNetFits:
    coefs, gaps = np.zeros((len(grid.models), Z.shape[1])), np.zeros(len(grid.models))
    used = np.flatnonzero(sizes)
    Z = Z if len(used) == Z.shape[1] else Z[:, used]
    lengths = np.linalg.norm(Z, axis=0)
    products = np.abs(y @ Z)
    length = float(np.linalg.norm(y))
    largest = float(products.max(initial=0.0)) / len(y)
    if largest * len(y) <= _ROUNDING * length * lengths.max(initial=0.0):
        return ElasticNetFits(coefs, sizes, gaps)  # no feature correlates with the target
    whole = 0.5 * length**2 / len(y)
    t = y / len(y)
    for i, (alpha, ratio) in enumerate(grid.models):
        l1 = alpha * largest
        found, t, gap = solve_dual(
            Z, y, sizes[used], l1, l1 * (1 - ratio) / ratio, t, max(grid.tol, _ROUNDING) * whole
        )
        coefs[i, used] = found
        gaps[i] = gap / whole
    _warn_of_gaps(gaps, max(grid.tol, _ROUNDING))
    return ElasticNetFits(coefs, sizes, gaps)


def _warn_of_gaps(gaps: NDArray[np.float64], tol: float) -> None:
    rough = np.flatnonzero(gaps > tol)
    if len(rough):
        warnings.warn(
            f"{len(rough)} of {len(gaps)} models stopped with a relative gap of up to {gaps.max():.2g}: "
            "raise tol, or scale the features (sklearn.preprocessing.StandardScaler)",
            ConvergenceWarning,
            stacklevel=4,
        )


@dataclass(frozen=True)
class DistinctColumns:
    """Distinct non-constant columns of a sparse training matrix, standardized.

    Attributes
    ----------
    Z : ndarray of shape (n_samples, n_distinct)
        Distinct columns with mean 0 and standard deviation 1.
    numbers : ndarray of shape (n_columns,)
        Index of the distinct column that each column equals, -1 if it is constant.
    mean, deviation : ndarray of shape (n_distinct,)
        Mean and standard deviation of the distinct columns in the matrix.
    """

    Z: NDArray[np.float64]
    numbers: NDArray[np.int64]
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]

    @classmethod
    def of(cls, X: csr_array) -> Self:
        """Group the equal columns of ``X``."""
        X = _checked(X)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        met = np.bincount(X.indices, minlength=X.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):  # infinite sums are equal; see the check below
            firsts, numbers = _distinct(X, rows, met)
        values = _columns(X, rows, firsts, numbers)
        same = values[rows, numbers[X.indices]] == X.data
        if not (same.all() and np.array_equal(met, np.count_nonzero(values, axis=0)[numbers])):
            firsts, numbers = _distinct_exactly(X)
            values = _columns(X, rows, firsts, numbers)
        varies = (values != values[0]).any(axis=0)
        renamed = np.where(varies, np.cumsum(varies) - 1, -1)
        values = values[:, varies]
        with np.errstate(over="ignore", invalid="ignore"):
            mean, deviation = values.mean(axis=0), values.std(axis=0)
        if not (np.isfinite(deviation).all() and (deviation > 0).all()):
            raise ValueError("the deviation of a feature is infinite or vanishes: scale the features")
        return cls((values - mean) / deviation, renamed[numbers], mean, deviation)

    def sizes(self, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """Return the number of columns, of those allowed, that each distinct one represents."""
        self._require_allowed(allowed)
        numbers = self.numbers if allowed is None else self.numbers[allowed]
        return np.bincount(numbers[numbers >= 0], minlength=len(self.mean)).astype(np.float64)

    def means_of(self, X: csr_array, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """Return the standardized means, for other samples, of the columns that each distinct one represents.

        In other samples these columns may differ; as their weights are equal, only their mean matters.
        """
        X = _checked(X)
        self._require_allowed(allowed)
        if X.shape[1] != len(self.numbers):
            raise ValueError(f"{X.shape[1]} columns: expected {len(self.numbers)}, as in training")
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        numbers = self.numbers[X.indices]
        kept = numbers >= 0 if allowed is None else (numbers >= 0) & allowed[X.indices]
        count = len(self.mean)
        sums = np.bincount(
            rows[kept] * count + numbers[kept], weights=X.data[kept], minlength=X.shape[0] * count
        ).reshape(X.shape[0], count)
        with np.errstate(over="ignore"):
            means = (sums / np.maximum(self.sizes(allowed), 1.0) - self.mean) / self.deviation
        if not np.isfinite(means).all():
            raise ValueError("a scaled feature is infinite: expected features in the units of the training")
        return means

    def _require_allowed(self, allowed: NDArray[np.bool_] | None) -> None:
        if allowed is not None and (allowed.shape != self.numbers.shape or allowed.dtype != bool):
            raise ValueError(
                f"allowed has shape {allowed.shape} and type {allowed.dtype}: expected a boolean for each of "
                f"{len(self.numbers)} columns"
            )


def _columns(
    X: csr_array, rows: NDArray[np.int64], firsts: NDArray[np.int64], numbers: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the columns ``firsts``, which are numbered 0, 1, ..., as a dense matrix."""
    values = np.zeros((X.shape[0], len(firsts)))
    shown = np.zeros(X.shape[1], dtype=bool)
    shown[firsts] = True
    own = shown[X.indices]
    values[rows[own], numbers[X.indices[own]]] = X.data[own]
    return values


def _distinct_exactly(X: csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Do the same as `_distinct` by comparing the columns themselves, which is slower but exact."""
    columns = csc_array(X)
    columns.sort_indices()
    kinds: dict[tuple[bytes, bytes], int] = {}
    numbers, firsts = np.empty(X.shape[1], dtype=np.int64), []
    for j, (start, stop) in enumerate(pairwise(columns.indptr.tolist())):
        key = columns.indices[start:stop].tobytes(), columns.data[start:stop].tobytes()
        numbers[j] = kinds.setdefault(key, len(kinds))
        if len(kinds) > len(firsts):
            firsts.append(j)
    return np.array(firsts, dtype=np.int64), numbers


def _distinct(
    X: csr_array, rows: NDArray[np.int64], met: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return one column of each group of equal columns, and the group of each column.

    Columns are compared by sums with random weights; equal sums are not checked to be equal columns.
    """
    n, d = X.shape
    # Most patterns occur once, in one sample: these need no sorting.
    once = (met[X.indices] == 1) & (X.data == 1)
    columns, samples = X.indices[once], rows[once]
    others = np.ones(d, dtype=bool)
    others[columns] = False
    rest = np.flatnonzero(others)
    weights = np.random.default_rng(0).random(n)
    sums = np.bincount(X.indices, weights=X.data * weights[rows], minlength=d)[rest]
    _, firsts, kinds = np.unique(sums, return_index=True, return_inverse=True)
    _, first_of, kinds_of = np.unique(samples, return_index=True, return_inverse=True)
    numbers = np.empty(d, dtype=np.int64)
    numbers[rest] = kinds
    numbers[columns] = len(firsts) + kinds_of
    return np.concatenate([rest[firsts], columns[first_of]]), numbers


def _checked(X: csr_array) -> csr_array:
    if not issparse(X) or X.ndim != 2 or not X.shape[0]:
        raise ValueError(f"a {type(X).__name__}: expected a sparse matrix of at least one row")
    X = csr_array(sound_csr(X, "X"), dtype=np.float64)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if not np.isfinite(X.data).all():
        raise ValueError("a feature is NaN or infinite: expected finite numbers")
    if not X.data.all():
        X = X.copy()
        X.eliminate_zeros()
    return X
