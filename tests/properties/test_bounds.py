"""Theorem 3.2.3, the tight score stability and theorem 1.1 on random problems."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ermlab.structured.bounds import admissibility, partial_annotation_bound, tight_score_stability
from reproduction.experiments.partial_bound.evaluate import disc, random_problem, sampled_excess
from reproduction.experiments.ranking_bounds.stability import loss_change_ratio, random_exchange, train_ranker

seeds = st.integers(0, 2**32 - 1)
rescalings = st.sampled_from(["slack", "margin"])


@given(seeds, st.integers(2, 8), st.floats(0.1, 5), rescalings)
def test_losses_move_by_at_most_twice_the_slope_times_the_scores(seed, size, sigma, rescaling):
    rng = np.random.default_rng(seed)
    scores, moved = rng.normal(size=(2, size))
    assert loss_change_ratio(scores, moved, rng.uniform(0, sigma, size), sigma, rescaling) <= 1 + 1e-9


@settings(max_examples=60)
@given(seeds, st.integers(2, 9), st.integers(1, 3), st.floats(0.1, 5), st.floats(0.05, 20), rescalings)
def test_one_example_moves_trained_scores_by_at_most_the_tight_bound(
    seed, size, dimension, sigma, regularization, rescaling
):
    sample, exchanged = random_exchange(np.random.default_rng(seed), size, dimension, sigma)
    moved = train_ranker(sample, regularization, rescaling) - train_ranker(
        exchanged, regularization, rescaling
    )
    bound = tight_score_stability(size, regularization, sigma, rescaling)
    assert np.linalg.norm(moved) <= bound + 1e-5 * admissibility(sigma, rescaling)


@settings(max_examples=10)
@given(seeds, st.sampled_from([10, 1_000, 100_000, 10**8]))
def test_the_repaired_bound_holds_far_more_often_than_it_must(seed, n):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, labels=2, inputs=3, dimension=2)
    excess, _ = sampled_excess(rng, problem, disc(1.0, 5, 16), n, draws=40)
    bound = partial_annotation_bound(
        n,
        mu=1.0,
        **problem.constants,
        repaired=True,
    )
    assert (excess <= bound).all()
