import pytest

from reproduction.book.claim_table import claims_table, plural, with_interval, with_spread

CLAIM = {
    "id": "T-tab-3.1.values",
    "text": "S-SVM beats JKSE for r <= .3.",
    "source": "table 3.1",
    "published": {"ssvm": [0.18, 0.16]},
    "published_spread": {"ssvm": [0.02, 0.03]},
    "control": False,
    "requires": [],
    "history": ["Changed after results were seen: a typo."],
    "ours": {"eer": {"ssvm": [0.2, 0.15]}, "margin": 0.01},
    "intervals": {"eer": {"low": {"ssvm": [0.1, 0.12]}, "high": {"ssvm": [0.3, 0.18]}}},
    "probability": 0.982,
    "units": {"seed": 5},
    "status": "reproduced",
    "reason": None,
    "badge": "simulated data",
    "datasets": {"uiuc_cars": "simulated"},
    "basis": "simulated data",
    "departures": [
        {"basis": "another size", "text": "scenes 12, published 170"},
        {"basis": "simulated data", "text": "uiuc_cars"},
    ],
}


def test_every_value_is_shown_with_its_interval():
    row = claims_table([CLAIM])
    assert "ssvm: 0.2 (0.1 to 0.3), 0.15 (0.12 to 0.18)" in row
    assert "<code>margin</code> 0.01<" in row
    assert "ssvm\\: 0\\.18 ± 0\\.02, 0\\.16 ± 0\\.03" in row
    assert "holds in 98 \\% of draws" in row
    assert "5 seeds" in row
    assert "a typo" in row
    assert "simulated data" in row


def test_the_reference_run_has_a_column_of_its_own():
    demo = {**CLAIM, "ours": {"margin": 0.77}, "intervals": {}, "status": "undecided"}
    paper = {**demo, "ours": {"margin": 0.88}, "status": "reproduced"}
    references = {scale: {"claims": {CLAIM["id"]: row}} for scale, row in (("demo", demo), ("paper", paper))}
    row = claims_table([CLAIM], references).splitlines()[-3]
    cells = row.split(" | ")
    at_demo, at_paper = cells[2].split("at paper scale")
    assert "0.77" in at_demo
    assert "undecided" in at_demo
    assert "0.88" in at_paper
    assert "reproduced" in at_paper
    assert "0.77" not in cells[3]
    del references["demo"]
    assert (
        claims_table([CLAIM], references).splitlines()[-3].split(" | ")[2].startswith('<span class="note">at')
    )
    assert claims_table([CLAIM], {}).splitlines()[-3].split(" | ")[2] == "–"


def test_controls_hold_or_do_not():
    row = claims_table([{**CLAIM, "control": True}])
    assert "✓</span> holds" in row
    assert "reproduced<" not in row
    row = claims_table([{**CLAIM, "control": True, "status": "not reproduced"}])
    assert "✗</span> does not hold" in row


@pytest.mark.parametrize("status", ["reproduced", "not reproduced", "undecided"])
def test_a_claim_that_is_not_reproduced_says_how_it_was_tested(status):
    row = claims_table([{**CLAIM, "status": status}])
    words = r"tested with another size\: scenes 12, published 170; with simulated data\: uiuc\_cars"
    assert (words in row) == (status != "reproduced")
    row = claims_table([{**CLAIM, "status": status, "basis": "as in the source", "departures": []}])
    assert ("tested as in the source" in row) == (status != "reproduced")


def test_a_claim_without_results_says_why():
    untested = {"ours": {}, "intervals": {}, "probability": None, "units": {}, "status": "not tested"}
    row = claims_table(
        [{**CLAIM, **untested, "badge": None, "basis": None, "reason": "no such data", "published": None}]
    )
    assert "no such data" in row
    assert "| – |" in row
    assert "simulated" not in row
    assert "draws" not in row


def test_numbers_without_a_spread_are_plain():
    assert with_spread([1.0, {"a": 2.0}], None) == "1, a: 2"
    assert with_spread({"a": [1.0]}, {"a": None}) == "a: 1"
    assert with_interval({"a": [1.0, 2.0]}, None, None) == "a: 1, 2"
    assert with_interval(0.0, 0.0, 0.0) == "0 (0 to 0)"


def test_plurals():
    assert [plural(1, "film"), plural(3, "film"), plural(2, "class"), plural(4, "study")] == [
        "1 film",
        "3 films",
        "2 classes",
        "4 studies",
    ]
