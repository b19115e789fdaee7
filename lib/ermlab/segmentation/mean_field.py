"""Mean field inference in a fully connected random field (Kraehenbuehl and Koltun, 2011).

Every node is joined to every other by weights ``K = sum_m w_m K_m`` of Gaussian filters. A labeling ``y`` has
the score ``sum_i unary[i, y_i] + 1/2 sum_ij K_ij compatibility[y_i, y_j]`` (thesis, eq. 2.23); for the Potts
model the compatibility of different labels is -1 and that of equal labels 0.

The diagonal of ``K`` is not removed. It does not change the score of any labeling of a Potts model, and as
the filters are positive semidefinite, parallel updates then never increase the free energy of a Potts model
with non-negative weights: they minimize a bound in which its concave part is replaced by a tangent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from ermlab._utils.parallel import over_ranges
from ermlab._utils.validation import as_number, real_array, whole_number
from ermlab.segmentation._mean_field_numba import update
from ermlab.segmentation.gaussian_filter import PairwiseFilter
from ermlab.segmentation.potentials import LARGEST_POTENTIAL, check_labels, finite_potentials

Vector = NDArray[np.float64]

#: Smallest number of nodes that is worth a thread.
_GRAIN = 2048
#: Stands for the Potts model in the compiled update.
_POTTS = np.empty((0, 0))


@dataclass(frozen=True)
class MeanField:
    """Result of `mean_field`.

    Attributes
    ----------
    marginals : ndarray of shape (n_nodes, n_states)
        Probability of each label of each node.
    n_iter : int
        Number of updates.
    change : float
        Largest change of a marginal in the last update.
    converged : bool
        Whether the change is at most the tolerance.
    """

    marginals: Vector
    n_iter: int
    change: float
    converged: bool

    @property
    def labels(self) -> NDArray[np.int64]:
        """The most probable label of each node, the first one of several."""
        return self.marginals.argmax(axis=1)


def mean_field(
    unary: ArrayLike,
    kernels: Sequence[PairwiseFilter],
    weights: ArrayLike | None = None,
    *,
    compatibility: ArrayLike | None = None,
    max_iter: int = 10,
    tol: float = 1e-3,
    damping: float = 0.0,
    temperature: float | ArrayLike = 1.0,
    n_jobs: int | None = None,
) -> MeanField:
    """Approximate ``p(y) ~ exp(score(y))`` by independent marginals of the nodes.

    All nodes are updated at once, to
    ``Q_i(a) ~ exp(unary[i, a] + sum_b compatibility[a, b] sum_j K_ij Q_j(b))``.

    Parameters
    ----------
    unary : array-like of shape (n_nodes, n_states)
        Score of each label of each node.
    kernels : sequence of GaussianFilter or ExactGaussianFilter
        Weights between all pairs of nodes, symmetrically normalized or not normalized.
    weights : array-like of shape (n_kernels,), optional
        Factors of the kernels, by default 1.
    compatibility : array-like of shape (n_states, n_states), optional
        Symmetric scores of pairs of labels, by default 0 for equal and -1 for different labels (Potts).
    max_iter : int, default=10
        Number of updates after which to stop.
    tol : float, default=1e-3
        Change of all marginals below which to stop; 0 for a fixed number of updates.
    damping : float, default=0.0
        Part of the old marginals in the new ones, in [0, 1). It is not needed for a Potts model with
        non-negative weights; with others, undamped updates may oscillate.
    temperature : float or array-like of shape (n_temperatures,), default=1.0
        Number by which scores are divided, or one for each of the first updates, the last of which is kept.
        At temperatures that sink from update to update, the most probable labels end with higher scores
        (annealing).
    n_jobs : int, optional
        Number of threads, by default that of numba. Results do not depend on it.
    """
    field = DenseField(unary, kernels, weights, compatibility)
    max_iter = whole_number("max_iter", max_iter, 0)
    tol, damping = _fraction("tol", tol), _fraction("damping", damping)
    temperatures = _check_temperatures(temperature)
    n_nodes, n_states = field.unary.shape
    marginals = np.full((n_nodes, n_states), 1.0 / n_states)
    values = np.empty((n_nodes, n_states - 1))
    matrix = _POTTS if compatibility is None else field.compatibility

    def step(message: Vector, mass: Vector, temperature: float, damping: float) -> float:
        changes: list[float] = []

        def work(start: int, stop: int) -> None:
            changes.append(
                update(
                    *(field.unary, matrix, message, mass, temperature, damping),
                    *(marginals, values, start, stop),
                )
            )

        over_ranges(work, n_nodes, n_jobs, _GRAIN)
        return max(changes)

    step(np.zeros_like(values), np.zeros(n_nodes), temperatures[0], 0.0)
    n_iter, change, converged = 0, 0.0, False
    if not field.kernels or n_states == 1:
        max_iter, converged = 0, True
    mass = field.mass()
    while n_iter < max_iter and not converged:
        last = n_iter >= len(temperatures) - 1
        change = step(field.message(values), mass, temperatures[-1 if last else n_iter], damping)
        n_iter += 1
        converged = last and change <= tol
    return MeanField(marginals, n_iter, change, converged)


def dense_score(
    unary: ArrayLike,
    kernels: Sequence[PairwiseFilter],
    labels: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    compatibility: ArrayLike | None = None,
) -> float:
    """Return the score of a labeling; parameters as in `mean_field`."""
    field = DenseField(unary, kernels, weights, compatibility)
    n_nodes, n_states = field.unary.shape
    indicators = np.zeros((n_nodes, n_states))
    indicators[np.arange(n_nodes), check_labels(labels, n_nodes, n_states)] = 1.0
    return field.expected_score(indicators)


def free_energy(
    unary: ArrayLike,
    kernels: Sequence[PairwiseFilter],
    marginals: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    compatibility: ArrayLike | None = None,
) -> float:
    """Return the free energy of marginals, which mean field decreases; parameters as in `mean_field`.

    It is the negative sum of entropy and expected score. For kernels without a diagonal it is at least
    ``-log sum_y exp(score(y))``.
    """
    field = DenseField(unary, kernels, weights, compatibility)
    marginals = finite_potentials(marginals, "marginals")
    if marginals.shape != field.unary.shape or not (marginals >= 0).all():
        raise ValueError(
            f"marginals of shape {marginals.shape}: expected {field.unary.shape}, non-negative numbers"
        )
    return float(np.sum(xlogy(marginals, marginals))) - field.expected_score(marginals)


def different_pairs(kernel: PairwiseFilter, labels: NDArray[np.int64], n_states: int) -> float:
    """Return ``sum_{i<j} K_ij [y_i != y_j]`` for a symmetric kernel."""
    if n_states == 2:
        indicator = labels.astype(np.float64)
        cut = float(np.sum(indicator * kernel.mass)) - float(kernel.quadratic_form(indicator))
    else:
        indicators = np.zeros((len(labels), n_states))
        indicators[np.arange(len(labels)), labels] = 1.0
        cut = 0.5 * (float(np.sum(kernel.mass)) - float(np.sum(kernel.quadratic_form(indicators))))
    return max(cut, 0.0)  # weights are not negative, sums round


class DenseField:
    """Checked potentials of a fully connected random field."""

    def __init__(
        self,
        unary: ArrayLike,
        kernels: Sequence[PairwiseFilter],
        weights: ArrayLike | None,
        compatibility: ArrayLike | None,
    ):
        self.unary = finite_potentials(unary, "unary")
        if self.unary.ndim != 2 or self.unary.size == 0:
            raise ValueError(
                f"unary has shape {self.unary.shape}: expected (n_nodes, n_states), at least one of both"
            )
        n_nodes, n_states = self.unary.shape
        weights = np.ones(len(kernels)) if weights is None else finite_potentials(weights, "weights")
        if weights.shape != (len(kernels),):
            raise ValueError(f"weights have shape {weights.shape}: expected ({len(kernels)},)")
        for m, kernel in enumerate(kernels):
            if kernel.n_points != n_nodes:
                raise ValueError(f"kernel {m} has {kernel.n_points} points: expected {n_nodes}")
            if getattr(kernel, "normalization", "none") == "mean":
                raise ValueError(f"kernel {m} has normalization 'mean': expected a symmetric kernel")
        self.kernels = [(kernel, float(w)) for kernel, w in zip(kernels, weights, strict=True) if w != 0]
        self.compatibility = (
            np.eye(n_states) - 1.0
            if compatibility is None
            else finite_potentials(compatibility, "compatibility")
        )
        if self.compatibility.shape != (n_states, n_states):
            raise ValueError(
                f"compatibility has shape {self.compatibility.shape}: expected ({n_states}, {n_states})"
            )
        if not np.array_equal(self.compatibility, self.compatibility.T):
            raise ValueError("compatibility is not symmetric: expected the same score for (a, b) and (b, a)")
        largest = np.abs(self.compatibility).max() * sum(abs(w) * k.mass.max() for k, w in self.kernels)
        if not largest <= LARGEST_POTENTIAL:
            raise ValueError(
                f"weights of the kernels give scores up to {largest:.3g}: expected at most "
                f"{LARGEST_POTENTIAL:.3g}"
            )

    def message(self, values: Vector) -> Vector:
        """Return ``K values``."""
        out = np.zeros_like(values)
        for kernel, weight in self.kernels:
            kernel.add_to(out, values, weight)
        return out

    def mass(self) -> Vector:
        """Return ``K 1``."""
        return sum((weight * kernel.mass for kernel, weight in self.kernels), np.zeros(len(self.unary)))

    def expected_score(self, marginals: Vector) -> float:
        """Return the expected score of independent nodes, a pair of a node with itself counted as others."""
        sums = self.message(marginals)
        pairwise = float(np.sum((marginals @ self.compatibility) * sums))
        return float(np.sum(self.unary * marginals)) + 0.5 * pairwise


def _check_temperatures(temperature: float | ArrayLike) -> Vector:
    temperatures = np.atleast_1d(real_array(temperature, "temperature"))
    if temperatures.ndim != 1 or temperatures.size == 0:
        raise ValueError(f"temperature has shape {temperatures.shape}: expected one number, or several")
    if not ((temperatures > 0) & (temperatures < np.inf)).all():
        raise ValueError(f"temperature is {temperature}: expected positive numbers")
    return temperatures


def _fraction(name: str, value: float) -> float:
    number = as_number(value)
    if not 0 <= number < 1:
        raise ValueError(f"{name} is {value!r}: expected a number of at least 0 and below 1")
    return number
