"""Claims are decided as written: inequalities, tolerances, spread, missing values; and every row is sound."""

import copy
import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ermlab.exceptions import DataError
from reproduction.claims.check import main as check
from reproduction.claims.exhibits import Catalogue, Exhibit, Part, Section, load_exhibits
from reproduction.claims.ledger import Claim, badge, check_claims, claims_document, load_claims
from reproduction.claims.results import read_json, repeated, resampled, write_results

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


CATALOGUE = Catalogue(
    parts=(Part("one", "Part one"),),
    sections=(
        Section("first", "one", "First", "Built.", notebook="10_first", experiments=("cars",)),
        Section("second", "one", "Second", "To come."),
    ),
    exhibits=(
        Exhibit("T-tab-1.1", "first", "table", "A table", "1 2"),
        Exhibit("T-tab-1.2", "second", "table", "Another", "1 2"),
    ),
)


def claim(**fields):
    row = {"id": "T-tab-1.1.claim", "exhibit": "T-tab-1.1", "text": "It holds.", "source": "the thesis"}
    return Claim(**{**row, "experiment": "cars", **fields})


def results(values, datasets=None, timings=None):
    return {"experiment": "cars", "datasets": datasets or {}, "values": values, "timings": timings or {}}


def outcome(claim, values, **more):
    return check_claims([claim], CATALOGUE, {"cars": results(values, **more)})[0]


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


# ----------------------------------- how they are decided


def test_an_inequality_decides():
    row = claim(check="ours < theirs", show=("theirs - ours",))
    assert outcome(row, {"ours": 1, "theirs": 2}).status == "reproduced"
    assert outcome(row, {"ours": 2, "theirs": 2}).status == "not reproduced"
    assert outcome(row, {"ours": 1, "theirs": 3}).ours == {"theirs - ours": 2}


@given(
    published=st.floats(-100, 100),
    distance=st.floats(-3, 3).filter(lambda d: abs(abs(d) - 1) > 1e-6),
    kind=st.sampled_from(["absolute", "relative"]),
    tolerance=st.floats(0.01, 10),
)
def test_tolerance_is_absolute_or_relative_to_the_published_value(published, distance, kind, tolerance):
    allowed = tolerance * (abs(published) if kind == "relative" else 1)
    if 0 < allowed < 1e-6:
        return
    row = claim(value="x", published=published, tolerance={kind: tolerance})
    within = abs(distance) < 1 or allowed == 0
    assert outcome(row, {"x": published + distance * allowed}).status == (
        "reproduced" if within else "not reproduced"
    )


def test_every_published_number_must_be_met():
    row = claim(value="eer", published={"a": [0.1, 0.2], "b": 0.3}, tolerance={"absolute": 0.01})
    good = {"a": [0.105, 0.195], "b": 0.3, "more": 9}
    assert outcome(row, {"eer": good}).status == "reproduced"
    assert outcome(row, {"eer": {**good, "a": [0.105, 0.215]}}).status == "not reproduced"
    assert outcome(row, {"eer": {**good, "b": 0.32}}).status == "not reproduced"


def t_interval(repeats, variance_factor=None):
    """The 95 % interval of a mean by Student's t."""
    n = len(repeats)
    scale = np.std(repeats, ddof=1) * np.sqrt(variance_factor or 1 / n)
    return stats.t.interval(0.95, n - 1, loc=np.mean(repeats), scale=scale)


def test_repeats_are_averaged_and_their_intervals_reported():
    repeats = [1.0, 2.0, 4.5]
    values = {"x": repeated(repeats), "table": {"a": [repeated(repeats), repeated([0, 0, 0])]}, "y": 5}
    row = outcome(claim(check="x < 30 and table.a[0] < 30", show=("x", "table", "y - x", "y")), values)
    assert (row.status, row.units) == ("reproduced", {"seed": 3})
    assert row.ours == {"x": 2.5, "table": {"a": [2.5, 0.0]}, "y - x": 2.5, "y": 5}
    low, high = t_interval(repeats)
    assert set(row.intervals) == {"x", "table", "y - x"}
    assert row.intervals["x"] == pytest.approx({"low": low, "high": high}, abs=0.25)
    assert row.intervals["table"]["low"] == {"a": [pytest.approx(low, abs=0.25), 0.0]}
    assert row.intervals["y - x"]["high"] == pytest.approx(5 - low, abs=0.25)


def repeats_with(mean, sd, n):
    """Measurements whose mean and standard deviation are exactly these."""
    deviations = np.arange(n) - (n - 1) / 2
    return mean + sd * deviations / np.std(deviations, ddof=1)


@pytest.mark.parametrize("n", [2, 5, 20])
@pytest.mark.parametrize("t", [-3.0, -1.0, 0.5, 2.0])
def test_probability_is_that_of_a_t_test(n, t):
    values = {"x": repeated(repeats_with(t / np.sqrt(n), 1.0, n))}
    row = outcome(claim(check="x > 0"), values)
    assert row.probability == pytest.approx(stats.t.cdf(t, n - 1), abs=0.015)
    p = stats.ttest_1samp(values["x"]["repeats"], 0, alternative="greater").pvalue
    assert row.probability == pytest.approx(1 - p, abs=0.015)


def test_differences_over_the_same_units_are_paired():
    rng = np.random.default_rng(0)
    film = rng.normal(0, 10, 8)
    better = film - 0.5 + rng.normal(0, 0.1, 8)
    row = outcome(claim(check="a < b"), {"a": repeated(better, "film"), "b": repeated(film, "film")})
    assert (row.status, row.units) == ("reproduced", {"film": 8})
    row = outcome(claim(check="a < b"), {"a": repeated(better, "film"), "b": repeated(film, "seed")})
    assert row.status == "undecided"
    assert 0.4 < row.probability < 0.7


def test_overlapping_splits_widen_the_interval():
    repeats = repeats_with(1.0, 1.0, 10)
    plain, corrected = (repeated(repeats, "split", test_over_train=ratio) for ratio in (0.0, 0.5))
    row = outcome(claim(check="x > 0 and y > 0", show=("x", "y")), {"x": plain, "y": corrected})
    for name, factor in (("x", 0.1), ("y", 0.6)):
        low, high = t_interval(repeats, factor)
        assert row.intervals[name] == pytest.approx({"low": low, "high": high}, abs=0.08)


@pytest.mark.parametrize(
    ("mean", "status"), [(5.0, "reproduced"), (-5.0, "not reproduced"), (0.1, "undecided")]
)
def test_the_interval_decides(mean, status):
    assert outcome(claim(check="x > 0"), {"x": repeated(repeats_with(mean, 1.0, 6))}).status == status


def test_a_tolerance_must_hold_for_the_whole_interval():
    row = claim(value="x", published=1.0, tolerance={"absolute": 0.5})
    assert outcome(row, {"x": repeated(repeats_with(1.1, 0.1, 5))}).status == "reproduced"
    assert outcome(row, {"x": repeated(repeats_with(1.4, 0.5, 5))}).status == "undecided"
    assert outcome(row, {"x": repeated(repeats_with(2.4, 0.1, 5))}).status == "not reproduced"


def test_bootstrap_draws_decide_and_are_paired():
    rng = np.random.default_rng(0)
    common = rng.normal(size=500)
    values = {"a": resampled(0.5, 0.5 + common, "scene", 4), "b": resampled(0.6, 0.6 + common, "scene", 4)}
    row = outcome(claim(check="a < b", show=("a", "b - a")), values)
    assert (row.status, row.probability, row.units) == ("reproduced", 1.0, {"scene": 4})
    assert row.ours == {"a": 0.5, "b - a": pytest.approx(0.1)}
    assert row.intervals["a"]["low"] == pytest.approx(np.quantile(0.5 + common, 0.025), abs=0.01)
    assert outcome(claim(check="a < 0.5"), values).status == "undecided"


def test_one_measurement_decides_nothing():
    row = outcome(claim(check="x == 1", show=("x",)), {"x": repeated([1], "film")})
    assert (row.status, row.intervals, row.probability) == ("undecided", {}, None)
    assert row.reason == "one film only, so that the spread is unknown"


def test_results_that_are_certain_have_no_probability():
    row = outcome(claim(check="x == 1", show=("x",)), {"x": 1})
    assert (row.status, row.intervals, row.probability, row.units) == ("reproduced", {}, None, {})


def test_a_claim_is_undecided_if_its_control_fails():
    control = claim(id="T-tab-1.1.control", check="chance > 0.5", control=True)
    rows = [control, claim(check="x > 0", requires=("T-tab-1.1.control",))]
    for chance, x, status in ((1, 1, "reproduced"), (1, -1, "not reproduced"), (0, 1, "undecided")):
        found = check_claims(rows, CATALOGUE, {"cars": results({"chance": chance, "x": x})})
        assert found[1].status == status
    assert found[1].reason == "a control that the claim requires does not hold: T-tab-1.1.control"
    document = claims_document(found)
    assert [row["id"] for row in document["controls"]] == ["T-tab-1.1.control"]
    assert document["counts"]["undecided"] == 1
    assert sum(document["counts"].values()) == 1


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"check": "z > 0"}, "cars: there is no 'z' in the results"),
        ({"check": "x.b > 0"}, "cars: there is no 'b' in x"),
        ({"check": "x.a[5] > 0"}, "cars: x.a has 2 elements"),
        ({"check": "empty > 0"}, "cars: a repeated value has no measurement"),
        ({"check": "timings.seconds < 1"}, "cars: there is no 'seconds' in timings"),
        ({"value": "x", "published": {"b": 1}, "tolerance": {"absolute": 1}}, "cars: there is no 'b' in x"),
        (
            {"value": "x", "published": {"a": [9, 9, 9]}, "tolerance": {"absolute": 1}},
            r"cars: x.a has shape \(2,\), \(3,\) is published",
        ),
    ],
)
def test_missing_values_leave_a_claim_untested(fields, reason):
    values = {"x": {"a": [1, 2]}}
    if "empty" in str(fields):
        values["empty"] = repeated([])
    row = outcome(claim(**fields), values)
    assert row.status == "not tested"
    assert re.match(reason, row.reason)


def test_reasons_without_results():
    rows = check_claims(
        [claim(check="x > 0"), claim(check="x > 0", exhibit="T-tab-1.2"), claim(reason="no such data")],
        CATALOGUE,
        {},
    )
    assert [row.reason for row in rows] == [
        "the experiment cars has no results in this run",
        "section not built yet",
        "no such data",
    ]
    assert {row.status for row in rows} == {"not tested"}


def test_a_claim_that_cannot_be_tested_still_shows_ours():
    row = outcome(claim(reason="private data", published=[1, 2], show=("x", "missing")), {"x": [3, 4]})
    assert (row.status, row.reason, row.ours) == ("not tested", "private data", {"x": [3, 4]})


def test_seconds_decide_but_are_not_written_down():
    row = outcome(claim(check="timings.seconds < 1"), {}, timings={"seconds": 0.5})
    assert (row.status, row.ours) == ("reproduced", {})


@pytest.mark.parametrize(
    ("check", "message"),
    [("x + 1", "is not one truth value"), ("x < y", "do not match"), ("x / 0 > 1", "cannot be computed")],
)
def test_a_check_that_makes_no_sense_names_the_claim(check, message):
    with pytest.raises(ValueError, match=f"claim T-tab-1.1.claim: .*{message}"):
        outcome(claim(check=check), {"x": [1, 2], "y": [1, 2, 3]})


def test_badges():
    assert badge({}) == "no data"
    assert badge({"cars": "real", "cats": "real"}) == "real data"
    assert badge({"cars": "real", "cats": "simulated"}) == "simulated data"
    row = outcome(claim(check="x > 0"), {"x": 1}, datasets={"cars": "real"})
    assert (row.badge, row.datasets) == ("real data", {"cars": "real"})


def test_a_claim_may_name_the_data_sets_it_rests_on():
    kinds = {"cars": "real", "cats": "simulated"}
    some = outcome(claim(check="x > 0", datasets=("cars",)), {"x": 1}, datasets=kinds)
    assert (some.badge, some.datasets) == ("real data", {"cars": "real"})
    assert outcome(claim(check="x > 0", datasets=()), {"x": 1}, datasets=kinds).badge == "no data"
    with pytest.raises(DataError, match="do not use 'dogs'"):
        outcome(claim(check="x > 0", datasets=("dogs",)), {"x": 1}, datasets=kinds)


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
