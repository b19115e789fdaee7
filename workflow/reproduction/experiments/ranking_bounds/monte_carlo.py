"""Theorems 3.2.4 and 3.2.5 against measured risks, on distributions whose expected risk is a finite sum.

A distribution has finitely many examples, the atoms, so that the risk on all pairs of a sample of any size,
and the expected risk, are sums over pairs of atoms. The expected risk measured here is that of the ramp loss.
It is at least the ranking error, which the theorems bound, so that the test is harder than the theorems.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ermlab.structured.bounds import ranking_excess
from ermlab.structured.losses import RESCALINGS, Rescaling
from reproduction.experiments.ranking_bounds.stability import RankingProblem, pairwise_losses, train_ranker

Vector = NDArray[np.float64]
SIGMAS = (0.5, 1.0, 2.0)
SIZES = (10, 100, 1000, 10_000, 100_000)
CONFIDENCE = 0.95
N_ATOMS, DIMENSION = 8, 2
#: Probability of the best of two atoms, for which the mean difference of losses has the largest deviation.
RARE = 0.15


@dataclass(frozen=True, eq=False)
class FiniteRanking:
    """Distribution over finitely many examples.

    Parameters
    ----------
    atoms : RankingProblem
        Features, of norm at most 1, and losses of the examples.
    probabilities : ndarray of shape (n_atoms,)
        Their probabilities.
    """

    atoms: RankingProblem
    probabilities: Vector

    def expected_weights(self) -> Vector:
        """Return the probability of each pair of atoms, in either order."""
        i, j = np.triu_indices(len(self.probabilities), 1)
        return 2 * self.probabilities[i] * self.probabilities[j]

    def sample_weights(self, n: int, rng: np.random.Generator) -> Vector:
        """Draw ``n`` examples, and return the share of each pair of atoms among all their pairs."""
        counts = rng.multinomial(n, self.probabilities).astype(float)
        i, j = np.triu_indices(len(counts), 1)
        return counts[i] * counts[j] / (n * (n - 1) / 2)

    def ramp_losses(self, w: Vector, rescaling: Rescaling) -> Vector:
        """Return the hinge loss of each pair of atoms, clipped at the difference of their output losses."""
        i, j = np.triu_indices(len(self.probabilities), 1)
        gaps = np.abs(self.atoms.losses[j] - self.atoms.losses[i])
        return np.minimum(gaps, pairwise_losses(self.atoms.features @ w, self.atoms.losses, rescaling))


def random_ranking(rng: np.random.Generator, sigma: float) -> FiniteRanking:
    """Return random atoms: features in the unit disc, losses in ``[0, sigma]`` that depend on them."""
    directions = rng.normal(size=(N_ATOMS, DIMENSION))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    features = directions * rng.random((N_ATOMS, 1)) ** (1 / DIMENSION)
    losses = sigma * np.clip((1 - features[:, 0]) / 2 + rng.normal(scale=0.3, size=N_ATOMS), 0, 1)
    return FiniteRanking(RankingProblem(features, losses), rng.dirichlet(np.ones(N_ATOMS)))


def two_atoms(sigma: float) -> FiniteRanking:
    """Return two atoms with the extreme losses and opposite features."""
    atoms = RankingProblem(np.array([[1.0], [-1.0]]), np.array([0.0, sigma]))
    return FiniteRanking(atoms, np.array([RARE, 1 - RARE]))


def measured_excess(
    rng: np.random.Generator,
    ranking: FiniteRanking,
    n: int,
    regularization: float,
    rescaling: Rescaling,
    draws: int,
) -> Vector:
    """Return the expected minus the empirical ramp risk of rankers trained on ``draws`` samples."""
    expected = ranking.expected_weights()
    excess = np.empty(draws)
    for k in range(draws):
        weights = ranking.sample_weights(n, rng)
        w = train_ranker(ranking.atoms, regularization, rescaling, pair_weights=weights)
        excess[k] = ranking.ramp_losses(w, rescaling) @ (expected - weights)
    return excess


def simulate(rng: np.random.Generator, problems: int, draws: int) -> Iterator[dict[str, Any]]:
    """Yield the measured excess and the bound of each problem, sample size and rescaling.

    Every other problem is that of `two_atoms`. ``violations`` is the share of samples whose excess reaches
    the bound, ``quantile`` the excess that is exceeded as often as the bound may be.
    """
    for number in range(problems):
        sigma, regularization = float(rng.choice(SIGMAS)), float(10 ** rng.uniform(0, 2))
        ranking = random_ranking(rng, sigma) if number % 2 else two_atoms(sigma)
        for n in SIZES:
            for rescaling in RESCALINGS:
                excess = measured_excess(rng, ranking, n, regularization, rescaling, draws)
                bound = float(ranking_excess(n, regularization, sigma, rescaling, confidence=CONFIDENCE))
                yield {
                    "problem": number,
                    "sigma": sigma,
                    "regularization": regularization,
                    "n": n,
                    "rescaling": rescaling,
                    "bound": bound,
                    "quantile": float(np.quantile(excess, CONFIDENCE)),
                    "violations": float(np.mean(excess >= bound)),
                }
