"""Planes for each sample: the same optimum as with planes of the whole risk, and exact steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ermlab.optimize import L2, minimize, minimize_blocks, solve_simplex_qp
from ermlab.structured._multiclass_dual_numba import maximize_sample
from ermlab.structured.multiclass import MultiClassTask
from ermlab.structured.risk import StructuredRisk

seeds = st.integers(0, 2**32 - 1)


class OneAtATime:
    """A multi-class task without its methods for whole samples."""

    def __init__(self, task):
        self.dimension = task.dimension
        self.joint_feature, self.loss = task.joint_feature, task.loss
        self.predict, self.most_violated = task.predict, task.most_violated


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n, d, classes = (int(rng.integers(low, high)) for low, high in ((1, 15), (1, 6), (2, 6)))
    losses = rng.random((classes, classes)) * (1 - np.eye(classes))
    if rng.random() < 0.3:  # ties, and wrong classes without a loss
        losses = np.round(losses)
    X, y = rng.normal(size=(n, d)) * 10 ** rng.uniform(-1, 0.5), rng.integers(classes, size=n)
    if rng.random() < 0.2:
        X[0] = 0.0
    return MultiClassTask(classes, d, losses), X, y, L2(10 ** rng.uniform(-2, 1))


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@settings(max_examples=60)
@given(seed=seeds)
def test_same_optimum_as_the_bundle_method(rescaling, seed):
    task, X, y, regularizer = random_problem(seed)
    risk = StructuredRisk(task, X, y, rescaling)
    truth = minimize(risk, regularizer, tol=1e-8)
    result = minimize_blocks(risk, regularizer, tol=1e-3, max_iter=5000)
    rounding = 1e-12 * (1 + truth.value)
    assert result.converged
    assert result.value == pytest.approx(regularizer(result.w) + risk(result.w)[0], rel=1e-12)
    # The bounds are as close to the optimum as the tolerance promises.
    assert result.gap <= 1e-3 * result.value * (1 + 1e-9)
    assert truth.lower_bound - rounding <= result.value <= (1 + 1.001e-3) * truth.value + rounding
    assert (1 - 1.001e-3) * truth.lower_bound - rounding <= result.lower_bound <= truth.value + rounding
    # Every bound on the way is valid, not only the last.
    assert (np.array(result.history.lower_bound) <= truth.value + rounding).all()


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@settings(max_examples=25)
@given(seed=seeds)
def test_a_plain_task_gives_the_same_optimum(rescaling, seed):
    task, X, y, regularizer = random_problem(seed)
    fast, plain = (
        minimize_blocks(StructuredRisk(t, X, y, rescaling), regularizer, tol=1e-3, max_iter=5000)
        for t in (task, OneAtATime(task))
    )
    rounding = 1e-12 * (1 + fast.value)
    for result, other in ((fast, plain), (plain, fast)):
        assert result.converged
        assert result.gap <= 1e-3 * result.value * (1 + 1e-9)
        assert result.lower_bound <= other.value + rounding


@settings(max_examples=200)
@given(seed=seeds)
def test_step_of_a_sample_against_the_simplex_qp(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 8))
    c, s = rng.normal(size=m), rng.random(m) * 3 if rng.random() < 0.7 else np.ones(m)
    q, C = 10 ** rng.uniform(-3, 2), 10 ** rng.uniform(-2, 1)
    if rng.random() < 0.3:
        c, s = np.round(2 * c), np.ceil(s)
    beta, values, order = np.empty(m), np.empty(m), np.empty(m, dtype=np.int64)
    maximize_sample(c, s, q, C, m, beta, values, order)
    assert (beta >= 0).all()
    assert np.sum(beta / s) <= C * (1 + 1e-12)

    # beta = C s alpha, with the rest of the simplex on a plane 0.
    slopes, G = np.append(C * s * c, 0.0), np.zeros((m + 1, m + 1))
    G[:m, :m] = q * C**2 * np.outer(s, s) * (np.eye(m) + 1)
    reference = solve_simplex_qp(G, slopes, tol=1e-13)
    value = c @ beta - q / 2 * (beta @ beta + beta.sum() ** 2)
    assert value == pytest.approx(reference.value, rel=1e-9, abs=1e-9)
