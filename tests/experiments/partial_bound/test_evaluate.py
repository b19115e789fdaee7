"""Simulated problems with partial annotations, their bounds, and what is observed, counted by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ermlab.structured.bridge import BridgeRisk
from reproduction.claims.results import read_results
from reproduction.experiments.partial_bound import evaluate
from reproduction.experiments.partial_bound.evaluate import (
    disc,
    extreme_problem,
    main,
    partial_annotations,
    random_problem,
    sampled_excess,
    simulate,
    summarize,
    summarize_problems,
)


def test_annotations_of_two_labels():
    annotations, compatible = partial_annotations(2)
    assert len(annotations) == 3**2 - 1
    allowed = dict(zip(map(tuple, annotations.tolist()), compatible.tolist(), strict=True))
    # Outputs in the order 00, 01, 10, 11.
    assert allowed[(-1, 1)] == [False, True, False, True]
    assert allowed[(1, 0)] == [False, False, True, False]
    assert (-1, -1) not in allowed


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_random_problems_are_distributions_with_the_stated_constants(seed):
    problem = random_problem(np.random.default_rng(seed), labels=2, inputs=3, dimension=2)
    assert problem.probabilities.sum() == pytest.approx(1)
    assert problem.constants["feature_norm"] == pytest.approx(1)
    assert (problem.constants["annotations"], problem.constants["outputs"]) == (8, 4)
    # Only outputs that contradict the annotation cost something.
    assert (problem.risk.losses[problem.risk.compatible] == 0).all()
    assert (problem.risk.losses[~problem.risk.compatible] > 0).all()
    assert problem.constants["largest_loss"] == 1


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


def test_the_disc_holds_its_center_and_rim():
    points = disc(2.0, 3, 8)
    norms = np.linalg.norm(points, axis=1)
    assert len(points) == 1 + 3 * 8
    assert (norms.min(), norms.max()) == (0, pytest.approx(2))


def test_annotations_of_no_label_are_refused():
    with pytest.raises(ValueError, match="labels is 0"):
        partial_annotations(0)


def test_the_bridge_loss_exceeds_the_maximum_that_the_proof_assumes():
    """The supplement has mu B + Delta_max; two opposite features reach 2 mu B + Delta_max."""
    mu, feature_norm, largest_loss = 1.0, 1.0, 0.6
    assert extreme_problem(largest_loss)([-mu]) == pytest.approx(2 * mu * feature_norm + largest_loss)


def test_observed_excess_is_compared_with_the_published_bound(monkeypatch):
    """Two of three draws exceed every bound."""
    excess, deviation = np.array([0.0, 1e9, 2e9]), np.array([0.1, 0.5, 0.2])
    monkeypatch.setattr(evaluate, "sampled_excess", lambda *_: (excess, deviation))
    runs = list(simulate(None, random_problem(np.random.default_rng(0), 2, 3, 2), None, 3))
    assert [run["n"] for run in runs] == [10**k for k in range(1, 9)]
    first = runs[0]
    assert (first["violations"], first["excess_max"], first["deviation_max"]) == (2, 2e9, 0.5)
    assert first["excess_quantile"] == pytest.approx(1.9e9)
    # mu = B = Delta_max = 1, 8 annotations of 4 outputs, probability 0.95.
    assert first["largest_possible"] == pytest.approx(3)
    assert first["published"] == pytest.approx(2 * (8 * 32 + np.sqrt(2 * np.log(2 / 0.05))) / np.sqrt(10))
    assert first["repaired"] == pytest.approx((2 * 32 + 3 * np.sqrt(2 * np.log(1 / 0.05))) / np.sqrt(10))


def test_rates_and_ratios():
    curves = pd.DataFrame(
        {
            "n": [10, 1000],
            "published": [8.0, 0.8],
            "repaired": [2.0, 0.2],
            "largest_possible": [4.0, 4.0],
            "deviation_max": [0.5, 0.005],
            "excess_max": [0.1, 0.0],
        }
    )
    assert summarize(curves) == pytest.approx(
        {
            "bound_over_excess_min": 80,
            "repaired_over_excess_min": 20,
            "published_over_repaired": 4,
            "informative_from": 40,
            "repaired_informative_from": 3,  # 2.5
        }
    )


def test_rates_and_violations_of_two_problems():
    """The bound is informative at the last two sizes; the first problem violates it there once."""
    sizes = [10, 1000, 100000]
    runs = pd.concat(
        pd.DataFrame(
            {
                "problem": problem,
                "n": sizes,
                "published": [8.0, 0.8, 0.08],
                "largest_possible": 4.0,
                "deviation_quantile": np.array(sizes) ** slope,
                "excess_quantile": excess,
                "excess_mean": [0.4, 0.2, last],
                "violations": violations,
            }
        )
        for problem, slope, excess, last, violations in (
            (0, -0.5, [1.0, 0.01, 0.0001], 0.1, [5, 1, 0]),
            (1, -0.4, [1.0, 0.1, 0.0], 0.0, [0, 0, 0]),
        )
    )
    found = summarize_problems(runs, draws=10)
    assert (found["monte_carlo_trials"], found["monte_carlo_violations"]) == (40, 1)
    assert found["deviation_rate"]["repeats"] == pytest.approx([-0.5, -0.4])
    # An excess risk of 0 has no rate, and two sizes are too few for one.
    assert found["excess_rate"]["repeats"] == pytest.approx([-1.0])
    assert [item["repeats"] for item in found["excess_first_last"]] == [[0.4, 0.4], [0.1, 0.0]]


def test_two_runs_write_the_same_values_and_curves(tmp_path):
    folders = [tmp_path / turn / "partial_bound" for turn in ("once", "twice")]
    for folder in folders:
        folder.mkdir(parents=True)
        outputs = {"values": folder / "values.json", "curves": folder / "curves.csv"}
        main({}, outputs, seed=1, problems=2, draws=10)
    files = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders]
    assert files[0] == files[1]
    values = read_results(folders[0])["values"]
    # The bound is below the largest loss from the sixth size on.
    assert (values["monte_carlo_trials"], values["monte_carlo_violations"]) == (2 * 10 * 4, 0)
    assert values["loss_over_printed_maximum"] == 1.5
    curves = pd.read_csv(folders[0] / "curves.csv")
    assert "violations" not in curves
    assert (curves["excess_quantile"] <= curves["excess_max"]).all()
    assert (curves["excess_max"] <= 2 * curves["deviation_max"]).all()
    assert (curves["repaired"] < curves["published"]).all()
