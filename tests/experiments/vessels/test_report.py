"""Figures, tables and sentences say what the results say."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from reproduction.experiments.vessels.evaluate import METHODS, TITLES, comparison_values
from reproduction.experiments.vessels.figures import (
    error_picture,
    plot_comparison,
    plot_differences,
    plot_errors,
    plot_examples,
)
from reproduction.experiments.vessels.measures import METRICS
from reproduction.experiments.vessels.report import (
    difference_table,
    health_table,
    kernel_name,
    kernel_text,
    margin_text,
    method_table,
    observer_text,
    selection_text,
    structure_text,
)
from reproduction.experiments.vessels.train_dense import KERNELS

pytestmark = pytest.mark.usefixtures("figure_style")
GAINS = {"threshold": -0.1, "linear": -0.01, "grid": -0.01, "dense": 0.001, "second": 0.0}


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    rows = [
        {
            "photograph": photograph,
            "pathological": photograph == 3,
            "method": method,
            **{metric: 0.8 + gain + rng.normal(0, 0.01) for metric in METRICS},
        }
        for photograph in range(1, 9)
        for method, gain in GAINS.items()
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def values(scores):
    weights = {"dense": [0.0] * (4 + len(KERNELS)), "grid": [0.0] * 10}
    return {
        **comparison_values(scores),
        "auc": {"threshold": 0.9, "linear": 0.95},
        "photographs": {"test": 8},
        "weights": weights,
    }


@pytest.fixture
def examples():
    arrays = {}
    for number, name in enumerate(("healthy", "pathological"), start=1):
        mask = np.zeros((12, 10), dtype=bool)
        mask[:, 4] = True
        arrays |= {f"{name}_number": np.array(number), f"{name}_image": np.zeros((12, 10, 3), dtype=np.uint8)}
        arrays |= {
            f"{name}_{kind}": np.roll(mask, k, axis=1) for k, kind in enumerate(("first", "second", "dense"))
        }
    return arrays


def test_the_exhibit_shows_two_photographs_with_three_masks(examples):
    fig = plot_examples(examples)
    assert [ax.get_title() for ax in fig.axes[:2]] == ["photograph 01 (healthy)", "ground truth"]
    assert len(fig.axes) == 8
    np.testing.assert_array_equal(fig.axes[7].images[0].get_array(), examples["pathological_dense"])
    plt.close(fig)


def test_a_run_without_disease_shows_one_row(examples):
    fig = plot_examples({name: array for name, array in examples.items() if name.startswith("healthy")})
    assert len(fig.axes) == 4
    plt.close(fig)


def test_errors_have_their_colors(examples):
    truth, found = examples["healthy_first"], examples["healthy_second"]
    picture = error_picture(truth, found)
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) == 3  # nothing in common here
    assert (picture[~truth & ~found] == 255).all()
    fig = plot_errors(examples)
    assert len(fig.axes) == 4
    plt.close(fig)


def test_pairs_and_curves_are_drawn(scores, values):
    curves = pd.DataFrame({"method": ["linear"] * 2, "sensitivity": [1.0, 0.5], "precision": [0.2, 0.9]})
    fig = plot_comparison(scores, curves, values)
    left, right = fig.axes
    drawn = {line.get_label(): line for line in left.lines}
    observed = np.asarray(drawn[TITLES["second"]].get_ydata())
    assert (np.diff(observed) >= 0).all()
    labels = [label.get_text() for label in left.get_xticklabels()]
    assert labels.count("03*") == 1
    assert len(labels) == 8
    points = {line.get_label(): line for line in right.lines}
    assert points[TITLES["dense"]].get_xdata()[0] == values["score"]["dense"]["sensitivity"]
    plt.close(fig)


def test_differences_are_drawn_with_intervals(values):
    fig = plot_differences(values)
    assert [text.get_text() for text in fig.axes[0].get_yticklabels()] == [TITLES[name] for name in METHODS]
    plt.close(fig)


def test_tables(values, scores):
    table = method_table(values)
    assert list(table.index) == list(TITLES.values())
    assert table.loc[TITLES["second"], "AUC"] == ""
    assert table.loc[TITLES["dense"], "F1"].startswith(f"{values['score']['dense']['f1']:.3f} (")
    differences = difference_table(values)
    assert differences.loc[TITLES["linear"], "F1 minus linear classifier"] == ""
    assert differences.loc[TITLES["threshold"], "F1 minus second observer"].startswith("-0.")
    health = health_table(scores)
    assert list(health) == ["F1, healthy (7)", "F1, signs of disease (1)"]
    expected = scores[(scores["method"] == "dense") & scores["pathological"]]["f1"].item()
    assert health.loc[TITLES["dense"], "F1, signs of disease (1)"] == expected


def test_the_observer_is_compared_in_words(values):
    text = observer_text(values)
    assert "On 8 test photographs" in text
    assert "the 95 % interval contains 0" in text
    values["difference"]["f1"] = {
        "mean": -0.05,
        "low": -0.06,
        "high": -0.04,
        "low_90": -0.058,
        "high_90": -0.042,
    }
    assert "the 95 % interval does not contain 0" in observer_text(values)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(-0.01, 0.01, "equivalent in"), (-0.05, -0.03, "the two differ"), (-0.03, 0.01, "remains undecided")],
)
def test_equivalence_in_words(low, high, expected):
    assert expected in margin_text({"low_90": low, "high_90": high}, 0.02)


def test_structure_in_words(values):
    values["from_linear"]["grid"]["f1"] |= {"mean": 0.01, "low": 0.005, "high": 0.015}
    values["from_linear"]["dense"]["f1"] |= {"mean": 0.0, "low": -0.1, "high": 0.1}
    text = structure_text(values)
    assert "+0.0100 (+0.0050 to +0.0150) over the linear classifier, a gain." in text
    assert "no clear difference" in text
    assert "no weight to any kernel" in text


def test_kernels_in_words():
    w = np.zeros(4 + len(KERNELS))
    w[4], w[6] = 0.2, 0.5
    text = kernel_text(w)
    assert f"2 of {len(KERNELS)} kernels: {kernel_name(KERNELS[2])} (0.5), position 1 (0.2)" in text
    assert kernel_name(KERNELS[2]) == "position 4 and gray level 0.3"
    assert kernel_name(KERNELS[-1]) == "position 16 and score 1"


def test_selection_in_words():
    trials = pd.DataFrame(
        [
            ("grid", 1, 3, False),
            ("grid", 1, 4, True),
            ("grid", 1, 5, False),
            ("linear", 0.1, 4, False),
            ("linear", 0.3, 4, True),
        ],
        columns=["method", "C", "class_weight", "chosen"],
    )
    assert selection_text(trials).splitlines() == [
        "- grid CRF, graph cut, weight of vessels: 4, inside its range, 3 to 5.",
        "- grid CRF, graph cut, $C$: 1, not varied.",
        "- linear classifier of pixels, weight of vessels: 4, not varied.",
        "- linear classifier of pixels, $C$: 0.3, at the edge of its range, 0.1 to 0.3.",
    ]
