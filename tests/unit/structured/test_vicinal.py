import numpy as np
import pytest

from ermlab.structured.vicinal import (
    equivariant_losses,
    is_ordered,
    lemma_bound,
    scaled_family,
    scaled_step_losses,
    smallest_members,
    step_family,
    vicinal_risk,
)

LINE = np.linspace(-5, 5, 2001)


def test_construction_by_hand():
    family = [[0.0, 0.0, 0.0], [0.0, 0.5, 1.0], [1.0, 1.0, 1.0]]
    losses, probabilities = [0.0, 0.4, 0.9], [0.5, 0.3, 0.2]
    members = smallest_members(family, losses)
    assert members.tolist() == [0, 1, 1]
    assert equivariant_losses(family, members, probabilities) == pytest.approx([0, 0.35, 0.35])
    assert vicinal_risk(losses, probabilities) == pytest.approx(0.30)
    assert lemma_bound(family, losses, probabilities) == pytest.approx(0.35)


def test_members_do_not_depend_on_the_order_of_rows():
    family = np.array([[1.0, 1.0], [0.0, 0.0], [0.2, 0.6]])
    assert smallest_members(family, [0.1, 0.7]).tolist() == [2, 0]


def test_without_order_the_lemma_fails():
    """Each member reaches the loss where it is chosen, none dominates it."""
    crossing = np.eye(2)
    losses, probabilities = [1.0, 1.0], [0.5, 0.5]
    assert not is_ordered(crossing)
    assert lemma_bound(crossing, losses, probabilities) == 0.5 < vicinal_risk(losses, probabilities)


def test_scaled_steps_are_not_ordered_and_unit_steps_are():
    unit = step_family(LINE[::50])
    assert is_ordered(unit)
    assert not is_ordered(np.vstack([0.5 * unit[2], unit[8]]))
    scaled = scaled_step_losses([-2, 0, 4], [0.5, 0, 1], [0.25, 0.5, 0.25])
    assert scaled.tolist() == [0.25, 0, 0.25]


def test_a_ray_weights_each_transformation():
    rng = np.random.default_rng(0)
    profile, losses, probabilities = rng.uniform(0.1, 1, 9), rng.random(9), rng.dirichlet(np.ones(9))
    family = scaled_family(profile, losses)
    weighted = losses * (profile @ probabilities) / profile
    assert is_ordered(family)
    assert equivariant_losses(family, smallest_members(family, losses), probabilities) == pytest.approx(
        weighted
    )
    assert lemma_bound(scaled_family(np.ones(9), losses), losses, probabilities) == pytest.approx(
        losses.max()
    )
    assert lemma_bound(scaled_family(losses, losses), losses, probabilities) == pytest.approx(
        vicinal_risk(losses, probabilities)
    )


def test_bad_input_is_named():
    with pytest.raises(
        ValueError, match=r"no member of the family reaches the loss 2\.0 at transformation 1"
    ):
        smallest_members(np.ones((1, 2)), [0.5, 2.0])
    with pytest.raises(ValueError, match=r"expected \(m, T\), \(T,\)"):
        smallest_members(np.ones((1, 2)), [0.5])
    with pytest.raises(ValueError, match=r"probabilities sum to 1\.2"):
        vicinal_risk([1.0, 1.0], [0.6, 0.6])
    with pytest.raises(ValueError, match=r"expected \(2,\)"):
        vicinal_risk([1.0, 1.0], [1.0])
    with pytest.raises(ValueError, match=r"profile\[1\] is 0\.0"):
        scaled_family([1.0, 0.0], [0.0, 0.5])


@pytest.mark.parametrize("members", [[0, 2], [-1, 0], [0.0, 1.0]])
def test_members_that_are_no_rows(members):
    with pytest.raises(ValueError, match="expected row numbers, 0 to 1"):
        equivariant_losses(np.ones((2, 2)), members, [0.5, 0.5])


def test_losses_that_are_not_finite():
    with pytest.raises(ValueError, match=r"losses has shape \(2,\): expected \(T,\), finite"):
        vicinal_risk([0.0, np.nan], [0.5, 0.5])
    with pytest.raises(ValueError, match=r"family has shape \(1, 2\): expected \(m, T\), finite"):
        equivariant_losses([[0.0, np.inf]], [0], [0.5, 0.5])


@pytest.mark.parametrize(("profile", "losses"), [([1.0, 2.0], [1e308, 0.0]), ([1.0, np.inf], [1.0, 1.0])])
def test_multiples_of_a_profile_that_overflow(profile, losses):
    with pytest.raises(ValueError, match="NaN or infinite: expected finite numbers"):
        scaled_family(profile, losses)
