import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ermlab.structured.bridge import BridgeRisk

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


def test_bad_input_is_named():
    features, losses = np.zeros((2, 3, 1)), np.zeros((2, 3))
    with pytest.raises(ValueError, match="sample 1 has only one kind of output"):
        BridgeRisk(features, losses, np.array([[True, False, False], [True, True, True]]))
    with pytest.raises(ValueError, match=r"shapes \(2, 3, 1\), \(2, 2\) and \(2, 3\)"):
        BridgeRisk(features, np.zeros((2, 2)), np.ones((2, 3), bool))


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
