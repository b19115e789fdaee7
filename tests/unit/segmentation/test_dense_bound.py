from itertools import product

import numpy as np
import pytest

from ermlab.segmentation import (
    GaussianFilter,
    dense_bound,
    dense_score,
    graph_cut,
    mean_field,
    position_features,
)


def problem(shape, n_states, seed=0):
    rng = np.random.default_rng(seed)
    positions = position_features(shape)
    features = np.column_stack([positions / 3.0, rng.normal(size=len(positions))])
    return rng.normal(size=(len(positions), n_states)), [GaussianFilter(positions), GaussianFilter(features)]


@pytest.mark.parametrize("n_states", [2, 3])
@pytest.mark.parametrize("weights", [[0.0, 0.0], [0.3, 0.2], [1.0, 3.0], [100.0, 0.0], [1e9, 1e9]])
def test_no_labeling_has_a_higher_score(n_states, weights):
    for seed in range(4):
        unary, kernels = problem((2, 3), n_states, seed)
        best = max(
            dense_score(unary, kernels, labels, weights) for labels in product(range(n_states), repeat=6)
        )
        for max_iter in (0, 1, 10, 50):
            bound = dense_bound(unary, kernels, weights, max_iter=max_iter)
            assert best - 1e-9 * (1 + sum(weights)) <= bound <= unary.max(axis=1).sum() + 1e-12
    if not any(weights):
        assert bound == pytest.approx(best)


def test_bound_is_closer_to_graph_cuts_than_that_without_kernels():
    unary, kernels = problem((12, 12), 2)
    edges = np.column_stack(np.triu_indices(144, 1))
    for weights in ([0.5, 0.5], [2.0, 1.0], [5.0, 5.0]):
        K = sum(c * kernel.apply(np.eye(144)) for c, kernel in zip(weights, kernels, strict=True))
        best = graph_cut(unary, edges, -K[tuple(edges.T)][:, None, None] * (1 - np.eye(2))).score
        bound = dense_bound(unary, kernels, weights)
        found = dense_score(unary, kernels, mean_field(unary, kernels, weights).labels, weights)
        assert found - 1e-9 <= best <= bound + 1e-9
        assert bound - best < 0.5 * (unary.max(axis=1).sum() - best)


def test_two_labels_are_treated_as_many():
    unary, kernels = problem((5, 5), 2)
    third = np.column_stack([unary, np.full(25, -1e3)])  # a label that is never taken
    bound, other = (dense_bound(u, kernels, [1.0, 1.0], max_iter=200) for u in (unary, third))
    assert bound == pytest.approx(other, rel=0.02)


def test_unusable_arguments_are_refused():
    unary, kernels = problem((2, 3), 2)
    with pytest.raises(ValueError, match="negative"):
        dense_bound(unary, kernels, [1.0, -1.0])
    with pytest.raises(ValueError, match="max_iter"):
        dense_bound(unary, kernels, max_iter=-1)
