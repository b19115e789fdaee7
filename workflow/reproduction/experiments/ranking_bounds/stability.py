"""Measured stability of small ranking problems, for comparison with the theory (thesis, section 3.2.3).

All pairs are enumerated, so this is for a few dozen examples. An example has features ``phi(x, y)`` and an
output loss ``Delta``; of two examples the one with the lower loss should have the higher score.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ermlab.structured.bounds import admissibility, score_stability
from ermlab.structured.losses import Rescaling, rescaled_hinge
from reproduction.experiments.ranking_bounds._hinges_numba import minimize_hinges


@dataclass(frozen=True, eq=False)
class RankingProblem:
    """Training sample of a linear ranking function.

    Parameters
    ----------
    features : ndarray of shape (n, d)
        Joint features.
    losses : ndarray of shape (n,)
        Output loss of each example, at least 0.
    """

    features: NDArray[np.float64]
    losses: NDArray[np.float64]

    def __post_init__(self):
        if np.ndim(self.features) != 2 or np.shape(self.losses) != np.shape(self.features)[:1]:
            raise ValueError(
                f"features and losses have shapes {np.shape(self.features)} and {np.shape(self.losses)}: "
                "expected (n, d) and (n,)"
            )
        if len(self.losses) < 2:
            raise ValueError(
                f"the sample has {len(self.losses)} examples: expected at least 2, to make a pair"
            )
        if not (np.isfinite(self.features).all() and np.isfinite(self.losses).all()):
            raise ValueError("features or losses hold NaN or infinity: expected finite numbers")

    def exchanged(self, k: int, feature: NDArray[np.float64], loss: float) -> "RankingProblem":
        """Return the sample with its ``k``-th example replaced, ``S^k`` of the thesis."""
        features, losses = self.features.copy(), self.losses.copy()
        features[k], losses[k] = feature, loss
        return RankingProblem(features, losses)


def pairwise_losses(
    scores: NDArray[np.float64], losses: NDArray[np.float64], rescaling: Rescaling
) -> NDArray[np.float64]:
    """Return the hinge loss of every pair ``i < j`` (thesis, eqs. 3.17 and 3.18)."""
    i, j = np.triu_indices(len(losses), 1)
    gap = losses[j] - losses[i]
    return rescaled_hinge((scores[i] - scores[j]) * np.sign(gap), np.abs(gap), rescaling)


def loss_change_ratio(
    scores: NDArray[np.float64],
    other_scores: NDArray[np.float64],
    losses: NDArray[np.float64],
    sigma: float,
    rescaling: Rescaling,
) -> float:
    """Return the largest change of a pair's loss over ``2 a nu``, at most 1 by theorem 3.2.3.

    ``nu`` is the largest change of a score and ``a`` the `admissibility` of the loss.
    """
    nu = np.abs(scores - other_scores).max()
    change = pairwise_losses(scores, losses, rescaling) - pairwise_losses(other_scores, losses, rescaling)
    return float(np.abs(change).max() / (2 * admissibility(sigma, rescaling) * nu))


def train_ranker(
    problem: RankingProblem,
    regularization: float,
    rescaling: Rescaling,
    tol: float = 1e-6,
    pair_weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return ``argmin_w`` of the mean pairwise hinge loss plus ``regularization * ||w||^2``.

    With ``pair_weights``, one for each pair ``i < j``, it is their weighted sum instead of the mean. The
    method is dual coordinate ascent. The duality gap bounds the squared distance from the minimizer by
    ``gap / regularization``; a ValueError is raised if this distance is above ``tol``.
    """
    if not (regularization > 0 and np.isfinite(regularization)):
        raise ValueError(f"regularization is {regularization}: expected a finite positive number")
    i, j = np.triu_indices(len(problem.losses), 1)
    gaps = problem.losses[j] - problem.losses[i]
    if pair_weights is None:
        pair_weights = np.full(len(gaps), 1 / len(gaps))
    ordered = gaps != 0
    i, j, gaps, pair_weights = i[ordered], j[ordered], gaps[ordered], pair_weights[ordered]
    directions = (problem.features[i] - problem.features[j]) * np.sign(gaps)[:, None]
    weights = np.abs(gaps) if rescaling == "slack" else np.ones(len(gaps))
    margin = np.ones(len(gaps)) if rescaling == "slack" else np.abs(gaps)
    w, gap = minimize_hinges(
        directions, margin, weights * pair_weights, regularization, tol**2 * regularization
    )
    if not gap <= tol**2 * regularization:
        raise ValueError(
            f"the ranker was not trained: duality gap {gap:.1e}, expected {tol**2 * regularization:.1e}"
        )
    return w


def score_change_ratio(
    problem: RankingProblem,
    exchanged: RankingProblem,
    regularization: float,
    sigma: float,
    rescaling: Rescaling,
    kappa: float = 1.0,
) -> float:
    """Return the change of the learned scores over its bound ``8 a kappa^2 / (lambda n)``.

    The largest change over all features of norm at most ``kappa`` is ``kappa * ||w_S - w_Sk||``.
    """
    moved = train_ranker(problem, regularization, rescaling) - train_ranker(
        exchanged, regularization, rescaling
    )
    bound = score_stability(len(problem.losses), regularization, sigma, rescaling, kappa)
    return float(kappa * np.linalg.norm(moved) / bound)


def random_exchange(
    rng: np.random.Generator, n: int, dimension: int, sigma: float, kappa: float = 1.0
) -> tuple[RankingProblem, RankingProblem]:
    """Return two samples of size ``n`` that differ in one example.

    Features are uniform in the ball of radius ``kappa``, losses in ``[0, sigma]``.
    """
    directions = rng.normal(size=(n + 1, dimension))
    radii = kappa * rng.random((n + 1, 1)) ** (1 / dimension)
    features = radii * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    losses = sigma * rng.random(n + 1)
    sample = RankingProblem(features[:n], losses[:n])
    return sample, sample.exchanged(int(rng.integers(n)), features[n], losses[n])


def worst_exchange(
    n: int, sigma: float, rescaling: Rescaling, kappa: float = 1.0
) -> tuple[RankingProblem, RankingProblem]:
    """Return two samples that differ in their last example and change the scores as much as possible.

    All other examples have the same loss and lie at one end of a line. For slack rescaling the last example,
    with the highest loss, moves from one end to the other; for margin rescaling it stays at the other end,
    and its loss changes from the lowest to the highest. The regularization must be so strong that every pair
    has a positive hinge loss.
    """
    if rescaling == "slack":
        sample = RankingProblem(np.full((n, 1), -kappa), np.zeros(n)).exchanged(n - 1, kappa, sigma)
        return sample, sample.exchanged(n - 1, -kappa, sigma)
    sample = RankingProblem(np.full((n, 1), -kappa), np.full(n, sigma / 2)).exchanged(n - 1, kappa, 0.0)
    return sample, sample.exchanged(n - 1, kappa, sigma)
