"""Chain CRFs against enumeration of all labelings."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ermlab.segmentation import ChainCRF, labeling_score
from ermlab.structured import StructuredRisk

SEEDS = st.integers(0, 2**32 - 1)


class Enumerated:
    """The task of a `ChainCRF` by enumeration, which answers for one sample at a time."""

    def __init__(self, task):
        self._task, self.dimension = task, task.dimension
        self.joint_feature, self.loss = task.joint_feature, task.loss

    def labelings(self, x):
        return [np.array(y) for y in itertools.product(range(self._task.n_states), repeat=len(x))]

    def predict(self, w, x):
        return max(self.labelings(x), key=lambda z: w @ self.joint_feature(x, z))

    def most_violated(self, w, x, y, rescaling):
        return max(self.labelings(x), key=lambda z: violation(self, w, x, y, z, rescaling))


def violation(task, w, x, y, z, rescaling):
    margin = w @ (task.joint_feature(x, z) - task.joint_feature(x, y))
    return task.loss(y, z) * (1 + margin) if rescaling == "slack" else task.loss(y, z) + margin


def random_problem(seed, rescaling="margin"):
    rng = np.random.default_rng(seed)
    n_states, n_features = int(rng.integers(2, 4)), int(rng.integers(1, 4))
    weighted = rescaling == "margin" and rng.random() < 0.5
    task = ChainCRF(
        n_states,
        n_features,
        directed=bool(rng.random() < 0.5),
        class_weight=rng.uniform(0, 3, n_states) if weighted else None,
        ignore_label=int(rng.integers(n_states)) if rng.random() < 0.4 else None,
    )
    lengths = rng.integers(1, 6, size=rng.integers(1, 5))
    X = [rng.normal(size=(n, n_features)) for n in lengths]
    Y = [rng.integers(n_states, size=n) for n in lengths]
    return task, X, Y, 10.0 ** rng.integers(-2, 2) * rng.normal(size=task.dimension)


@settings(max_examples=50)
@given(seed=SEEDS)
def test_prediction_has_the_highest_compatibility(seed):
    task, X, _, w = random_problem(seed)
    for x, z in zip(X, task.batch_predict(w, X), strict=True):
        best = Enumerated(task).predict(w, x)
        assert w @ task.joint_feature(x, z) == pytest.approx(w @ task.joint_feature(x, best), abs=1e-9)
        np.testing.assert_array_equal(task.predict(w, x), z)


@settings(max_examples=50)
@given(seed=SEEDS)
def test_compatibility_is_the_score_of_the_potentials(seed):
    task, X, Y, w = random_problem(seed)
    U, P = w[: task.n_states * task.n_features].reshape(task.n_states, -1), np.zeros((task.n_states,) * 2)
    pairs = w[task.n_states * task.n_features :]
    if task.directed:
        P = pairs.reshape(P.shape)
    else:
        P[np.triu_indices(task.n_states)] = pairs
        P = P + np.triu(P, 1).T
    for x, y in zip(X, Y, strict=True):
        edges = np.column_stack([np.arange(len(x) - 1), np.arange(1, len(x))])
        assert w @ task.joint_feature(x, y) == pytest.approx(labeling_score(x @ U.T, edges, P, y))


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@settings(max_examples=60)
@given(seed=SEEDS)
def test_most_violated_labelings(rescaling, seed):
    task, X, Y, w = random_problem(seed, rescaling)
    for x, y in zip(X, Y, strict=True):
        z, best = (t.most_violated(w, x, y, rescaling) for t in (task, Enumerated(task)))
        found, expected = (violation(task, w, x, y, v, rescaling) for v in (z, best))
        assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@settings(max_examples=40)
@given(seed=SEEDS)
def test_risk_of_the_batch_is_that_of_the_definition(rescaling, seed):
    task, X, Y, w = random_problem(seed, rescaling)
    batch, single = (StructuredRisk(t, X, Y, rescaling) for t in (task, Enumerated(task)))
    value, subgradient = batch(w)
    single_value, single_subgradient = single(w)
    assert value == pytest.approx(single_value, abs=1e-9)
    # Different labelings may have the same violation, so that subgradients are compared by what they promise.
    other = w + np.random.default_rng(seed).normal(size=w.size)
    assert batch(other)[0] >= value + subgradient @ (other - w) - 1e-9
    planes = [batch.plane(i, w) for i in range(len(batch))]
    np.testing.assert_allclose(subgradient, np.mean([a for a, _ in planes], axis=0), atol=1e-9)
    assert single_subgradient.shape == subgradient.shape


@settings(max_examples=30)
@given(seed=SEEDS)
def test_marginals_sum_over_all_labelings(seed):
    task, X, _, w = random_problem(seed)
    for x in X:
        labelings = Enumerated(task).labelings(x)
        scores = np.array([w @ task.joint_feature(x, z) for z in labelings])
        p = np.exp(scores - scores.max())
        nodes = np.zeros((len(x), task.n_states))
        for z, weight in zip(labelings, p / p.sum(), strict=True):
            nodes[np.arange(len(x)), z] += weight
        np.testing.assert_allclose(task.marginals(w, x).nodes, nodes, atol=1e-9)
