"""Inference on graphs with cycles, and violations of their tasks, against enumeration of all labelings."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ermlab.segmentation import (
    GraphCRF,
    GridCRF,
    alpha_expansion,
    graph_cut,
    grid_edges,
    labeling_score,
    lp_relaxation,
    max_sum_tree,
    tree_reweighted,
)

SEEDS = st.integers(0, 2**32 - 1)
APPROXIMATE = {"expansion": alpha_expansion, "messages": tree_reweighted, "lp": lp_relaxation}


def random_graph(rng, n_nodes, n_edges):
    """Return edges between any different nodes, some of them parallel."""
    if n_nodes < 2:
        return np.zeros((0, 2), dtype=np.int64)
    i = rng.integers(0, n_nodes, n_edges)
    return np.column_stack([i, (i + rng.integers(1, n_nodes, n_edges)) % n_nodes])


def random_problem(seed, n_states=None):
    """Return unary scores, edges and pairwise scores: whole numbers with ties, or normal ones of any size."""
    rng = np.random.default_rng(seed)
    k, n_nodes = n_states or int(rng.integers(1, 4)), int(rng.integers(1, 7))
    edges = random_graph(rng, n_nodes, int(rng.integers(0, 9)))
    shape = (k, k) if rng.random() < 0.3 else (len(edges), k, k)
    if rng.random() < 0.3:
        return (
            rng.integers(-2, 3, (n_nodes, k)).astype(float),
            edges,
            rng.integers(-2, 3, shape).astype(float),
        )
    scale = 10.0 ** rng.integers(-9, 10)
    return scale * rng.normal(size=(n_nodes, k)), edges, scale * rng.normal(size=shape)


def made_submodular(pairwise):
    """Return binary pairwise scores, where different states have lost as much as necessary."""
    pairwise = pairwise.copy()
    missing = pairwise[..., 0, 1] + pairwise[..., 1, 0] - pairwise[..., 0, 0] - pairwise[..., 1, 1]
    pairwise[..., 0, 1] -= np.maximum(missing, 0) * 1.5
    return pairwise


def best_score(unary, edges, pairwise):
    Y = np.array(list(itertools.product(range(unary.shape[1]), repeat=len(unary))))
    scores = sum(unary[i, Y[:, i]] for i in range(len(unary)))
    for e, (i, j) in enumerate(edges):
        scores = scores + (pairwise if pairwise.ndim == 2 else pairwise[e])[Y[:, i], Y[:, j]]
    return scores.max()


def size(unary, pairwise):
    return max(np.abs(unary).max(), np.abs(pairwise).max(initial=0.0), 1e-300)


@settings(deadline=None, max_examples=150)
@given(SEEDS)
def test_graph_cut_is_the_best_of_all_labelings(seed):
    unary, edges, pairwise = random_problem(seed, n_states=2)
    pairwise = made_submodular(pairwise)
    found = graph_cut(unary, edges, pairwise)
    expected = best_score(unary, edges, pairwise)
    assert found.score == pytest.approx(expected, rel=1e-12, abs=1e-12 * size(unary, pairwise))
    assert found.score == pytest.approx(labeling_score(unary, edges, pairwise, found.labels), rel=1e-12)
    assert found.exact


@settings(deadline=None, max_examples=150)
@given(SEEDS, st.sampled_from(sorted(APPROXIMATE)))
def test_score_and_bound_enclose_the_best(seed, method):
    unary, edges, pairwise = random_problem(seed)
    found = APPROXIMATE[method](unary, edges, pairwise)
    expected, error = best_score(unary, edges, pairwise), 1e-9 * size(unary, pairwise)
    assert found.score == pytest.approx(labeling_score(unary, edges, pairwise, found.labels), abs=error)
    assert found.score <= expected + error
    assert found.bound >= expected - error
    assert found.bound >= found.score


@settings(deadline=None, max_examples=100)
@given(SEEDS)
def test_relaxation_is_tight_on_binary_submodular_problems(seed):
    unary, edges, pairwise = random_problem(seed, n_states=2)
    pairwise = made_submodular(pairwise)
    expected, error = best_score(unary, edges, pairwise), 1e-6 * size(unary, pairwise)
    found = lp_relaxation(unary, edges, pairwise)
    assert found.score == pytest.approx(expected, abs=error)
    assert found.bound == pytest.approx(expected, abs=error)
    assert tree_reweighted(unary, edges, pairwise, max_iter=1000, tol=1e-9).bound >= expected - error


@settings(deadline=None, max_examples=60)
@given(SEEDS)
def test_relaxation_is_tight_on_trees(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 30)), int(rng.integers(1, 4))
    edges = np.array([[i, rng.integers(i)] for i in range(1, n)], dtype=np.int64).reshape(-1, 2)
    unary, pairwise = rng.normal(size=(n, k)), rng.normal(size=(len(edges), k, k))
    expected = max_sum_tree(unary, edges, pairwise).score
    for method in (lp_relaxation, tree_reweighted):
        found = method(unary, edges, pairwise)
        assert found.bound == pytest.approx(expected, abs=1e-3 if method is tree_reweighted else 1e-6)
        if method is lp_relaxation:
            assert found.score == pytest.approx(expected, abs=1e-6)


@settings(deadline=None, max_examples=60)
@given(SEEDS)
def test_messages_are_never_tighter_than_the_relaxation(seed):
    unary, edges, pairwise = random_problem(seed)
    error = 1e-6 * size(unary, pairwise)
    assert (
        tree_reweighted(unary, edges, pairwise).bound >= lp_relaxation(unary, edges, pairwise).bound - error
    )


@settings(deadline=None, max_examples=60)
@given(SEEDS)
def test_expansion_of_potts_is_at_most_half_from_the_best(seed):
    """The theorem of Boykov, Veksler and Zabih, for costs of at least 0: at most twice the lowest cost."""
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(2, 7))
    edges = random_graph(rng, n_nodes, int(rng.integers(0, 9)))
    unary = -rng.random((n_nodes, 3))
    pairwise = -rng.random((len(edges), 1, 1)) * (1 - np.eye(3))
    start = rng.integers(0, 3, n_nodes)
    found = alpha_expansion(unary, edges, pairwise, labels=start)
    assert -found.score <= 2 * -best_score(unary, edges, pairwise) + 1e-9


def random_task(rng, submodular):
    """Return a task with a sample, weights within its bounds, and true labels."""
    k, n_features, n_edge_features = 2 if submodular else int(rng.integers(2, 4)), 2, int(rng.integers(0, 3))
    class_weight = rng.random(k) if rng.random() < 0.5 else None
    ignore_label = int(rng.integers(k)) if rng.random() < 0.3 else None
    options = {"directed": bool(rng.random() < 0.5), "submodular": submodular}
    options |= {"class_weight": class_weight, "ignore_label": ignore_label}
    if rng.random() < 0.5:
        shape = int(rng.integers(1, 3 if k == 3 else 4)), int(rng.integers(1, 3))
        connectivity = int(rng.choice([4, 8]))
        task = GridCRF(k, n_features, n_edge_features, connectivity=connectivity, **options)
        image, n_edges = rng.normal(size=(*shape, n_features)), len(grid_edges(shape, connectivity))
        x = (image, rng.random((n_edges, n_edge_features))) if n_edge_features else image
    else:
        shape = (int(rng.integers(1, 5 if k == 3 else 7)),)
        task = GraphCRF(k, n_features, n_edge_features, **options)
        edges = random_graph(rng, shape[0], int(rng.integers(0, 8)))
        x = rng.normal(size=(shape[0], n_features)), edges
        x = (*x, rng.random((len(edges), n_edge_features))) if n_edge_features else x
    w = rng.normal(size=task.dimension)
    return task, x, np.clip(w, *task.bounds) if submodular else w, rng.integers(0, k, shape)


@settings(deadline=None, max_examples=100)
@given(SEEDS, st.booleans())
def test_tasks_find_the_largest_violation_or_bound_it(seed, submodular):
    rng = np.random.default_rng(seed)
    task, x, w, y = random_task(rng, submodular)
    assert task.exact == submodular
    labelings = itertools.product(range(task.n_states), repeat=y.size)
    labelings = [np.array(labels).reshape(y.shape) for labels in labelings]
    truth = task.joint_feature(x, y)
    violations = [task.loss(y, z) + w @ (task.joint_feature(x, z) - truth) for z in labelings]
    z = task.most_violated(w, x, y, "margin")
    found = task.loss(y, z) + w @ (task.joint_feature(x, z) - truth)
    bound = task.violation_bound(w, x, y, "margin")
    assert found <= max(violations) + 1e-9
    assert bound >= max(violations) - 1e-9
    scores = [w @ task.joint_feature(x, z) for z in labelings]
    labeling = task.infer(w, x)
    predicted = w @ task.joint_feature(x, task.predict(w, x))
    assert labeling.score <= max(scores) + 1e-9
    assert labeling.bound >= max(scores) - 1e-9
    if submodular:
        assert found == pytest.approx(max(violations))
        assert bound == pytest.approx(max(violations))
        assert predicted == pytest.approx(max(scores))

    X, Y = task.prepare_batch([x, x], [y, z])
    slopes, offsets = task.batch_planes(w, X, Y, "margin")
    np.testing.assert_allclose(slopes[0] @ w + offsets[0], found, atol=1e-9)
    value, slope = task.batch_risk(w, X, Y, "margin")
    hinges = np.maximum(slopes @ w + offsets, 0)
    assert value == pytest.approx(hinges.mean())
    assert slope.shape == w.shape
    np.testing.assert_array_equal(task.batch_predict(w, [x])[0], task.predict(w, x))
