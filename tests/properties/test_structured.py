"""Structured risks: the batch path against the definition, convexity, and what the rescalings promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ermlab.structured.multiclass import MultiClassTask
from ermlab.structured.risk import StructuredRisk


class OneByOne:
    """A multi-class task by brute force, which answers for one sample at a time."""

    def __init__(self, task):
        self._task, self.dimension = task, task.dimension
        self.joint_feature, self.loss = task.joint_feature, task.loss

    def predict(self, w, x):
        return max(range(self._task.n_classes), key=lambda z: w @ self.joint_feature(x, z))

    def most_violated(self, w, x, y, rescaling):
        def violation(z):
            margin = w @ (self.joint_feature(x, z) - self.joint_feature(x, y))
            return self.loss(y, z) * (1 + margin) if rescaling == "slack" else self.loss(y, z) + margin

        return max(range(self._task.n_classes), key=violation)


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n, d, classes = rng.integers(1, 12), rng.integers(1, 6), rng.integers(2, 6)
    losses = rng.random((classes, classes)) * (1 - np.eye(classes)) if rng.random() < 0.7 else None
    X, y = rng.normal(size=(n, d)), rng.integers(classes, size=n)
    return MultiClassTask(int(classes), int(d), losses), X, y, rng


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1))
def test_batch_equals_one_by_one_and_the_definition(rescaling, seed):
    task, X, y, rng = random_problem(seed)
    batch, single = StructuredRisk(task, X, y, rescaling), StructuredRisk(OneByOne(task), X, y, rescaling)
    w = rng.normal(size=task.dimension)
    value, subgradient = batch(w)
    single_value, single_subgradient = single(w)
    assert value == pytest.approx(single_value, abs=1e-12)
    np.testing.assert_allclose(subgradient, single_subgradient, atol=1e-12)

    scores = X @ w.reshape(task.n_classes, -1).T
    margins, losses = scores - scores[np.arange(len(y)), y][:, None], task.losses[y]
    violations = losses * (1 + margins) if rescaling == "slack" else losses + margins
    assert value == pytest.approx(np.maximum(violations, 0).max(axis=1).mean(), abs=1e-12)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1))
def test_convex_and_above_the_loss_of_the_prediction(rescaling, seed):
    task, X, y, rng = random_problem(seed)
    risk = StructuredRisk(task, X, y, rescaling)
    w = rng.normal(size=task.dimension)
    value, subgradient = risk(w)
    for u in rng.normal(size=(10, task.dimension)) * 3:
        assert risk(u)[0] >= value + subgradient @ (u - w) - 1e-10
    losses = [task.loss(truth, task.predict(w, x)) for x, truth in zip(X, y, strict=True)]
    assert value >= np.mean(losses) - 1e-12
