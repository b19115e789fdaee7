import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ermlab.structured.losses import (
    convexity_violation,
    margin_rescaled_hinge,
    rescaled_hinge,
    slack_rescaled_hinge,
    step_loss,
)

differences = st.floats(-10, 10)
deltas = st.floats(0, 10)


@pytest.mark.parametrize(
    ("difference", "delta", "step", "margin", "slack"),
    [
        (-1, 2, 2, 3, 4),
        (0, 2, 0, 2, 2),
        (0.5, 2, 0, 1.5, 1),
        (1, 2, 0, 1, 0),
        (2, 2, 0, 0, 0),
        (-1, 0, 0, 1, 0),
    ],
)
def test_values_by_hand(difference, delta, step, margin, slack):
    assert step_loss(difference, delta) == step
    assert margin_rescaled_hinge(difference, delta) == margin
    assert slack_rescaled_hinge(difference, delta) == slack


@given(differences, deltas)
def test_both_hinges_are_nowhere_below_the_step(difference, delta):
    assert margin_rescaled_hinge(difference, delta) >= step_loss(difference, delta)
    assert slack_rescaled_hinge(difference, delta) >= step_loss(difference, delta)


@given(differences, differences, st.floats(0, 1), deltas, st.sampled_from(["slack", "margin"]))
def test_both_hinges_are_convex(left, right, share, delta, rescaling):
    between = rescaled_hinge(share * left + (1 - share) * right, delta, rescaling)
    chord = share * rescaled_hinge(left, delta, rescaling) + (1 - share) * rescaled_hinge(
        right, delta, rescaling
    )
    assert between <= chord + 1e-9


@given(arrays(float, 6, elements=differences), arrays(float, 6, elements=deltas), st.integers(0, 5))
def test_their_maximum_over_wrong_outputs_bounds_the_loss_of_the_prediction(scores, delta, right):
    """The statement that makes them useful: even a tie that is broken the wrong way is paid for."""
    delta[right] = 0
    wrong = np.arange(6) != right
    predictions = np.flatnonzero(scores == scores.max())
    for hinge in (margin_rescaled_hinge, slack_rescaled_hinge):
        assert delta[predictions].max() <= hinge(scores[right] - scores[wrong], delta[wrong]).max()


def test_a_negative_loss_is_refused():
    with pytest.raises(ValueError, match=r"delta is -1\.0"):
        slack_rescaled_hinge(0.0, [1.0, -1.0])


def test_an_unknown_rescaling_is_refused():
    with pytest.raises(ValueError, match="rescaling is 'both'"):
        rescaled_hinge(0.0, 1.0, "both")


def test_convexity_violation_finds_a_concave_place():
    assert convexity_violation([0, 1, 2, 1]) == 2
    assert convexity_violation([4, 1, 0, 1, 4]) == 0
    with pytest.raises(ValueError, match="at least 3"):
        convexity_violation([1, 2])


@pytest.mark.parametrize("hinge", [margin_rescaled_hinge, slack_rescaled_hinge])
@pytest.mark.parametrize(
    ("difference", "delta", "message"),
    [
        (np.nan, 1.0, "difference of scores holds NaN"),
        (-np.inf, 0.0, "difference of scores holds NaN or infinity"),
        (0.0, np.inf, "delta is inf"),
        (-1.7e308, 1.7e308, "a loss overflows"),
    ],
)
def test_numbers_that_are_not_finite(hinge, difference, delta, message):
    with pytest.raises(ValueError, match=message):
        hinge(difference, delta)


@pytest.mark.parametrize("values", [[0.0, np.nan, 1.0], [1.7e308, -1.7e308, 1.7e308]])
def test_convexity_of_numbers_that_overflow(values):
    with pytest.raises(ValueError, match="expected finite numbers"):
        convexity_violation(values)
