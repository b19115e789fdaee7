"""Every row of the ledger is sound, and broken files are refused."""

import copy
import json
from pathlib import Path

import pytest
import yaml

from ermlab.exceptions import DataError
from reproduction.claims.check import main as check
from reproduction.claims.exhibits import load_exhibits
from reproduction.claims.ledger import check_claims, claims_document, load_claims
from reproduction.claims.results import read_json, repeated, write_results

ROOT = Path(__file__).parents[3]
SCHEMA = ROOT / "workflow/schemas/claims.schema.yaml"

# What the built experiments write, agreed between the claims and the experiments.
BUILT_VALUES = {
    "structured_losses": """margin_minus_step_min slack_minus_step_min
        distance_from_delta_at_margin_point convexity_violation""",
    "ranking_bounds": """slack_minus_margin_sigma_half_max slack_minus_margin_sigma_two_min
        slack_minus_margin_sigma_one_abs_max violation_share_max quantile_over_bound_max
        stability_ratio_max""",
    "vicinal_risk": """lemma_violations trials bound_over_plain training_violations training_bound
        test_risk""",
    "cccp_precision": """bounds_fixed bounds_adaptive objective_fixed objective_adaptive
        bounds_fixed_recycled bounds_adaptive_recycled objective_fixed_recycled
        objective_adaptive_recycled optimum iterations_reached bounds_reached bounds_more_weights
        algorithm_end_difference algorithm_bounds_ratio""",
    "partial_bound": """deviation_rate excess_rate excess_first_last monte_carlo_violations
        monte_carlo_trials""",
}
#: Those that are not single numbers.
BUILT_MAPPINGS = {
    "test_risk": {"step": 1, "plain": 1},
    "violation_share_max": {"slack": 0, "margin": 0},
    "quantile_over_bound_max": {"slack": 0.5, "margin": 0.5},
    "iterations_reached": dict.fromkeys(("fixed", "adaptive", "fixed_recycled", "adaptive_recycled"), 1),
    "bounds_reached": dict.fromkeys(("fixed", "adaptive", "fixed_recycled", "adaptive_recycled"), 1),
    "bounds_more_weights": {"fixed_recycled": 1, "adaptive_recycled": 1},
    "excess_first_last": [1, 1],
}


@pytest.fixture(scope="module")
def claims():
    return load_claims(ROOT / "config/claims.yaml")


@pytest.fixture(scope="module")
def exhibits():
    return load_exhibits(ROOT / "config/exhibits.yaml")


def results(values, datasets=None, timings=None):
    return {"experiment": "cars", "datasets": datasets or {}, "values": values, "timings": timings or {}}


# ----------------------------------- the rows themselves


def test_every_claim_names_an_exhibit_and_starts_with_its_id(claims, exhibits):
    for row in claims:
        assert row.id.startswith(exhibits.exhibit(row.exhibit).id + "."), row.id


def test_claims_follow_the_exhibits(claims, exhibits):
    order = [exhibit.id for exhibit in exhibits.exhibits]
    positions = [order.index(row.exhibit) for row in claims]
    assert positions == sorted(positions)


def test_every_exhibit_with_a_statement_has_a_claim(claims, exhibits):
    silent = {exhibit.id for exhibit in exhibits.exhibits} - {row.exhibit for row in claims}
    assert silent == {"T-fig-3.1"}  # a picture of which the text claims nothing that can be measured


def test_claims_of_built_sections_use_their_experiments(claims, exhibits):
    for row in claims:
        section = exhibits.section_of(row.exhibit)
        assert not section.built or row.experiment in section.experiments, row.id


def test_first_experiments_write_exactly_what_their_claims_need(claims):
    for experiment, names in BUILT_VALUES.items():
        needed = set().union(*(row.names for row in claims if row.experiment == experiment))
        assert needed == set(names.split()), experiment


def test_checks_of_first_experiments_can_be_evaluated(claims, exhibits):
    everything = {
        experiment: {
            **results({name: BUILT_MAPPINGS.get(name, 1) for name in names.split()}),
            "experiment": experiment,
        }
        for experiment, names in BUILT_VALUES.items()
    }
    for row in check_claims(claims, exhibits, everything):
        if row.experiment in everything:
            assert row.status != "not tested", (row.id, row.reason)


def test_without_results_nothing_is_tested_and_each_row_says_why(claims, exhibits):
    document = claims_document(check_claims(claims, exhibits, {}))
    published = [row for row in claims if not row.control]
    counts = {"reproduced": 0, "not reproduced": 0, "undecided": 0, "not tested": len(published)}
    assert document["counts"] == counts
    rows = document["claims"] + document["controls"]
    assert len(rows) == len(claims)
    assert all(row["reason"] and row["badge"] is None for row in rows)


PUBLISHED_RESULTS = {
    "joint_kernel_support": {"T-tab-3.1.values": "eer"},
    "detection_strategies": {
        "T-tab-5.1.values": "resets",
        "T-tab-5.2.all-reset-values": "all_reset_ratio",
        "T-tab-5.2.no-reset-values": "no_reset_ratio",
    },
    "text_taxonomy": {"T-tab-5.4.values": "loss"},
    "pedestrians": {"E-fig-3.values": "eer"},
    "tracking": {"C-tab-1.1.values": "loss"},
}


def data_of(claims):
    """Return the data sets that the claims name."""
    return {name: "simulated" for row in claims for name in row.datasets or ()}


@pytest.mark.parametrize("experiment", PUBLISHED_RESULTS)
def test_published_tables_meet_the_claims_made_of_them(claims, exhibits, experiment):
    by_id = {row.id: row for row in claims}
    values = {name: by_id[id].published for id, name in PUBLISHED_RESULTS[experiment].items()}
    own = [row for row in claims if row.experiment == experiment]
    rows = check_claims(own, exhibits, {experiment: results(values, data_of(own))})
    tested = [row for row in rows if row.status != "not tested"]
    assert tested
    assert [row.id for row in tested if row.status != "reproduced"] == []


def test_published_numbers_of_chapter_4_meet_their_claims(claims, exhibits):
    published = {row.id: row.published for row in claims}
    film = published["T-fig-4.6.values"]
    # The accuracy of the elastic net follows from the reduction of its error by more than 14 %.
    heights = published["T-tab-4.5.values"]
    accuracy = {"wl_pyramid": heights[2], "elastic_net": 58.0, "gaussian_ridge": 54.0, "combined": 63.0}
    table, sets = published["T-tab-4.1.values"], published["T-tab-4.3.values"]
    values = {
        "laplacian_kcca": {
            "correlation_cv": table,
            "correlation_spectral": published["T-tab-4.2.values"],
            "correlation_multivariate": sets,
            "worse": {"exp2": 0, "exp3": 0, "sets": 0},
        },
        "ksupport": {
            "nested_correlation": {"film": film},
            "nested_nonzeros": {"film": published["T-fig-4.6.lasso-sparser"]},
            "laplacian_correlation": table["exp3"][1],
        },
        "graph_kernels": {
            "accuracy_by_height": heights,
            "accuracy": accuracy,
            "counts": published["T-fig-4.9.sizes"],
        },
        "weisfeiler_lehman": {"accuracy": {"MUTAG": 82.05, "ENZYMES": 52.22}},
    }
    for experiment, found in values.items():
        own = [row for row in claims if row.experiment == experiment]
        rows = check_claims(own, exhibits, {experiment: results(found, data_of(own))})
        tested = [row for row in rows if row.status != "not tested"]
        assert len(tested) > 1
        assert [row.id for row in tested if row.status != "reproduced"] == []


def test_published_active_learning_meets_its_claims(claims, exhibits):
    published = next(row.published for row in claims if row.id == "C-tab-1.3.values")
    own = [row for row in claims if row.exhibit == "C-tab-1.3"]
    rows = check_claims(own, exhibits, {"active_learning": results(published, data_of(own))})
    # The table has neither its own values to compare with nor a column for a tenth of the data.
    assert [row.status for row in rows] == ["not tested", *["reproduced"] * 3, "not tested"]


# ----------------------------------- broken files

SMALL = {
    "values": {"cars": {"x": "a number", "timings.seconds": "a time"}},
    "claims": [
        {
            "id": "T-tab-1.1.holds",
            "exhibit": "T-tab-1.1",
            "text": "It holds.",
            "source": "thesis",
            "experiment": "cars",
            "check": "x > 0",
        }
    ],
}


def write(tmp_path, **change):
    document = copy.deepcopy(SMALL)
    document["claims"][0].update(change)
    document["claims"][0] = {name: item for name, item in document["claims"][0].items() if item is not None}
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def test_a_sound_file_is_read(tmp_path):
    (row,) = load_claims(write(tmp_path, show=["x"]), SCHEMA)
    assert (row.id, row.show, row.names) == ("T-tab-1.1.holds", ("x",), {"x"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"check": None}, "exactly one of check, value"),
        ({"reason": "no data"}, "exactly one of check, value"),
        ({"check": None, "value": "x", "tolerance": {"absolute": 1}}, "exactly one of check, value"),
        ({"tolerance": {"absolute": 1}}, "exactly one of check, value"),
        (
            {"check": None, "value": "x", "published": 1, "tolerance": {"absolute": -1}},
            "T-tab-1.1.holds tolerance absolute: -1 is less than the minimum",
        ),
        (
            {"check": None, "value": "x", "published": 1, "tolerance": {"absolute": 1, "relative": 1}},
            "T-tab-1.1.holds tolerance: .* too many properties",
        ),
        ({"text": None}, "T-tab-1.1.holds: 'text' is a required property"),
        ({"cheque": "x > 0"}, "T-tab-1.1.holds: cheque is not a known key"),
        ({"id": "holds"}, "such as T-tab-3.1.chi2-beats-both; got 'holds'"),
        ({"check": "x >"}, "claim T-tab-1.1.holds: 'x >' is not an expression"),
        ({"check": "x.__class__ > 0"}, "claim T-tab-1.1.holds: .*underscore"),
        ({"check": "y > 0"}, "claim T-tab-1.1.holds: `values` of cars does not describe 'y'"),
        ({"experiment": "cats"}, "claim T-tab-1.1.holds: `values` does not describe the experiment 'cats'"),
        ({"show": ["timings.seconds"]}, "claim T-tab-1.1.holds: `show` has 'timings.seconds'"),
        ({"requires": ["T-tab-1.1.holds"]}, "claim T-tab-1.1.holds: it requires 'T-tab-1.1.holds', which"),
        ({"control": False}, "T-tab-1.1.holds control: "),
    ],
)
def test_a_broken_claim_is_named_in_one_line(tmp_path, change, message):
    with pytest.raises(DataError, match=message) as caught:
        load_claims(write(tmp_path, **change), SCHEMA)
    assert "claims.yaml: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_claims_with_one_id_are_refused(tmp_path):
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump({**SMALL, "claims": SMALL["claims"] * 2}))
    with pytest.raises(DataError, match=r"claim T-tab-1\.1\.holds: this id is given twice"):
        load_claims(path, SCHEMA)


# ----------------------------------- the workflow's script


def test_the_script_writes_the_same_bytes_each_time(tmp_path):
    values = {name: repeated([0.0, 0.0]) for name in BUILT_VALUES["structured_losses"].split()}
    write_results(tmp_path / "structured_losses", values)
    paths = [str(tmp_path / "structured_losses/values.json")]
    outputs = [tmp_path / "one.json", tmp_path / "two.json"]
    for output in outputs:
        inputs = {"claims": ROOT / "config/claims.yaml", "exhibits": ROOT / "config/exhibits.yaml"}
        check({**inputs, "results": paths}, {"claims": output})
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    document = read_json(outputs[0])
    assert document["counts"]["reproduced"] == 4
    assert sum(document["counts"].values()) == len(document["claims"])
    row = next(row for row in document["claims"] if row["id"] == "T-fig-2.1.margin-bounds-step")
    assert row["intervals"] == {"margin_minus_step_min": {"low": 0.0, "high": 0.0}}
    assert json.dumps(document)
