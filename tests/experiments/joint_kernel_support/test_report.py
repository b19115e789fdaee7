"""The computed text of section 3.1 on numbers that were made up."""

import pandas as pd
import pytest

from reproduction.claims.results import repeated
from reproduction.experiments.joint_kernel_support.report import (
    random_labels_text,
    settings_text,
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
}
PUBLISHED = {"ssvm": [0.27, 0.76, 0.91], "jkse_linear": [0.43, 0.6, 0.91], "jkse_chi2": [0.12, 0.14, 0.91]}


def test_the_rise_of_the_error_and_the_medians_of_C():
    text = ssvm_text(VALUES, PUBLISHED)
    assert "changes by +25 points (published +49)" in text
    assert "are 1, 1, 0.01 at $r$ = 0.3, 0.5, 1." in text


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


def variants(alternative):
    """Errors of the settings used, .1 and .3, and of an alternative; free windows do not count."""
    rows = [("unit", 0.1, "known", 0.1), ("unit", 0.1, "known", 0.3), ("unit", 0.1, "free", 0.9)]
    rows += [("area", 0.1, "known", alternative), ("area", 0.1, "free", 0.0)]
    table = pd.DataFrame(rows, columns=["normalisation", "max_overlap", "search", "held_out_error"])
    return table.assign(levels="1 2")


def test_settings_that_held_out_images_agree_with():
    assert "held-out error of 0.20" in settings_text(variants(0.4))
    assert "no alternative has a lower one (from 0.40 on)" in settings_text(variants(0.4))


def test_settings_with_a_better_alternative():
    expected = "lower ones are those of scaling area, levels 1 2, overlap 0.1: 0.15"
    assert expected in settings_text(variants(0.15))
