import numpy as np
import pytest
from scipy.optimize import minimize

from reproduction.experiments.ranking_bounds.stability import (
    RankingProblem,
    loss_change_ratio,
    pairwise_losses,
    random_exchange,
    score_change_ratio,
    train_ranker,
    worst_exchange,
)


def mean_pair_loss(w, problem, rescaling):
    """Equations 3.17 and 3.18 written out, pair by pair."""
    total, pairs = 0.0, 0
    for i in range(len(problem.losses)):
        for j in range(i):
            gap = problem.losses[j] - problem.losses[i]
            agreement = w @ (problem.features[i] - problem.features[j]) * np.sign(gap)
            total += (
                max(abs(gap) - agreement, 0) if rescaling == "margin" else max(abs(gap) * (1 - agreement), 0)
            )
            pairs += 1
    return total / pairs


@pytest.mark.parametrize("rescaling", ["slack", "margin"])
@pytest.mark.parametrize("regularization", [0.02, 1.0])
def test_training_finds_the_minimum(rescaling, regularization):
    problem, _ = random_exchange(np.random.default_rng(3), 7, 2, sigma=1.5)

    def objective(w):
        return mean_pair_loss(w, problem, rescaling) + regularization * w @ w

    w = train_ranker(problem, regularization, rescaling)
    searched = minimize(objective, w + 0.1, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
    assert objective(w) <= searched.fun + 1e-9
    assert w == pytest.approx(searched.x, abs=1e-4)


@pytest.mark.parametrize("rescaling", ["slack", "margin"])
def test_pairs_with_equal_losses_do_not_count(rescaling):
    tied = RankingProblem(np.array([[1.0], [-1.0], [0.5]]), np.array([0.5, 0.5, 0.5]))
    assert (train_ranker(tied, 0.1, rescaling) == 0).all()
    assert (pairwise_losses(np.array([3.0, 1.0, 2.0]), tied.losses, rescaling) == 0).all()


@pytest.mark.parametrize(("rescaling", "expected"), [("slack", [0, 3.5, 0]), ("margin", [1, 3.5, 0])])
def test_the_example_with_the_lower_loss_should_score_higher(rescaling, expected):
    # Pairs (0, 1), (0, 2), (1, 2): losses differ by 2, 1, 1; the better one is ahead by 1, -2.5, 3.5.
    found = pairwise_losses(np.array([1.0, 0.0, 3.5]), np.array([0.0, 2.0, 1.0]), rescaling)
    assert found.tolist() == expected


@pytest.mark.parametrize(("rescaling", "share"), [("slack", 0.25), ("margin", 0.5)])
@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("n", [2, 5, 30])
def test_the_worst_exchange_attains_the_tight_stability(rescaling, share, sigma, n):
    samples = worst_exchange(n, sigma, rescaling, kappa=2.0)
    ratio = score_change_ratio(*samples, regularization=200.0, sigma=sigma, rescaling=rescaling, kappa=2.0)
    assert ratio == pytest.approx(share)


def test_the_worst_exchange_exchanges_one_example():
    for rescaling in ("slack", "margin"):
        first, second = worst_exchange(6, 1.0, rescaling)
        assert (first.features[:-1] == second.features[:-1]).all()
        assert (first.losses[:-1] == second.losses[:-1]).all()


def test_loss_stability_is_attained_by_opposite_changes():
    losses = np.array([0.0, 2.0])
    scores, moved = np.array([0.0, 0.0]), np.array([-0.5, 0.5])
    assert loss_change_ratio(scores, moved, losses, sigma=2.0, rescaling="slack") == pytest.approx(1)
    assert loss_change_ratio(scores, moved, losses, sigma=2.0, rescaling="margin") == pytest.approx(1)


def test_bad_samples_are_named():
    with pytest.raises(ValueError, match=r"shapes \(3, 2\) and \(2,\)"):
        RankingProblem(np.zeros((3, 2)), np.zeros(2))
    with pytest.raises(ValueError, match="1 examples"):
        RankingProblem(np.zeros((1, 2)), np.zeros(1))


def test_what_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="NaN or infinity"):
        RankingProblem(np.array([[0.0], [np.nan]]), np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="NaN or infinity"):
        RankingProblem(np.zeros((2, 1)), np.array([0.0, np.inf]))
    with pytest.raises(ValueError, match="regularization is 0"):
        train_ranker(RankingProblem(np.eye(2), np.array([0.0, 1.0])), 0.0, "slack")
