"""Losses of two splits and times of ten iterations, counted by hand."""

import json

import numpy as np
import pandas as pd
import pytest

from reproduction.claims.results import read_results
from reproduction.experiments.text_taxonomy.evaluate import (
    TITLES,
    late_ratio,
    loss_table,
    main,
    overlap_of_tests,
    relative_slope,
    time_table,
)
from reproduction.experiments.text_taxonomy.protocol import CONTROLS, LOSSES, PUBLISHED

NAMES = PUBLISHED + CONTROLS
GIVEN = {"zero_one": [0.1, 0.2, 0.3, 0.4], "taxonomic": [1.1, 1.2, 1.3, 1.4]}


@pytest.fixture
def values():
    def splits(start):
        return {"repeats": [start, start + 0.2]}

    return {
        "loss": {loss: [splits(0.1 * i) for i in range(4)] for loss in GIVEN},
        "controls": {loss: {name: splits(0.7) for name in CONTROLS} for loss in GIVEN},
        "validation": {loss: {name: splits(0.5) for name in NAMES} for loss in GIVEN},
        "price": {loss: {name: [1.0, 3.0] for name in NAMES} for loss in GIVEN},
        "timed_posts": 100,
        "timed_iterations": 10,
    }


def trials_of(split):
    """Return trials with C = 1, 10 and 100 of all losses and covariances.

    The test loss is 0.1 times the place of the covariance, plus 1 for the taxonomic loss and 0.01 for the
    second split. C = 10 is chosen, but in the second split C = 100 for the last covariance.
    """
    rows = []
    for loss in LOSSES:
        for place, covariance in enumerate(NAMES):
            best = 100 if (split, covariance) == (1, NAMES[-1]) else 10
            test = 0.1 * place + (loss == "taxonomic") + 0.01 * split
            rows += [
                {
                    "split": split,
                    "loss": loss,
                    "covariance": covariance,
                    "C": C,
                    "validation": test / 2 + 0.3 * (best != C),
                    "gap": 0.001 * (1 + split) if best == C else 0.5,
                    "iterations": 3,
                    "zero": C == 1 and place == 0,
                    "chosen": best == C,
                    "test": test if best == C else np.nan,
                }
                for C in (1, 10, 100)
            ]
    return pd.DataFrame(rows)


@pytest.fixture
def evaluated(tmp_path):
    inputs = {
        "receipt": tmp_path / "receipt.json",
        "times": tmp_path / "times.csv",
        "forms": tmp_path / "forms.json",
        "trials": [],
        "trees": [],
    }
    inputs["receipt"].write_text('{"kind": "simulated"}')
    forms = {"iterations_to_gap": {"kronecker": 9, "cached": 9}, "memory": {"over_order": [2, 1.5]}}
    inputs["forms"].write_text(json.dumps(forms))
    for split in (1, 0):
        inputs["trials"].append(tmp_path / f"trials_{split}.csv")
        trials_of(split).to_csv(inputs["trials"][-1], index=False)
    for split in (0, 1):
        inputs["trees"].append(tmp_path / f"trees_{split}.json")
        document = {"topology_distance": 0.25 + 0.5 * split, "words": 30 + split, "posts": [6, 4, 5]}
        document["late_posts"] = 25
        inputs["trees"][-1].write_text(json.dumps(document))
    times = [
        {"form": form, "iteration": i, "seconds": seconds * i if form == "cached" else seconds, "posts": 7}
        for form, seconds in (("kronecker", 0.5), ("cached", 2.0))
        for i in range(1, 11)
    ]
    pd.DataFrame(times).to_csv(inputs["times"], index=False)
    folder = tmp_path / "text_taxonomy"
    files = ("values.json", "prices.csv", "times.csv", "trees.json")
    main(inputs, {name.split(".")[0]: folder / name for name in files})
    return read_results(folder)


def test_losses_of_two_splits(evaluated):
    values = evaluated["values"]
    assert evaluated["datasets"] == {"newsgroups20": "simulated"}
    zero_one = [entry["repeats"] for entry in values["loss"]["zero_one"]]
    assert np.array(zero_one) == pytest.approx(np.array([[0, 0.01], [0.1, 0.11], [0.2, 0.21], [0.3, 0.31]]))
    assert values["loss"]["taxonomic"][3]["repeats"] == pytest.approx([1.3, 1.31])
    assert values["controls"]["taxonomic"]["permuted"]["repeats"] == pytest.approx([1.5, 1.51])
    assert values["controls"]["zero_one"]["learned_topology"]["repeats"] == pytest.approx([0.4, 0.41])
    assert values["validation"]["taxonomic"]["learned"]["repeats"] == pytest.approx([0.55, 0.555])
    assert (values["price"]["zero_one"]["identity"], values["price"]["zero_one"]["permuted"]) == (
        [10, 10],
        [10, 100],
    )
    # Of 24 searches, those for the last covariance in the second split end at the largest C.
    assert values["price_inside"] == 22 / 24
    assert values["largest_gap"] == 0.002
    assert values["zero_weights"] == 2 * len(LOSSES)


def test_sizes_and_trees_of_two_splits(evaluated):
    values = evaluated["values"]
    assert values["topology_distance"]["repeats"] == [0.25, 0.75]
    assert (values["splits"], values["posts"], values["words"]) == (2, [6, 4, 5], [30, 31])
    assert (values["timed_posts"], values["timed_iterations"]) == (7, 10)
    assert values["iterations_to_gap"] == {"kronecker": 9, "cached": 9}
    # Five of 25 later posts are tested: 5 over the other 20.
    assert values["loss"]["zero_one"][0]["test_over_train"] == 0.25


def test_splits_that_test_all_posts_decide_nothing():
    assert overlap_of_tests([{"posts": [6, 4, 25], "late_posts": 25}]) == 25


def test_times_of_ten_iterations(evaluated):
    """Cached iterations take 2, 4, ..., 20 seconds: 2 more each, of 11 on average; the last two 18 and 20."""
    assert evaluated["timings"] == {
        "kronecker_slope": pytest.approx(0, abs=1e-12),
        "cached_slope": pytest.approx(2 / 11),
        "cached_over_kronecker": pytest.approx(19 / 0.5),
        "memory": {"over_order": [2, 1.5]},
    }


def test_the_table_has_ours_beside_the_published(values):
    table = loss_table(values, GIVEN)
    assert len(table) == 12
    row = table[(table["loss"] == "taxonomic loss") & (table["covariance"] == "H V D* V' H")].iloc[0]
    assert row["published"] == 1.3
    assert row["ours"] == pytest.approx(0.3)
    assert row["spread"] == pytest.approx(np.std([0.2, 0.4], ddof=1))
    assert row["C"] == 2.0
    assert table[table["covariance"] == TITLES["permuted"]]["published"].isna().all()


def test_sizes_and_times_as_text(values):
    table = time_table(
        values, {"kronecker_slope": 0.001, "cached_slope": 0.1, "cached_over_kronecker": 123.4}
    )
    assert list(table) == ["100", "10", "0.10 %", "10.00 %", "123"]


def test_slopes_and_ratios_of_times():
    assert relative_slope(np.full(20, 0.3)) == pytest.approx(0, abs=1e-12)
    assert relative_slope(np.arange(1.0, 4.0)) == pytest.approx(0.5)
    assert late_ratio(np.arange(1.0, 11.0), np.full(10, 0.5)) == pytest.approx(19.0)
    with pytest.raises(ValueError, match="at least 2 iterations"):
        relative_slope([1.0])
