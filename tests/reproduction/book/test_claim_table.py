from reproduction.book.claim_table import claims_table, with_spread

CLAIM = {
    "id": "T-tab-3.1.values",
    "text": "S-SVM beats JKSE for r <= .3.",
    "source": "table 3.1",
    "published": {"ssvm": [0.18, 0.16]},
    "ours": {"eer": {"ssvm": [0.2, 0.15]}, "margin": 0.01},
    "spread": {"eer": {"sd": {"ssvm": [0.01, 0.02]}, "n": 5}},
    "status": "reproduced",
    "reason": None,
    "badge": "simulated data",
    "datasets": {"uiuc_cars": "simulated"},
}


def test_every_value_stands_with_its_spread():
    row = claims_table([CLAIM])
    assert "ssvm: 0.2 ± 0.01, 0.15 ± 0.02 (5 seeds)" in row
    assert "<code>margin</code> 0.01<" in row
    assert "ssvm\\: 0\\.18, 0\\.16" in row
    assert "simulated data" in row


def test_a_claim_without_results_says_why():
    untested = {"ours": {}, "spread": {}, "status": "not tested", "badge": None, "reason": "no such data"}
    row = claims_table([{**CLAIM, **untested, "published": None}])
    assert "no such data" in row
    assert "| – |" in row
    assert "simulated" not in row


def test_a_single_seed_has_no_deviation():
    assert with_spread([1.0, {"a": 2.0}], None) == "1, a: 2"
    assert with_spread({"a": [1.0]}, {"a": None}) == "a: 1"
