"""The computed sentences on Laplacian KCCA state the numbers they are given."""

import pandas as pd
import pytest

from reproduction.claims.results import repeated
from reproduction.experiments.laplacian_kcca.report import (
    choices_text,
    experiments_text,
    maps_text,
    permuted_text,
    sizes_text,
    sweep_text,
)

EXPERIMENTS = ("exp1", "exp1_matched", "exp2", "exp3", "exp3_centred")


def correlations(shift=0.0):
    """Experiment i has 0.1 i and 0.1 i + 0.2 for two outputs."""
    return {
        name: [repeated([0.1 * i + shift, 0.1 * i + shift]), repeated([0.1 * i + 0.1, 0.1 * i + 0.3])]
        for i, name in enumerate(EXPERIMENTS)
    }


@pytest.fixture
def values():
    edges = {"exp2": {"gamma at its least": 0.25}, "exp3": {"gamma at its least": 0.5}}
    return {
        "correlation_cv": correlations(),
        "correlation_permuted": correlations(0.5),
        "haxby": {"correlation_cv": correlations(-0.3), "correlation_permuted": correlations(0.1)},
        "no_signal": {"exp1": repeated([0.1, -0.1, 0.3], "stretch")},
        "at_edge": {"folds": edges, "spectrum": edges},
        "target_share": {"faces": [repeated([0.02]), repeated([0.04, 0.06]), repeated([0.01])]},
        "target_chance": {"faces": 0.01},
    }


def test_sizes_with_and_without_signal(values):
    text = sizes_text(values, [0.17, 0.365])
    assert "0.00 to 0.20 in experiment 1" in text
    assert "0.17 to 0.36 in experiment 3" in text
    assert "the mean is 0.10 over 3 stretches, with a standard deviation of 0.20" in text
    del values["no_signal"]
    assert "without a response" not in sizes_text(values, [0.1])


def test_differences_of_experiments_and_controls(values):
    films, pictures = experiments_text(values).splitlines()[-2:]
    assert films.startswith("- *films*: 0.100, 0.300 and 0.400 in experiments")
    assert films.count("at most 0.100") == 2
    assert pictures.startswith("- *pictures*: -0.050, 0.150 and 0.250")


def test_choices_permuted_volumes_and_maps(values):
    assert "25 % (experiment 2) and 50 % (experiment 3)" in choices_text(values)
    text = permuted_text(values)
    assert "is 0.35 for the films instead of 0.10, and 0.15 for the pictures instead of -0.05" in text
    assert "is 1.0 to 5.0 times the share" in maps_text(values)


def test_gains_of_scenarios():
    sweep = pd.DataFrame(
        [
            {"scenario": name, "signal": 1.0, "sharing": 0.8, "seed": 0, "experiment": e, "output": "motion"}
            | {"correlation": 0.5 + gain}
            for name in ("main", "strong")
            for e, gain in (("exp1", 0.0), ("exp2", 0.1), ("exp3", -0.02))
        ]
    )
    assert sweep_text(sweep).endswith("by scenario: -0.020 (main), -0.020 (strong).")
