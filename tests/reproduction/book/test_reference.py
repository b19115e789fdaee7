"""The reference run keeps what pages and comparisons need, and differences are found where intervals part."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from reproduction.acquire.registry import load_registry
from reproduction.book.compare_reference import report
from reproduction.book.write_reference import new_reference, why_not, with_tables
from reproduction.claims.exhibits import Catalogue, Exhibit, Part, Section, load_exhibits
from reproduction.claims.ledger import Claim, check_claims
from reproduction.claims.reference import (
    compare,
    read_references,
    reference_document,
    reference_path,
    results_tables,
)
from reproduction.claims.results import repeated

ROOT = Path(__file__).parents[3]
CATALOGUE = Catalogue(
    parts=(Part("one", "Chapter one"), Part("two", "Chapter two")),
    sections=(Section("first", "one", "First", "Built.", notebook="10_first", experiments=("cars",)),),
    exhibits=(Exhibit("T-tab-1.1", "first", "table", "A table", "1 2"),),
)
PROVENANCE = {"code": {"commit": "0" * 40, "dirty": False}, "scale": "demo", "packages": {"a": "1"}}
CLAIMS = (
    Claim("T-tab-1.1.x", "T-tab-1.1", "X.", "thesis", "cars", check="x > 0", show=("x", "table")),
    Claim(
        "T-tab-1.1.c",
        "T-tab-1.1",
        "C.",
        "control",
        "cars",
        check="certain == 3",
        control=True,
        show=("certain",),
    ),
)


def run(x, certain=3, entry=(1.0, 1.2, 1.1)):
    values = {"x": repeated(x), "certain": certain, "table": {"a": [repeated(entry), 2.0]}, "unused": 7}
    results = {"cars": {"experiment": "cars", "datasets": {"cars": "real"}, "values": values, "timings": {}}}
    rows = check_claims(CLAIMS, CATALOGUE, results)
    return rows, results


def reference(x=(1.0, 1.1, 0.9)):
    rows, results = run(x)
    document = reference_document(map(asdict, rows), ["first"], PROVENANCE, CLAIMS, results)
    return json.loads(json.dumps(document))


def differences(rows):
    return [(found.claim, found.what) for found in compare(reference(), map(asdict, rows))]


def test_the_reference_has_verdicts_and_values_with_their_repeats():
    document = reference()
    assert document["claims"]["T-tab-1.1.x"]["status"] == "reproduced"
    assert document["claims"]["T-tab-1.1.c"]["control"] is True
    assert document["values"]["cars"]["x"] == {"repeats": [1.0, 1.1, 0.9]}
    assert "unused" not in document["values"]["cars"]
    assert document["sections"] == {"first": "0" * 40}


def test_the_same_run_does_not_differ():
    assert differences(run((1.0, 1.1, 0.9))[0]) == []


def test_values_within_their_intervals_do_not_differ():
    assert differences(run((1.05, 1.2, 0.92))[0]) == []


def test_values_and_verdicts_that_differ_are_named():
    assert differences(run((-9.0, -9.1, -8.9))[0]) == [("T-tab-1.1.x", "verdict"), ("T-tab-1.1.x", "x")]
    assert differences(run((1.0, 1.1, 0.9), entry=(7.0, 7.1, 7.2))[0]) == [("T-tab-1.1.x", "table.a[0]")]


def test_certain_values_must_be_the_same():
    assert differences(run((1.0, 1.1, 0.9), certain=3 + 1e-9)[0]) == [("T-tab-1.1.c", "verdict")]
    found = differences(run((1.0, 1.1, 0.9), certain=4)[0])
    assert found == [("T-tab-1.1.c", "verdict"), ("T-tab-1.1.c", "certain")]


def test_claims_without_results_or_reference_are_left_out():
    rows = check_claims(CLAIMS, CATALOGUE, {})
    assert compare(reference(), map(asdict, rows)) == []
    assert compare({"claims": {}}, map(asdict, run((-9.0, -9.1, -8.9))[0])) == []


def test_the_report_has_one_line_per_difference():
    found = compare(reference(), map(asdict, run((-9.0, -9.1, -8.9))[0]))
    lines = report(found, 2, "demo").splitlines()
    assert lines[1] == "T-tab-1.1.x: verdict: not reproduced (reference: reproduced)"
    assert lines[2].startswith("T-tab-1.1.x: x: -9.")
    assert lines[-1] == "2 differences beyond the 95 % intervals"


def test_the_table_counts_by_chapter():
    lines = results_tables(reference(), CATALOGUE).splitlines()
    assert lines[2:4] == ["| Chapter one | 1 | 1 | 0 | 0 | 0 | 1 |", "| all | 1 | 1 | 0 | 0 | 0 | 1 |"]
    assert lines[5] == "| tested | reproduced | not reproduced | undecided | not tested |"
    assert lines[7:] == ["| as in the source | 1 | 0 | 0 | 0 |"]


def test_the_readme_has_one_place_for_the_table():
    text = "before\n<!-- reference run -->\nold\n<!-- end of reference run -->\nafter\n"
    assert with_tables(text, "| new |") == text.replace("old", "| new |")
    with pytest.raises(ValueError, match="0 places"):
        with_tables("nothing", "| new |")


def test_sections_are_added_to_what_the_reference_has():
    before = reference()
    later = {**PROVENANCE, "code": {"commit": "1" * 40, "dirty": False}}
    document = reference_document([], ["second"], later, CLAIMS, {}, before)
    assert document["sections"] == {"first": "0" * 40, "second": "1" * 40}
    assert document["claims"] == before["claims"]
    assert document["values"] == before["values"]
    rows, results = run((5.0, 5.1, 5.2))
    document = reference_document(map(asdict, rows), ["first"], later, CLAIMS, results, before)
    assert document["sections"] == {"first": "1" * 40}
    assert document["values"]["cars"]["x"]["repeats"] == [5.0, 5.1, 5.2]


def test_a_reference_of_one_section_has_its_claims_only(monkeypatch):
    monkeypatch.chdir(ROOT)
    catalogue = load_exhibits("config/exhibits.yaml")
    values = {"margin_minus_step_min": 0.0, "slack_minus_step_min": 0.0, "convexity_violation": 1.0}
    results = {"structured_losses": {"experiment": "structured_losses", "datasets": {}, "values": values}}
    document = new_reference(["structured_losses"], catalogue, results, PROVENANCE, None)
    status = {name: row["status"] for name, row in document["claims"].items()}
    assert status == {
        "T-fig-2.1.margin-bounds-step": "reproduced",
        "T-fig-2.1.slack-bounds-step": "reproduced",
        "T-fig-2.1.equal-at-margin-point": "not tested",
        "T-fig-2.1.convex": "not reproduced",
    }


def test_only_a_clean_run_on_real_data_is_a_reference():
    registry = load_registry(ROOT / "data/registry.yaml")
    code = PROVENANCE["code"]
    datasets = {"uiuc_cars": "real", "movie_watching": "simulated", "digits": "real"}
    found = {"experiment": "cars", "settings": {"scale": "demo"}, "datasets": datasets}
    simulated = {**found, "datasets": {**datasets, "uiuc_cars": "simulated"}}
    assert why_not("demo", code, [found], registry) is None
    assert "scale of cars is demo, expected paper" in why_not("paper", code, [found], registry)
    assert "not that of a commit" in why_not("demo", {**code, "dirty": True}, [found], registry)
    assert "not that of a commit" in why_not("demo", None, [found], registry)
    assert "uiuc_cars is simulated" in why_not("demo", code, [found, simulated], registry)


def test_reference_runs_are_read_by_scale(tmp_path):
    assert read_references(tmp_path) == {}
    reference_path("paper", tmp_path).parent.mkdir()
    reference_path("paper", tmp_path).write_text('{"claims": {}}')
    assert read_references(tmp_path) == {"paper": {"claims": {}}}


@pytest.mark.skipif(not reference_path(root=ROOT).exists(), reason="there is no reference run")
def test_the_committed_reference_is_small_and_in_the_readme():
    assert reference_path(root=ROOT).stat().st_size < 1_000_000
    tables = results_tables(read_references(ROOT)["demo"], load_exhibits(ROOT / "config/exhibits.yaml"))
    assert tables in (ROOT / "README.md").read_text(encoding="utf-8")
