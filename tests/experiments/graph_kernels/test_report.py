"""The computed sentences on graph kernels state the numbers they are given."""

import pytest

from reproduction.claims.results import repeated
from reproduction.experiments.fmri_studies.studies import GROUP_TITLES
from reproduction.experiments.graph_kernels.evaluate import TITLES
from reproduction.experiments.graph_kernels.report import (
    accuracies_text,
    effects_text,
    leak_text,
    sizes_text,
)


@pytest.fixture
def values():
    study = {
        "methods": {method: {"mean": 50.0 + 5 * i} for i, method in enumerate(TITLES)},
        "permuted": {
            method: {"p": 0.3 - 0.05 * i, "permuted": 48.0 + i, "leak": 80.0 + i}
            for i, method in enumerate(TITLES)
        },
        "people": [16, 17],
        "sizes": {"elastic_net": {"voxels": 140.6, "least_voxels": 4, "most_voxels": 638}},
    }
    net = [repeated([50, 60]), repeated([80, 84]), repeated([100, 100])]
    pyramid = [repeated([60, 50]), repeated([90, 95]), repeated([90, 90])]
    return {
        "studies": dict.fromkeys(GROUP_TITLES, study),
        "effects": {
            "sizes": [0.3, 0.9, 1.8],
            "accuracy": {"elastic_net": net, "wl_pyramid": pyramid},
        },
    }


def test_accuracies_and_their_tests(values):
    datasets = {"drug_stroop": "simulated", "wager2008_contrasts": "real"}
    stroop, wager = accuracies_text(values, datasets).splitlines()
    assert "(simulated data): the four methods are right in 50 to 65 % of the cases" in stroop
    assert "is 0.15." in stroop
    assert "(real data)" in wager


def test_the_leak(values):
    assert "elastic net, voxels 49 to 81 %" in leak_text(values).splitlines()[0]


def test_sizes_of_graphs(values):
    text = sizes_text(values)
    assert "141 voxels on average, from 4 to 638" in text
    assert "below 1/26, 3.8 %" in text


def test_where_the_pyramid_is_ahead(values):
    # Gains of 0 +- 10, of 10.5 +- .5 and of -10.
    text = effects_text(values)
    assert "at least 70 % of the cases from 0.9 % on." in text
    assert text.endswith("by more than two standard errors at 0.9 %.")
    values["effects"]["accuracy"]["wl_pyramid"] = values["effects"]["accuracy"]["elastic_net"]
    assert "At no difference is the WL pyramid ahead" in effects_text(values)
    values["effects"]["accuracy"]["elastic_net"] = [repeated([50.0])] * 3
    assert "at no difference of the sweep" in effects_text(values)
