"""Losses with and without interactions, counted by hand."""

import numpy as np
import pandas as pd
import pytest

from reproduction.claims.results import read_results
from reproduction.experiments.structured_problems.evaluate import (
    PROBLEMS,
    choose_strength,
    describe_losses,
    main,
    summarize,
)
from reproduction.experiments.structured_problems.figures import plot_problems
from reproduction.experiments.structured_problems.tracking import TrackingTask, draw


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "structured_problems"
    folder.mkdir()
    outputs = {name: folder / f"{name}.{end}" for name, end in (("values", "json"), ("losses", "csv"))}
    outputs["examples"] = folder / "examples.npz"
    main({}, outputs, seed=0, repeats=2, train=8, test=4, strengths=[10.0], tol=0.01)
    return folder


def test_gains_are_paired_differences():
    table = pd.DataFrame(
        {
            "problem": ["parsing", "parsing", "tracking", "tracking"],
            "structured_loss": [0.1, 0.2, 0.5, 0.3],
            "independent_loss": [0.3, 0.6, 0.4, 0.6],
            "structured_gap": [0.001, 0.004, 0.002, 0.0],
            "independent_gap": [0.0, 0.0, 0.005, 0.0],
        }
    )
    values = summarize(table)
    assert values["structured_loss"]["parsing"] == {"repeats": [0.1, 0.2], "unit": "draw"}
    assert values["relative_gap_max"] == 0.005
    middle = (values["gain_low"]["parsing"] + values["gain_high"]["parsing"]) / 2
    assert middle == pytest.approx(0.3)
    assert values["gain_low"]["tracking"] < 0 < values["gain_high"]["tracking"]
    text = describe_losses({"repeats": 2, "train": 5, **values})
    assert "**parsing**: 15.0 % wrong with interactions, 45.0 % without" in text


def test_the_strength_is_chosen_on_held_out_samples():
    X, Y = draw(np.random.default_rng(0), 8)
    # Without any weight all links tie, and nothing is right.
    assert choose_strength(TrackingTask(), X, Y, [1e-9, 10.0], 0.01) == 10.0


def test_runs_repeat_and_their_examples_can_be_drawn(results):
    values = read_results(results)["values"]
    assert values["relative_gap_max"] <= 0.01
    losses = pd.read_csv(results / "losses.csv")
    assert losses["problem"].value_counts().to_dict() == dict.fromkeys(PROBLEMS, 2)
    gains = {name: (low, values["gain_high"][name]) for name, low in values["gain_low"].items()}
    fig = plot_problems(dict(np.load(results / "examples.npz")), losses, gains)
    lines = [ax for ax in fig.axes if ax.get_title().startswith("gain")]
    assert len(lines) == len(PROBLEMS)
    shown = [line.get_ydata()[1] for line in lines[0].lines[:2]]
    of_parsing = losses[losses["problem"] == "parsing"]["structured_loss"]
    np.testing.assert_allclose(shown, 100 * of_parsing)
