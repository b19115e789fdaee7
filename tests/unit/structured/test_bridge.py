import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ermlab.optimize.concave_convex import cccp
from ermlab.optimize.regularizers import L2
from ermlab.structured.bridge import BridgeRisk
from reproduction.experiments.partial_bound.cases import (
    disc,
    partial_annotations,
    planted_problem,
    random_problem,
    sampled_excess,
)

seeds = st.integers(0, 2**32 - 1)


def random_risk(seed, samples=4, outputs=5, dimension=3):
    rng = np.random.default_rng(seed)
    compatible = rng.random((samples, outputs)) < 0.5
    compatible[:, 0], compatible[:, -1] = True, False
    losses = rng.random((samples, outputs))
    return BridgeRisk(rng.normal(size=(samples, outputs, dimension)), losses, compatible), rng


def bridge_loss(risk, n, w):
    """The definition of section 1.3.2, output by output."""
    scores = [float(feature @ w) for feature in risk.features[n]]
    penalty = max(s + d for s, d, c in zip(scores, risk.losses[n], risk.compatible[n], strict=True) if not c)
    reward = max(s for s, c in zip(scores, risk.compatible[n], strict=True) if c)
    return max(penalty - reward, 0.0)


@given(seeds)
def test_the_risk_is_the_mean_of_its_definition(seed):
    risk, rng = random_risk(seed)
    w = rng.normal(size=3)
    expected = [bridge_loss(risk, n, w) for n in range(4)]
    assert risk.sample_losses(w) == pytest.approx(expected)
    assert risk(w) == pytest.approx(np.mean(expected))


@given(seeds)
def test_it_is_the_difference_of_its_two_convex_parts(seed):
    risk, rng = random_risk(seed)
    w = rng.normal(size=3)
    assert risk.convex_part(w)[0] - risk.reward(w)[0] == pytest.approx(risk(w))


@given(seeds, st.sampled_from(["convex_part", "reward"]))
def test_each_part_lies_above_its_tangents(seed, name):
    risk, rng = random_risk(seed)
    part = getattr(risk, name)
    w, other = rng.normal(size=(2, 3))
    value, subgradient = part(w)
    assert part(other)[0] >= value + subgradient @ (other - w) - 1e-9


def test_many_weights_at_once():
    risk, rng = random_risk(5)
    W = rng.normal(size=(6, 3))
    assert risk.sample_losses(W) == pytest.approx(np.array([risk.sample_losses(w) for w in W]))


def test_annotations_of_two_labels():
    annotations, compatible = partial_annotations(2)
    assert len(annotations) == 3**2 - 1
    allowed = dict(zip(map(tuple, annotations.tolist()), compatible.tolist(), strict=True))
    # Outputs in the order 00, 01, 10, 11.
    assert allowed[(-1, 1)] == [False, True, False, True]
    assert allowed[(1, 0)] == [False, False, True, False]
    assert (-1, -1) not in allowed


@settings(max_examples=20)
@given(seeds)
def test_random_problems_are_distributions_with_the_stated_constants(seed):
    problem = random_problem(np.random.default_rng(seed), labels=2, inputs=3, dimension=2)
    assert problem.probabilities.sum() == pytest.approx(1)
    assert problem.feature_norm == pytest.approx(1)
    assert (problem.annotations, problem.outputs) == (8, 4)
    # Only outputs that contradict the annotation cost something.
    assert (problem.risk.losses[problem.risk.compatible] == 0).all()
    assert (problem.risk.losses[~problem.risk.compatible] > 0).all()
    assert problem.largest_loss == 1


def test_sampling_agrees_with_drawing_samples_one_by_one():
    rng = np.random.default_rng(8)
    problem, weights = random_problem(rng, 2, 3, 2), disc(1.0, 3, 8)
    excess, deviation = sampled_excess(np.random.default_rng(1), problem, weights, n=20, draws=1)
    atoms = np.repeat(
        np.arange(len(problem.probabilities)), np.random.default_rng(1).multinomial(20, problem.probabilities)
    )
    drawn = BridgeRisk(
        problem.risk.features[atoms], problem.risk.losses[atoms], problem.risk.compatible[atoms]
    )
    empirical = np.array([drawn(w) for w in weights])
    expected = np.array([problem.risk(w) for w in weights])
    assert excess[0] == pytest.approx(expected[empirical.argmin()] - expected.min())
    assert deviation[0] == pytest.approx(np.abs(empirical - expected).max())


def test_large_samples_find_the_best_weights():
    rng = np.random.default_rng(2)
    excess, deviation = sampled_excess(rng, random_problem(rng, 2, 3, 2), disc(1.0, 4, 12), 10**12, 3)
    assert (excess == 0).all()
    assert deviation.max() < 1e-4


def test_the_disc_holds_its_centre_and_rim():
    points = disc(2.0, 3, 8)
    norms = np.linalg.norm(points, axis=1)
    assert len(points) == 1 + 3 * 8
    assert (norms.min(), norms.max()) == (0, pytest.approx(2))


def test_cccp_on_its_parts_finds_the_optimum_of_one_weight():
    """From the right side; from the left the kink at 0, where all outputs tie, may hold it."""
    risk, regularizer = planted_problem(np.random.default_rng(4)), L2(0.05)
    grid = np.linspace(-4, 4, 4001)[:, None]
    objective = risk.sample_losses(grid).mean(axis=1) + 0.025 * grid[:, 0] ** 2
    result = cccp(risk.convex_part, risk.reward, regularizer, w0=[3.0], eps_min=1e-6, eta=1e-8)
    assert result.value == pytest.approx(objective.min(), abs=1e-3)
    assert result.value == pytest.approx(risk(result.w) + regularizer(result.w))


def test_planted_problems_shift_one_of_two_compatible_outputs_by_the_same_length():
    for dimension in (1, 9):
        risk = planted_problem(np.random.default_rng(0), dimension, samples=4000)
        assert (risk.compatible.sum(axis=1) == 2).all()
        assert np.linalg.norm(risk.features[risk.compatible].mean(axis=0)) == pytest.approx(1, abs=0.1)
        assert np.linalg.norm(risk.features[~risk.compatible].mean(axis=0)) < 0.1


def test_the_order_of_planted_outputs_says_nothing_of_the_right_one():
    risk = planted_problem(np.random.default_rng(0), samples=4000)
    np.testing.assert_allclose(risk.compatible.mean(axis=0), 1 / 3, atol=0.05)
    np.testing.assert_allclose(risk.features.mean(axis=0), 1 / 3, atol=0.1)


def test_bad_input_is_named():
    features, losses = np.zeros((2, 3, 1)), np.zeros((2, 3))
    with pytest.raises(ValueError, match="sample 1 has only one kind of output"):
        BridgeRisk(features, losses, np.array([[True, False, False], [True, True, True]]))
    with pytest.raises(ValueError, match=r"shapes \(2, 3, 1\), \(2, 2\) and \(2, 3\)"):
        BridgeRisk(features, np.zeros((2, 2)), np.ones((2, 3), bool))
    with pytest.raises(ValueError, match="labels is 0"):
        partial_annotations(0)


@pytest.mark.parametrize("name", ["features", "losses", "weights"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite(name, bad):
    arguments = {"features": np.ones((1, 2, 1)), "losses": np.ones((1, 2)), "weights": np.ones(1)}
    arguments[name] = np.full_like(arguments[name], bad)
    with pytest.raises(ValueError, match=f"{name} hold NaN or infinity"):
        BridgeRisk(compatible=np.array([[True, False]]), **arguments)


def test_no_samples_or_weights_for_others():
    with pytest.raises(ValueError, match="there are no samples"):
        BridgeRisk(np.ones((0, 2, 1)), np.ones((0, 2)), np.ones((0, 2), dtype=bool))
    with pytest.raises(ValueError, match=r"weights have shape \(2,\): expected \(1,\)"):
        BridgeRisk(np.ones((1, 2, 1)), np.ones((1, 2)), np.array([[True, False]]), np.ones(2))


@pytest.mark.parametrize("method", ["sample_losses", "__call__", "convex_part", "reward"])
@pytest.mark.parametrize("w", [np.nan, np.inf, 1e200])
def test_weights_that_overflow(method, w):
    risk = BridgeRisk(np.array([[[1e200], [-1e200]]]), np.ones((1, 2)), np.array([[True, False]]))
    with pytest.raises(ValueError, match="expected finite weights that do not overflow"):
        getattr(risk, method)([w])
