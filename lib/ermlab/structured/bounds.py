"""Generalization bounds: how much the risk on new data can exceed the risk on the sample.

``confidence`` is 1 minus the probability that a bound fails.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import check_choice, require_finite
from ermlab.structured.losses import RESCALINGS, Rescaling

Vector = NDArray[np.float64]


def admissibility(sigma: ArrayLike, rescaling: Rescaling) -> Vector:
    """Return the slope ``a`` of the loss of a pair in each score: ``sigma`` for slack, 1 for margin."""
    check_choice("rescaling", rescaling, RESCALINGS)
    (sigma,) = _positive(sigma=sigma)
    return sigma if rescaling == "slack" else np.ones_like(sigma)


def score_stability(
    n: ArrayLike, regularization: ArrayLike, sigma: ArrayLike, rescaling: Rescaling, kappa: float = 1.0
) -> Vector:
    """Return ``nu(n) = 8 a kappa^2 / (lambda n)``, a bound on the change of any score by one example.

    ``sigma`` is the largest output loss, ``kappa`` the largest norm of a joint feature
    (thesis, theorem 3.2.4, proof).
    """
    n, regularization = _positive(n=n, regularization=regularization)
    _check_sizes(kappa=kappa)
    with np.errstate(all="ignore"):  # checked next
        return _finite(8 * admissibility(sigma, rescaling) * kappa**2 / (regularization * n))


def tight_score_stability(
    n: ArrayLike, regularization: ArrayLike, sigma: ArrayLike, rescaling: Rescaling, kappa: float = 1.0
) -> Vector:
    """Return the smallest valid `score_stability`: a quarter of it for slack, half for margin rescaling.

    By optimality and monotone subgradients ``2 lambda ||w - w'||`` is at most the change of the mean
    subgradient of the exchanged example's pairs. One pair's subgradient is ``c (phi_k - phi_j)`` with
    ``c`` in ``[-1, 1]`` for margin rescaling, so it changes by at most ``4 kappa``; for slack
    rescaling ``c`` lies in an interval of length ``sigma`` around 0, so it changes by at most
    ``2 sigma kappa``. Both are attained.
    """
    share = 0.25 if rescaling == "slack" else 0.5
    return share * score_stability(n, regularization, sigma, rescaling, kappa)


def loss_stability(score_stability: ArrayLike, sigma: ArrayLike, rescaling: Rescaling) -> Vector:
    """Return ``beta(n) = 2 a nu(n)``, a bound on the change of the loss of a pair (thesis, eq. 3.19)."""
    with np.errstate(all="ignore"):  # checked next
        return _finite(2 * admissibility(sigma, rescaling) * np.asarray(score_stability, dtype=float))


def ranking_excess(
    n: ArrayLike,
    regularization: ArrayLike,
    sigma: ArrayLike,
    rescaling: Rescaling,
    *,
    kappa: float = 1.0,
    confidence: float = 0.95,
    tight: bool = False,
) -> Vector:
    """Return the excess of the bounds over the empirical ramp risk of a ranker (thesis, eq. 3.25 and 3.26).

    Both are ``2 beta + (n beta + sigma) sqrt(2 ln(1 / delta) / n)``; with ``tight``, `tight_score_stability`
    replaces the published score stability.
    """
    stability = tight_score_stability if tight else score_stability
    beta = loss_stability(stability(n, regularization, sigma, rescaling, kappa), sigma, rescaling)
    n, sigma = _positive(n=n, sigma=sigma)
    with np.errstate(all="ignore"):  # checked next
        return _finite(2 * beta + (n * beta + sigma) * np.sqrt(2 * np.log(1 / _failure(confidence)) / n))


def partial_annotation_bound(
    n: ArrayLike,
    *,
    mu: float,
    feature_norm: float,
    largest_loss: float,
    annotations: int,
    outputs: int,
    confidence: float = 0.95,
    repaired: bool = False,
) -> Vector:
    """Return the bound on the excess bridge risk (cheap data, theorem 1.1).

    Parameters
    ----------
    n : array-like
        Number of training samples.
    mu, feature_norm, largest_loss : float
        Upper bounds ``mu`` of ``||w||``, ``B`` of ``||Phi(x, y)||`` and ``Delta_max`` of the output loss.
    annotations, outputs : int
        Numbers ``|Y^p|`` of partial annotations and ``|Y|`` of outputs.
    confidence : float, default=0.95
        Probability with which the bound holds.
    repaired : bool, default=False
        Return a corrected bound, which is smaller than the published one. The bridge loss reaches
        ``2 mu B + Delta_max``, not ``mu B + Delta_max`` as in the published proof. On the other hand,
        McDiarmid's inequality applied to ``sup_g (E - E_N)[g] + (E_N - E)[g*]``, whose expectation is at most
        twice the Rademacher complexity, needs a factor 2 instead of 4, the contraction of the hinge needs no
        factor instead of 2, and constants add nothing.
    """
    (n,) = _positive(n=n)
    failure, pairs = _failure(confidence), annotations * outputs
    _check_sizes(mu=mu, feature_norm=feature_norm, largest_loss=largest_loss, pairs=pairs)
    with np.errstate(all="ignore"):  # checked next
        if repaired:
            deviation = (2 * mu * feature_norm + largest_loss) * np.sqrt(2 * np.log(1 / failure))
            return _finite((2 * pairs * mu * feature_norm + deviation) / np.sqrt(n))
        deviation = np.sqrt(2 * np.log(2 / failure))
        return _finite((mu * feature_norm + largest_loss) * (8 * pairs + deviation) / np.sqrt(n))


def fitted_rate(n: ArrayLike, values: ArrayLike) -> float:
    """Return the exponent ``r`` of the least-squares fit ``values ~ c n^r`` in logarithms."""
    n, values = _positive(n=n, values=values)
    if n.shape != values.shape or n.size < 2:
        raise ValueError(f"n has shape {n.shape} and values {values.shape}: expected equal shapes, 2 or more")
    if n.min() == n.max():
        raise ValueError(f"n is {n.min():g} throughout: expected at least two different numbers")
    return float(np.polyfit(np.log(n), np.log(values), 1)[0])


def _failure(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}: expected a probability between 0 and 1")
    return 1 - confidence


def _positive(**values: ArrayLike) -> tuple[Vector, ...]:
    arrays = {name: np.asarray(value, dtype=float) for name, value in values.items()}
    for name, array in arrays.items():
        if array.size and not array.min() > 0:
            raise ValueError(f"{name} is {array.min()}: expected a number greater than 0")
        if array.size and not array.max() < np.inf:
            raise ValueError(f"{name} is {array.max()}: expected a finite number")
    return tuple(arrays.values())


def _check_sizes(**sizes: float) -> None:
    """Raise a ValueError unless all numbers are non-negative with finite squares."""
    largest = np.sqrt(np.finfo(np.float64).max)
    for name, size in sizes.items():
        if not 0 <= size <= largest:
            raise ValueError(f"{name} is {size}: expected a number from 0 to {largest:.3g}")


def _finite(bound: Vector) -> Vector:
    return require_finite(bound, "the bound overflows: expected smaller numbers")
