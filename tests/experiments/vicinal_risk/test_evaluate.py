"""Bounds of the vicinal risk on three transformations, counted by hand, and the example of figure 4."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from reproduction.claims.results import read_results
from reproduction.experiments.vicinal_risk import evaluate
from reproduction.experiments.vicinal_risk.evaluate import (
    FIGURE_DEVIATION,
    LineCase,
    example_curves,
    figure_case,
    gaussian_probabilities,
    main,
    random_line_case,
    summarize,
    triangular_peaks,
)

LINE = np.linspace(-5, 5, 2001)


@pytest.fixture
def three():
    """Steps at |t| >= 0, 2, 4 have the probabilities 1, 1/2, 1/4; the mean of t^2 is 5."""
    return LineCase(np.array([-2.0, 0, 4]), np.array([0.5, 0, 1]), np.array([0.25, 0.5, 0.25]))


def test_bounds_of_three_transformations(three):
    # 0.5 * 5/4 for the squares; for scaled steps 0.5 * 1/2 and 1 * 1/4.
    expected = {"risk": 0.375, "plain": 1, "step": 0.5, "square": 0.625, "scaled_step": 0.25}
    assert three.bounds() == pytest.approx(expected)


def test_curves_of_three_transformations(three):
    curves = example_curves(three)
    expected = {
        "t": [-2, 0, 4],
        "density": [0.125, 0.25, 0.125],
        "loss": [0.5, 0, 1],
        "scaled_step": [0.25, 0, 0.25],
        "step": [0.5, 0, 0.25],
        "step_member": [1, 0, 1],
        "square": [0.625, 0, 0.3125],
        "square_member": [0.5, 0, 2],
    }
    pd.testing.assert_frame_equal(curves, pd.DataFrame(expected), check_dtype=False)


def test_violations_and_ratios_of_two_cases_each():
    lines = pd.DataFrame(
        {
            "risk": [0.5, 0.2],
            "plain": [1, 0.5],
            "step": [0.5, 0.1],
            "square": [0.4, 1],
            "scaled_step": [0.6, 0.1],
        }
    )
    # Rounding is no violation.
    families = pd.DataFrame({"risk": [0.3, 0.3], "smallest": [0.3, 0.3 - 1e-13], "any": [0.2, 0.4]})
    found = summarize(lines, families)
    ratios = {name: found.pop(name) for name in ("bound_over_plain", "square_over_plain")}
    assert found == {
        "trials": 2,
        "lemma_violations": 3,  # square of the first line, step of the second, any of the first family
        "lemma_checks": 10,
        "unordered_violations": 1,
    }
    assert ratios["bound_over_plain"]["repeats"] == pytest.approx([0.5, 0.2])
    assert ratios["square_over_plain"]["repeats"] == pytest.approx([0.4, 2.0])


def test_cases_are_averaged_in_batches(monkeypatch):
    monkeypatch.setattr(evaluate, "BATCHES", 2)
    lines = pd.DataFrame(
        {"risk": 0.0, "plain": 1.0, "step": [0.1, 0.2, 0.3, 0.6], "square": 0.0, "scaled_step": 0.0}
    )
    families = pd.DataFrame({"risk": [0.0], "smallest": [0.0], "any": [0.0]})
    assert summarize(lines, families)["bound_over_plain"]["repeats"] == pytest.approx([0.15, 0.45])


def test_unit_steps_on_the_example_of_figure_4_in_closed_form():
    """The loss leaves 0 at |t| = 1/2, so the bound is the probability of |t| > 1/2."""
    tail = 2 * norm.sf(0.5 / FIGURE_DEVIATION)
    assert figure_case(LINE).bounds()["step"] == pytest.approx(tail, abs=0.005)


def test_scaled_steps_fail_on_the_example_of_figure_4():
    bounds = figure_case(LINE).bounds()
    assert bounds["scaled_step"] < bounds["risk"] - 0.003


def test_peaks_and_gaussian():
    peaks = triangular_peaks([-1.0, 0.0, 1.5, 1.75], [-1, 1.5], [0.5, 1], [0.5, 0.5])
    assert peaks.tolist() == [0.5, 0, 1, 0.5]
    weights = gaussian_probabilities(LINE, 0.7)
    assert weights.sum() == pytest.approx(1)
    assert weights @ LINE**2 == pytest.approx(0.49)
    with pytest.raises(ValueError, match="deviation is 0"):
        gaussian_probabilities(LINE, 0)


def test_random_cases_have_no_loss_at_the_identity():
    rng = np.random.default_rng(1)
    for _ in range(20):
        case = random_line_case(rng, LINE)
        assert case.losses[len(LINE) // 2] == 0
        assert 0 < case.losses.max() <= 1


def test_results_are_written_and_reproducible(tmp_path):
    written = []
    for run in ("first", "second"):
        folder = tmp_path / run / "vicinal_risk"
        folder.mkdir(parents=True)
        names = ("values.json", "example.csv", "spreads.csv", "digits.csv")
        outputs = {name.partition(".")[0]: str(folder / name) for name in names}
        main({}, outputs, seed=1, trials=20, training={"splits": 2, "digits": 20, "tol": 0.2})
        written.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert written[0] == written[1]
    values = read_results(tmp_path / "first" / "vicinal_risk")["values"]
    assert (values["trials"], values["lemma_checks"], values["lemma_violations"]) == (20, 100, 0)
    assert values["example"]["deviation"] == pytest.approx(np.sqrt(0.5))
    spreads = pd.read_csv(outputs["spreads"])
    # The wider P, the more probability lies where the loss is.
    assert spreads["deviation"].is_monotonic_increasing
    assert spreads["step"].is_monotonic_increasing
    assert (spreads["plain"] == 1).all()
