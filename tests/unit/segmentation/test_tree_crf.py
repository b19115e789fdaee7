import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ermlab.segmentation import ChainCRF, TreeCRF, labeling_score
from ermlab.structured import StructuredRisk, StructuredSVM

SEEDS = st.integers(0, 2**32 - 1)


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n_nodes, n_states, n_edge_features = (
        int(rng.integers(*low_high)) for low_high in ((1, 7), (2, 4), (0, 3))
    )
    names = rng.permutation(n_nodes)
    edges = [(names[i], names[rng.integers(i)]) for i in range(1, n_nodes) if rng.random() < 0.8]
    edges = np.array(edges, dtype=np.int64).reshape(-1, 2)
    task = TreeCRF(
        n_states,
        2,
        n_edge_features,
        directed=bool(rng.random() < 0.5),
        class_weight=rng.uniform(0, 2, n_states) if rng.random() < 0.5 else None,
        ignore_label=int(rng.integers(n_states)) if rng.random() < 0.3 else None,
    )
    x = (rng.normal(size=(n_nodes, 2)), edges)
    if n_edge_features:
        x = (*x, rng.normal(size=(len(edges), n_edge_features)))
    return task, x, rng.integers(n_states, size=n_nodes), rng.normal(size=task.dimension)


@settings(max_examples=60)
@given(seed=SEEDS)
def test_inference_is_that_of_enumeration(seed):
    task, x, y, w = random_problem(seed)
    labelings = [np.array(z) for z in itertools.product(range(task.n_states), repeat=len(y))]
    scores = np.array([w @ task.joint_feature(x, z) for z in labelings])
    losses = np.array([task.loss(y, z) for z in labelings])
    assert w @ task.joint_feature(x, task.predict(w, x)) == pytest.approx(scores.max(), abs=1e-9)
    z = task.most_violated(w, x, y, "margin")
    found = w @ task.joint_feature(x, z) + task.loss(y, z)
    assert found == pytest.approx((scores + losses).max(), abs=1e-9)
    own = w @ task.joint_feature(x, y)
    assert StructuredRisk(task, [x], [y])(w)[0] == pytest.approx((scores + losses).max() - own, abs=1e-9)

    p = np.exp(scores - scores.max())
    nodes = np.zeros((len(y), task.n_states))
    for z, weight in zip(labelings, p / p.sum(), strict=True):
        nodes[np.arange(len(y)), z] += weight
    np.testing.assert_allclose(task.marginals(w, x).nodes, nodes, atol=1e-9)


@settings(max_examples=30)
@given(seed=SEEDS)
def test_a_chain_crf_is_a_tree_crf(seed):
    rng = np.random.default_rng(seed)
    chain, tree = ChainCRF(3, 2), TreeCRF(3, 2)
    w, x, y = rng.normal(size=chain.dimension), rng.normal(size=(8, 2)), rng.integers(3, size=8)
    edges = np.column_stack([np.arange(7), np.arange(1, 8)])
    np.testing.assert_array_equal(chain.joint_feature(x, y), tree.joint_feature((x, edges), y))
    np.testing.assert_array_equal(chain.predict(w, x), tree.predict(w, (x, edges)))
    for one, other in zip(
        StructuredRisk(chain, [x], [y])(w), StructuredRisk(tree, [(x, edges)], [y])(w), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_learns_on_stars():
    """The label of the center is that of most leaves, which its own features do not show."""
    rng = np.random.default_rng(0)
    X, Y = [], []
    for _ in range(80):
        label = int(rng.integers(2))
        leaves = np.where(rng.random(5) < 0.9, label, 1 - label)
        y = np.append(label, leaves)
        features = np.column_stack([2 * y - 1 + rng.normal(size=6), np.ones(6)])
        features[0, 0] = 0.0
        X.append((features, np.column_stack([np.zeros(5, dtype=int), np.arange(1, 6)])))
        Y.append(y)
    model = StructuredSVM(TreeCRF(2, 2), C=10.0, tol=1e-2).fit(X[:40], Y[:40])
    centers = [z[0] == y[0] for z, y in zip(model.predict(X[40:]), Y[40:], strict=True)]
    assert np.mean(centers) > 0.8
    assert model.result_.converged


def test_scores_are_those_of_the_potentials():
    rng = np.random.default_rng(1)
    task, edges = TreeCRF(2, 3, 2), np.array([[2, 0], [0, 1]])
    x, f, y, w = rng.normal(size=(3, 3)), rng.normal(size=(2, 2)), [1, 0, 1], rng.normal(size=14)
    unary, pairwise = x @ w[:6].reshape(2, 3).T, np.einsum("stf,ef->est", w[6:].reshape(2, 2, 2), f)
    assert w @ task.joint_feature((x, edges, f), y) == pytest.approx(
        labeling_score(unary, edges, pairwise, y)
    )


def test_cycles_and_slack_rescaling_are_refused():
    x = (np.zeros((3, 1)), [[0, 1], [1, 2], [2, 0]])
    with pytest.raises(ValueError, match=r"sample 0: edge \d between .* closes a cycle"):
        StructuredRisk(TreeCRF(2, 1), [x], [[0, 0, 1]])
    with pytest.raises(ValueError, match="ChainCRF has slack rescaling"):
        StructuredSVM(TreeCRF(2, 1), rescaling="slack").fit([(np.zeros((1, 1)), [])], [[0]])
