"""The computed text of section 3.1 on numbers that were made up."""

import pandas as pd
import pytest

from reproduction.claims.results import repeated
from reproduction.experiments.joint_kernel_support.report import (
    agreement_text,
    choice_text,
    edges_text,
    locations_text,
    random_labels_text,
    settings_table,
    ssvm_text,
    times_text,
)

VALUES = {
    "noise": [0.3, 0.5, 1.0],
    "eer": {
        "ssvm": [repeated([0.1, 0.2]), repeated([0.3, 0.5]), repeated([0.6, 0.8])],
        "jkse_linear": [repeated([0.5])] * 3,
        "jkse_chi2": [repeated([0.25])] * 3,
    },
    "parameter": {"ssvm": [repeated([1, 1, 10]), repeated([0.1, 1, 1]), repeated([0.01, 0.01, 1])]},
    "labels_on_a_car": [repeated([1]), repeated([0.5]), repeated([0.1, 0.3])],
    "map_calls_per_training": repeated([1000, 2001]),
    "known_size": {
        "eer": {
            "ssvm": [repeated([0.1]), repeated([0.12]), repeated([0.5])],
            "jkse_linear": [repeated([0.43]), repeated([0.6]), repeated([0.91])],
            "jkse_chi2": [repeated([0.12]), repeated([0.14]), repeated([0.31])],
        },
        "parameter": {"ssvm": [repeated([10]), repeated([1]), repeated([0.1])]},
    },
    "locations": {
        "all": 10_000_000,
        "all_on_a_grid": 20_000,
        "known_size": 3_000,
        "searched": {"free": 400, "known": 50},
    },
    "scales": [1, 2],
    "choice": {
        "free": {
            "scales": [0, 1],
            "normalization": {"linear": "length", "chi2": "area"},
            "max_overlap": 0.1,
        },
        "known": {"scales": [1], "normalization": {"linear": "counts", "chi2": "area"}, "max_overlap": 0.5},
    },
    "at_edge": {"ssvm": 0.25, "jkse_linear": 0.5, "jkse_chi2": 0.0},
}
PUBLISHED = {"ssvm": [0.27, 0.76, 0.91], "jkse_linear": [0.43, 0.6, 0.91], "jkse_chi2": [0.12, 0.14, 0.91]}


def test_the_rise_of_the_error_and_the_medians_of_C():
    text = ssvm_text(VALUES, PUBLISHED)
    assert "With boxes of any size the error of the S-SVM changes by +25 points" in text
    assert "are 1, 1, 0.01 at $r$ = 0.3, 0.5, 1." in text
    assert "With windows of known size the error of the S-SVM changes by +2 points" in text
    assert "are 10, 1, 0.1 at" in text
    assert text.endswith("The published change is +49 points.")


def test_distances_from_the_published_errors():
    text = agreement_text(VALUES, PUBLISHED)
    # Differences of .12, .36, .21; .07, .1, .41; .13, .11, .66.
    assert "kernel 0.23, 0.19, 0.30 with boxes of any size" in text
    # Differences of .17, .64, .41; none; 0, 0, .6.
    assert "and 0.41, 0.00, 0.20 with windows of known size." in text


def test_random_labels():
    text = random_labels_text(VALUES, PUBLISHED)
    assert "20% of them" in text
    assert "0.70, 0.50, 0.25 for S-SVM" in text
    assert "(published 0.91)" in text


@pytest.mark.parametrize(("share", "expected"), [(0.2, "quadratic programs"), (0.8, "they take the larger")])
def test_what_training_time_consists_of(share, expected):
    timings = {"map_share": share, "map_call_seconds": 2e-3}
    timings |= {"ssvm_training_seconds": 12.0, "jkse_training_seconds": 0.5}
    text = times_text(VALUES, timings)
    assert "1,500 MAP calls on average, of 2.0 ms each" in text
    assert expected in text
    assert "12.0 s, the longest of JKSE with all values of $\\nu$ 0.5 s" in text


def test_numbers_of_boxes():
    text = locations_text(VALUES)
    assert "10,000,000 boxes with corners at any pixel, 20,000 with corners on the grid" in text
    assert "3,000 of the size of the cars" in text
    assert "Searched are 400 of any size and 50 of known size." in text


def test_the_choice_of_each_reading():
    free, known = choice_text(VALUES).splitlines()
    assert "Boxes of any size.* Descriptors of 1 and 2 pixels" in free
    assert "linear kernel: to length 1; χ² kernel: by the area of the box; maximum overlap 0.1." in free
    assert "Descriptors of 2 pixels" in known
    assert "linear kernel: none;" in known
    assert "maximum overlap 0.5, at the end of its grid." in known


def test_choices_at_the_ends_of_grids():
    assert "chosen in 25%, 50%, 0% of the cases for S-SVM" in edges_text(VALUES)


def test_held_out_errors_at_the_chosen_overlap():
    rows = [
        ("free", "0 1", method, "length", overlap, overlap)
        for method in ("ssvm", "jkse_linear", "jkse_chi2")
        for overlap in (0.1, 0.5)
    ]
    rows += [("known", "1", "jkse_linear", "counts", overlap, overlap) for overlap in (0.1, 0.5)]
    columns = ["reading", "scales", "method", "normalization", "max_overlap", "error"]
    table = settings_table(VALUES, pd.DataFrame(rows, columns=columns))
    assert table.columns.tolist() == ["ssvm", "jkse_linear", "jkse_chi2"]
    assert table.loc[("boxes of any size", "1 and 2", "to length 1")].tolist() == [0.1, 0.1, 0.1]
    assert table.loc[("windows of known size", "2", "none"), "jkse_linear"] == 0.5
