"""The computed sentences on the k-support norm state the numbers they are given."""

import pytest

from reproduction.claims.results import repeated
from reproduction.experiments.fmri_studies.studies import GROUP_TITLES
from reproduction.experiments.ksupport.evaluate import PROTOCOLS, STUDIES, TITLES
from reproduction.experiments.ksupport.report import clusters_text, control_text, edges_text, order_text


@pytest.fixture
def values():
    summary = {
        "_".join(key): {method: {"best": 0.1 * i, "best_at_edge": False} for i, method in enumerate(TITLES)}
        for key in PROTOCOLS
    }
    nested = {method: repeated([0.1 * i, 0.1 * i + 0.2]) for i, method in enumerate(TITLES)}
    maps = {
        "chosen": {"ksupport": {"shape": 80.0}},
        "mean_size": {"lasso": repeated([1.0, 2.0]), "ksupport": repeated([4.0, 6.0])},
        "correlation": {"lasso": repeated([0.1]), "ksupport": repeated([0.25])},
    }
    return {
        "correlations": summary,
        **{f"reversed_{name}": dict.fromkeys(TITLES, repeated([0.4, 0.6])) for name in ("fair", "permuted")},
        "nested_correlation": dict.fromkeys(STUDIES, nested),
        "maps": dict.fromkeys(GROUP_TITLES, maps),
    }


def test_target_and_reversed_target(values):
    fair, permuted = control_text(values).splitlines()
    assert "reach 0.10 in the mean for the target, and 0.50 for the reversed" in fair
    assert permuted.startswith("- *volumes permuted, as published*")


def test_methods_are_listed_from_the_best(values):
    first, *_ = lines = order_text(values).splitlines()
    assert first == "- *film* (2 splits): k-support norm 0.30, elastic net 0.20, LASSO 0.10."
    assert len(lines) == len(STUDIES)


def test_models_at_an_edge_are_named(values):
    assert edges_text(values).startswith("No best model")
    values["correlations"]["haxby_fair"]["lasso"]["best_at_edge"] = True
    assert "Of 15 best models, 1 lie at an edge" in edges_text(values)
    assert "(Haxby slice, whole runs: LASSO)" in edges_text(values)


def test_clusters_of_both_methods(values):
    line = clusters_text(values).splitlines()[0]
    assert line.startswith("- *drug Stroop*: k = 80 is chosen.")
    assert "have 5.0 voxels in the mean, those of the LASSO 1.5" in line
    assert "a correlation of 0.25 and 0.10" in line
