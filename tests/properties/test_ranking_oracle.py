import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ermlab.ranking import Oracle, pairwise_risk
from reproduction.experiments.ranking_oracle.algorithms import complete_constraint

# Quarters are exact in floating point, so that brute force and oracle see the same ties.
quarters = st.integers(-12, 12).map(lambda k: k / 4)


@st.composite
def problems(draw):
    n = draw(st.integers(1, 40))
    losses = draw(st.lists(st.integers(0, 12).map(lambda k: k / 4), min_size=n, max_size=n))
    scores = draw(st.lists(quarters, min_size=n, max_size=n))
    groups = draw(st.none() | st.lists(st.integers(0, 3), min_size=n, max_size=n))
    labels = 1 if groups is None else len(set(groups))
    threshold = draw(st.none() | quarters | st.lists(quarters, min_size=labels, max_size=labels))
    return np.array(losses), np.array(scores), groups, threshold


def graph_of(losses, groups, threshold):
    """All edges (i, j) of the preference graph, as a matrix."""
    groups = np.zeros(len(losses)) if groups is None else np.array(groups)
    edges = (losses[:, None] < losses) & (groups[:, None] == groups)
    if threshold is not None:
        labels, group = np.unique(groups, return_inverse=True)
        limit = np.broadcast_to(threshold, labels.shape)[group]
        edges &= (losses <= limit)[:, None] & (losses > limit)
    return edges


@given(problem=problems(), rescaling=st.sampled_from(["slack", "margin"]))
def test_oracle_is_the_sum_over_all_violated_pairs(problem, rescaling):
    losses, scores, groups, threshold = problem
    graph = "complete" if threshold is None else "bipartite"
    oracle = Oracle(losses, rescaling=rescaling, graph=graph, threshold=threshold, groups=groups)
    alpha, delta = oracle(scores)
    edges = graph_of(losses, groups, threshold)
    difference = losses - losses[:, None]
    if rescaling == "slack":
        violated = edges & (scores[:, None] < scores + 1)
        weight = violated * difference
    else:
        violated = edges & (scores[:, None] - scores < difference)
        weight = violated.astype(float)
    np.testing.assert_allclose(alpha, weight.sum(axis=1) - weight.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(delta, (violated * difference).sum(), atol=1e-12)
    assert oracle.edges == edges.sum()


@given(problem=problems())
def test_recursion_of_the_thesis_is_the_sum_over_all_violated_pairs(problem):
    losses, scores, _, _ = problem
    alpha, delta, _ = complete_constraint(losses, scores)
    weight = ((losses[:, None] < losses) & (scores[:, None] < scores + 1)) * (losses - losses[:, None])
    np.testing.assert_allclose(alpha, weight.sum(axis=1) - weight.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(delta, weight.sum(), atol=1e-12)


@given(problem=problems())
def test_pairwise_risk_is_the_mean_over_pairs(problem):
    losses, scores, groups, _ = problem
    groups = np.zeros(len(losses)) if groups is None else np.array(groups)
    i, j = np.triu_indices(len(losses), 1)
    i, j = i[groups[i] == groups[j]], j[groups[i] == groups[j]]
    if i.size == 0:
        return
    wrong = (losses[j] - losses[i]) * (scores[i] - scores[j]) < 0
    cost = np.abs(losses[j] - losses[i]) * (wrong + 0.5 * (scores[i] == scores[j]))
    np.testing.assert_allclose(pairwise_risk(losses, scores, groups=groups), cost.mean(), atol=1e-12)
