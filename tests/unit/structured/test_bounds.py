import numpy as np
import pytest

from ermlab.structured.bounds import (
    fitted_rate,
    loss_stability,
    partial_annotation_bound,
    ranking_excess,
    score_stability,
    tight_score_stability,
)

N, LAMBDA, SIGMA, KAPPA, DELTA = 500.0, 0.3, 1.7, 1.2, 0.1
PARTIAL = {"mu": 1.5, "feature_norm": 2.0, "largest_loss": 0.7, "annotations": 8, "outputs": 4}


def test_slack_bound_is_equation_3_25():
    root = np.sqrt(2 * np.log(1 / DELTA) / N)
    published = 32 * SIGMA**2 * KAPPA**2 / (LAMBDA * N) + (16 * SIGMA**2 * KAPPA**2 / LAMBDA + SIGMA) * root
    ours = ranking_excess(N, LAMBDA, SIGMA, "slack", kappa=KAPPA, confidence=1 - DELTA)
    assert ours == pytest.approx(published)


def test_margin_bound_is_equation_3_26():
    root = np.sqrt(2 * np.log(1 / DELTA) / N)
    published = 32 * KAPPA**2 / (LAMBDA * N) + (16 * KAPPA**2 / LAMBDA + SIGMA) * root
    ours = ranking_excess(N, LAMBDA, SIGMA, "margin", kappa=KAPPA, confidence=1 - DELTA)
    assert ours == pytest.approx(published)


def test_loss_stability_of_slack_rescaling_is_equation_3_19():
    nu = score_stability(N, LAMBDA, SIGMA, "slack", KAPPA)
    assert loss_stability(nu, SIGMA, "slack") == pytest.approx(16 * SIGMA**2 * KAPPA**2 / (LAMBDA * N))


@pytest.mark.parametrize(("tight", "crossing"), [(False, 1.0), (True, np.sqrt(2))])
def test_where_the_ranking_bounds_cross(tight, crossing):
    n, regularization = np.meshgrid(np.geomspace(2, 1e7, 8), np.geomspace(1e-4, 10, 6))

    def slack_minus_margin(sigma):
        return ranking_excess(n, regularization, sigma, "slack", tight=tight) - ranking_excess(
            n, regularization, sigma, "margin", tight=tight
        )

    assert (slack_minus_margin(0.99 * crossing) < 0).all()
    assert (slack_minus_margin(1.01 * crossing) > 0).all()
    margin = ranking_excess(n, regularization, crossing, "margin", tight=tight)
    assert np.abs(slack_minus_margin(crossing) / margin).max() < 1e-12


@pytest.mark.parametrize("rescaling", ["slack", "margin"])
def test_a_change_of_units_changes_the_bound_by_its_factor(rescaling):
    """Slack rescaling keeps its minimizer if lambda grows with Delta, margin rescaling if it shrinks."""
    factor = 3.0
    matched = LAMBDA * factor if rescaling == "slack" else LAMBDA / factor
    scaled = ranking_excess(N, matched, factor * SIGMA, rescaling)
    assert scaled == pytest.approx(factor * ranking_excess(N, LAMBDA, SIGMA, rescaling))


def test_the_tight_stability_is_a_quarter_for_slack_and_half_for_margin():
    arguments = (N, LAMBDA, SIGMA)
    assert tight_score_stability(*arguments, "slack") * 4 == pytest.approx(
        score_stability(*arguments, "slack")
    )
    assert tight_score_stability(*arguments, "margin") * 2 == pytest.approx(
        score_stability(*arguments, "margin")
    )


def test_partial_bound_is_theorem_1_1():
    published = (1.5 * 2 + 0.7) * (8 * 8 * 4 + np.sqrt(2 * np.log(2 / DELTA))) / np.sqrt(N)
    assert partial_annotation_bound(N, **PARTIAL, confidence=1 - DELTA) == pytest.approx(published)


@pytest.mark.parametrize("mu", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("largest_loss", [0.0, 1.0, 50.0])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 1 - 1e-12])
def test_the_repaired_bound_is_below_the_published_one(mu, largest_loss, confidence):
    smallest_sets = PARTIAL | {"mu": mu, "largest_loss": largest_loss, "annotations": 2, "outputs": 2}
    published = partial_annotation_bound(N, **smallest_sets, confidence=confidence)
    assert partial_annotation_bound(N, **smallest_sets, confidence=confidence, repaired=True) < published


def test_fitted_rate_recovers_an_exponent():
    n = np.geomspace(1, 1e4, 9)
    assert fitted_rate(n, 7 * n**-0.75) == pytest.approx(-0.75)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="n is 0"):
        score_stability(0, LAMBDA, SIGMA, "slack")
    with pytest.raises(ValueError, match=r"sigma is -1\.0"):
        ranking_excess(N, LAMBDA, -1.0, "slack")
    with pytest.raises(ValueError, match="rescaling is 'hinge'"):
        ranking_excess(N, LAMBDA, SIGMA, "hinge")
    with pytest.raises(ValueError, match=r"confidence is 1\.0"):
        ranking_excess(N, LAMBDA, SIGMA, "slack", confidence=1.0)
    with pytest.raises(ValueError, match="expected equal shapes"):
        fitted_rate([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="n is 3 throughout"):
        fitted_rate([3, 3], [1, 2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": np.inf}, "n is inf: expected a finite number"),
        ({"n": np.nan}, "n is nan"),
        ({"kappa": 1e200}, r"kappa is 1e\+200: expected a number from 0 to 1.34e\+154"),
        ({"kappa": np.nan}, "kappa is nan"),
        ({"sigma": 1e200, "kappa": 1e100}, "the bound overflows"),
        ({"regularization": 5e-324}, "the bound overflows"),
    ],
)
def test_ranking_excess_of_numbers_out_of_range(change, message):
    arguments = {"n": 10, "regularization": 1.0, "sigma": 1.0, "rescaling": "slack"} | change
    with pytest.raises(ValueError, match=message):
        ranking_excess(**arguments)


@pytest.mark.parametrize("name", ["mu", "feature_norm", "largest_loss"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_partial_annotation_bound_of_numbers_out_of_range(name, bad):
    constants = {"mu": 1.0, "feature_norm": 1.0, "largest_loss": 1.0, "annotations": 2, "outputs": 3}
    with pytest.raises(ValueError, match=f"{name} is {bad}"):
        partial_annotation_bound(10, **constants | {name: bad})
