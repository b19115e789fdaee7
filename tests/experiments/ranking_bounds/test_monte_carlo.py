"""Measured risks of rankers against enumeration of all pairs of a sample."""

import numpy as np
import pytest

from reproduction.experiments.ranking_bounds import monte_carlo
from reproduction.experiments.ranking_bounds.monte_carlo import (
    FiniteRanking,
    random_ranking,
    simulate,
    two_atoms,
)
from reproduction.experiments.ranking_bounds.stability import RankingProblem, pairwise_losses, train_ranker


class FixedCounts:
    """A random generator whose samples have given counts of the atoms."""

    def __init__(self, counts):
        self.counts = np.array(counts)

    def multinomial(self, n, probabilities):
        assert n == self.counts.sum()
        return self.counts


@pytest.mark.parametrize("rescaling", ["slack", "margin"])
def test_weights_of_pairs_of_atoms_give_the_risk_of_the_enumerated_sample(rescaling):
    ranking = random_ranking(np.random.default_rng(3), sigma=2.0)
    counts = [3, 0, 1, 2, 0, 0, 4, 1]
    weights = ranking.sample_weights(11, FixedCounts(counts))
    rows = np.repeat(np.arange(8), counts)
    sample = RankingProblem(ranking.atoms.features[rows], ranking.atoms.losses[rows])
    w = train_ranker(sample, 0.1, rescaling)
    np.testing.assert_allclose(
        train_ranker(ranking.atoms, 0.1, rescaling, pair_weights=weights), w, atol=1e-5
    )
    i, j = np.triu_indices(11, 1)
    gaps = np.abs(sample.losses[i] - sample.losses[j])
    ramps = np.minimum(gaps, pairwise_losses(sample.features @ w, sample.losses, rescaling))
    assert ranking.ramp_losses(w, rescaling) @ weights == pytest.approx(ramps.mean())


def test_expected_weights_are_those_of_a_huge_sample():
    ranking = random_ranking(np.random.default_rng(4), sigma=1.0)
    weights = ranking.sample_weights(10**9, np.random.default_rng(5))
    np.testing.assert_allclose(weights, ranking.expected_weights(), atol=1e-4)


def test_excess_of_two_atoms_is_counted_by_hand():
    # With lambda = 100 and margin 1, w = .85 * .15 * 2 / 100 or less: every ramp is 1 - 2 w for slack.
    ranking = two_atoms(1.0)
    (excess,) = monte_carlo.measured_excess(FixedCounts([1, 9]), ranking, 10, 100.0, "slack", draws=1)
    share = 9 / 45
    w = share * 2 / (2 * 100)
    assert excess == pytest.approx((2 * 0.15 * 0.85 - share) * (1 - 2 * w), rel=1e-6)


def test_half_of_the_simulated_problems_have_two_atoms(monkeypatch):
    seen = []
    monkeypatch.setattr(
        monte_carlo,
        "measured_excess",
        lambda rng, ranking, n, *_: (seen.append((len(ranking.probabilities), n)), np.array([-9.0, 1e9]))[1],
    )
    rows = list(simulate(np.random.default_rng(0), 2, 2))
    assert {atoms for atoms, _ in seen[:10]} == {2}
    assert {atoms for atoms, _ in seen[10:]} == {8}
    assert {row["violations"] for row in rows} == {0.5}
    assert rows[0]["quantile"] == pytest.approx(-9 + 0.95 * (1e9 + 9))


def test_features_lie_in_the_unit_disc_and_losses_in_the_range():
    ranking = random_ranking(np.random.default_rng(6), sigma=0.5)
    assert isinstance(ranking, FiniteRanking)
    assert np.linalg.norm(ranking.atoms.features, axis=1).max() <= 1
    assert 0 <= ranking.atoms.losses.min() <= ranking.atoms.losses.max() <= 0.5
