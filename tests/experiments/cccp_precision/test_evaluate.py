"""Random problems for CCCP, and the comparison of its variants, counted by hand."""

import numpy as np
import pandas as pd
import pytest

from ermlab.optimize import L2, cccp
from reproduction.claims.results import read_results, repeated
from reproduction.experiments.cccp_precision.algorithm import learn_from_partial_annotations
from reproduction.experiments.cccp_precision.evaluate import (
    VARIANTS,
    describe_algorithm,
    dimension_table,
    iterations_until,
    main,
    objective_at_printed_stop,
    planted_problem,
    summarize,
    summarize_algorithm,
    summarize_dimensions,
)


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


@pytest.fixture
def runs():
    """Three starts; the optimum is 10, so that objectives above 10.1 are stuck."""
    columns = {"start": [-1.0, 0.0, 1.0], "optimum": [10.0, 10.0, 10.0]}
    for variant, bounds, iterations, objectives, printed in (
        ("fixed", [5, 10, 30], [None, 2, 3], [20.0, 10.0, 10.1], [20.0, 10.0, 30.0]),
        ("adaptive", [8, 30, 50], [4, 5, 6], [10.0, 10.0, 10.0], [11.0, 12.0, 13.0]),
        ("fixed_recycled", [4, 4, 6], [None, 2, 2], [10.2, 10.0, 10.0], [10.2, 10.0, 10.0]),
        ("adaptive_recycled", [1, 2, 3], [1, 1, 1], [10.0, 10.0, 10.0], [10.0, 10.0, 10.0]),
    ):
        columns |= {
            f"bounds_{variant}": bounds,
            f"iterations_{variant}": iterations,
            f"objective_{variant}": objectives,
            f"printed_{variant}": printed,
        }
    return pd.DataFrame(columns)


def test_stuck_runs_are_counted_and_left_out_of_the_comparison(runs):
    values = summarize(runs)
    assert [values[f"stuck_{variant}"] for variant in VARIANTS] == [1, 0, 1, 0]
    assert [values[f"stuck_as_printed_{variant}"] for variant in VARIANTS] == [2, 3, 1, 0]
    # Only the last two starts reach the optimum in every variant.
    assert values["bounds_reached"]["fixed"] == repeated([10, 30], unit="solved start")
    assert values["iterations_reached"]["adaptive"] == repeated([5, 6], unit="solved start")
    assert values["bounds_adaptive"] == repeated([8, 30, 50], unit="start")
    assert (values["starts"], values["starts_reached"]) == (3, 2)
    assert not {"start", "iterations_fixed", "printed_fixed"} & set(values)


@pytest.mark.parametrize(
    ("objectives", "expected"), [([9, 8, 3, 2], 2), ([9, 3, 5, 3], 3), ([1, 1], 0), ([9, 8], np.nan)]
)
def test_iterations_until_the_objective_stays_low(objectives, expected):
    np.testing.assert_equal(iterations_until(objectives, 4), expected)


def test_bounds_of_more_weights_are_averaged_over_the_dimensions():
    columns = {
        "dimension": [1, 1, 2, 2, 4, 4],
        "bounds_fixed": [9, 9, 10, 10, 10, 10],
        "bounds_adaptive": [9, 9, 20, 20, 30, 30],
        "bounds_fixed_recycled": [9, 9, 4, 6, 8, 2],
        "bounds_adaptive_recycled": [99, 99, 2, 3, 2, 1],
    }
    runs = pd.DataFrame(columns)
    assert summarize_dimensions(runs)["bounds_more_weights"] == {
        "fixed_recycled": repeated([6, 4], unit="problem"),
        "adaptive_recycled": repeated([2, 2], unit="problem"),
    }
    table = dimension_table(runs)
    assert table.loc[2].tolist() == [2.0, 0.5, 0.25]
    assert table.loc[4, "not_recycled"] == 3.0


def test_without_a_start_that_all_variants_solve_more_are_asked_for(runs):
    with pytest.raises(ValueError, match="none of 1 starts reaches the optimum in every variant"):
        summarize(runs[:1])


def test_algorithm_is_compared_with_plain_cccp_and_with_the_transcription():
    compared = pd.DataFrame(
        {
            "bounds_fixed": [100, 100, 100, 100],
            "bounds_adaptive_recycled": [20, 40, 60, 80],
            "objective_fixed": [1.0, 1.0, 1.0, 1.0],
            "objective_adaptive_recycled": [0.5, 1.002, 1.004, 1.5],
            "objective_transcribed": [0.5, 1.002, 1.004, 1.4],
        }
    )
    found = summarize_algorithm(compared, seed=0)
    assert found["algorithm_bounds_ratio"] == repeated([0.2, 0.4, 0.6, 0.8], unit="problem")
    difference = found["algorithm_end_difference"]
    assert (difference["value"], difference["n"]) == (pytest.approx(0.003), 4)
    assert min(difference["draws"]) == pytest.approx(-0.5)
    assert max(difference["draws"]) == pytest.approx(0.5)
    assert (
        found["algorithm_ends_lower"],
        found["algorithm_ends_higher"],
        found["algorithm_same_as_transcribed"],
    ) == (0.25, 0.25, 0.75)
    assert 0.6 < found["algorithm_bounds_ratio_high"] < 0.8
    assert "0.50 times the bounds" in describe_algorithm(found)


def test_the_transcription_ends_where_the_library_does():
    rng = np.random.default_rng(1)
    risk, start = planted_problem(rng, 4), rng.normal(size=4)
    w, bounds = learn_from_partial_annotations(risk.convex_part, risk.reward, 0.05, start)
    same = cccp(risk.convex_part, risk.reward, L2(0.05), w0=start, method="cutting-plane", nonnegative=False)
    assert risk(w) + L2(0.05)(w) == pytest.approx(same.value, rel=1e-6)
    assert bounds == same.bounds


def test_the_printed_rule_stops_at_the_first_small_decrease():
    assert objective_at_printed_stop([10.0, 5.0, 4.999, 1.0]) == 4.999
    assert objective_at_printed_stop([-1.0, -2.0, -2.001, -3.0]) == -2.001
    assert objective_at_printed_stop([10.0, 5.0, 1.0]) == 1.0


def test_variants_differ_in_precision_and_recycling(tmp_path):
    names = ("curves", "paths", "starts", "dimensions", "algorithm")
    folders = [tmp_path / turn / "cccp_precision" for turn in ("once", "twice")]
    for folder in folders:
        folder.mkdir(parents=True)
        outputs = {"values": folder / "values.json"} | {name: folder / f"{name}.csv" for name in names}
        main({}, outputs, seed=1, starts=12, repeats=1)
    files = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders]
    assert files[0] == files[1]
    curves, paths, starts, dimensions, algorithm = (pd.read_csv(folders[0] / f"{name}.csv") for name in names)
    mean = starts.mean()
    for variant in ("fixed", "adaptive"):
        assert mean[f"bounds_{variant}_recycled"] < mean[f"bounds_{variant}"]
        assert (starts[f"objective_{variant}"] >= starts["optimum"] - 1e-6).all()
    np.testing.assert_allclose(curves["objective"], curves["convex"] - curves["reward"])
    np.testing.assert_allclose(paths["objective"], paths["convex"] - paths["reward"])
    begin = paths.groupby("variant", sort=False).first()
    assert list(begin.index) == list(VARIANTS)
    assert set(begin["w"]) == {-3.0}
    assert set(begin["bounds"]) == {1}
    assert dimensions["dimension"].tolist() == [1, 2, 4, 8, 16, 32]
    assert len(algorithm) == 12
    reached = read_results(folders[0])["values"]["iterations_reached"]
    assert set(reached) == set(VARIANTS)
    assert len(reached["fixed"]["repeats"]) == starts.dropna().shape[0] > 0
