"""Claims are decided as written: inequalities, tolerances, uncertainty, controls, missing values."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ermlab.exceptions import DataError
from reproduction.claims.exhibits import Catalogue, Exhibit, Part, Section
from reproduction.claims.ledger import Claim, badge, check_claims, claims_document
from reproduction.claims.results import repeated, resampled

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


def test_only_the_units_of_what_is_used_count():
    values = {"x": {"used": [repeated([1, 2], "film"), repeated([3])], "not": repeated([1], "scene")}}
    row = outcome(claim(check="x.used[0] < 100"), values)
    assert (row.status, row.units) == ("reproduced", {"film": 2})
    assert outcome(claim(check="max(x.used[0:1]) < 100 and 0 < x.used[-2]"), values).units == {"film": 2}
    assert outcome(claim(check="x.used[1] < 100"), values).status == "undecided"
    published = claim(value="x.used", published=[1.5, 3], tolerance={"absolute": 9})
    assert outcome(published, values).units == {"film": 2, "seed": 1}


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
