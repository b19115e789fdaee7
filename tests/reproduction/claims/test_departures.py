"""Verdicts say how their tests depart from the source: in data, size and protocol."""

from pathlib import Path

import pytest
import yaml

from reproduction.claims.departures import BASES, Departure, Published, departures, load_published
from reproduction.claims.exhibits import Catalogue, Exhibit, Part, Section, load_exhibits
from reproduction.claims.ledger import Claim, check_claims
from reproduction.claims.reference import count_by_basis
from reproduction.claims.results import read_results, write_results
from reproduction.pipeline.config import load_config
from reproduction.pipeline.settings import configured, run_config

ROOT = Path(__file__).parents[3]
PUBLISHED = Published(
    sizes={"cars": {"scenes": 170, "grid.words": [1000, 2000], "most": None}, "films": {"frames": 100}},
    instead_of={"kit": "the TAS images"},
    part_of={"sample": "VOC 2007"},
)
FULL = {"cars": {"scenes": 170, "grid": {"words": [1000, 2000]}, "most": None}, "films": {"frames": 100}}


def found(datasets=None, settings=FULL, deviations=()):
    return departures(datasets or {}, settings, "cars", deviations, PUBLISHED)


def test_a_test_like_the_source_departs_in_nothing():
    assert found() == ("as in the source, without data", [])
    assert found({"uiuc": "real", "films": "real"}) == ("as in the source", [])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"cars": {**FULL["cars"], "scenes": 12}}, "scenes 12, published 170"),
        ({"cars": {**FULL["cars"], "grid": {"words": [1000]}}}, "grid.words 1000, published 1000, 2000"),
        ({"cars": {**FULL["cars"], "most": 8}}, "most 8, published all"),
        ({"films": {"frames": 30}}, "frames 30, published 100"),
    ],
)
def test_another_size_is_named(change, text):
    expected = ("another size", [Departure("another size", text)])
    assert found({"films": "real"}, {**FULL, **change}) == expected


def test_sizes_of_other_blocks_do_not_count():
    assert found({"uiuc": "real"}, {**FULL, "films": {"frames": 30}})[1] == []


def test_results_that_do_not_know_their_settings_have_no_other_size():
    assert found({"uiuc": "real"}, {})[1] == []


def test_the_last_of_several_departures_is_the_basis():
    basis, all_of_them = found({"kit": "real"}, {"cars": {"scenes": 12}}, ["It is tested on shapes."])
    assert basis == "another data set"
    assert all_of_them == [
        Departure("another protocol", "It is tested on shapes."),
        Departure("another size", "scenes 12, published 170"),
        Departure("another data set", "kit instead of the TAS images"),
    ]
    assert found({"sample": "real"}) == (
        "another size",
        [Departure("another size", "sample is a part of VOC 2007")],
    )
    assert found({"kit": "simulated", "uiuc": "real"}) == (
        "simulated data",
        [Departure("simulated data", "kit")],
    )


def test_a_claim_and_its_exhibit_may_both_deviate():
    catalogue = Catalogue(
        parts=(Part("one", "Part one"),),
        sections=(Section("first", "one", "First", "Built.", notebook="10_first", experiments=("cars",)),),
        exhibits=(Exhibit("T-tab-1.1", "first", "table", "A table", "1 2", deviation="Sizes are known."),),
    )
    row = {"exhibit": "T-tab-1.1", "text": "It holds.", "source": "thesis", "experiment": "cars"}
    claims = [
        Claim(id="T-tab-1.1.a", check="x > 0", **row),
        Claim(id="T-tab-1.1.b", check="x < 0", deviation="No noise.", **row),
    ]
    results = {"experiment": "cars", "datasets": {"uiuc": "real"}, "settings": FULL, "values": {"x": 1}}
    rows = check_claims(claims, catalogue, {"cars": results}, PUBLISHED)
    assert [[departure.text for departure in row.departures] for row in rows] == [
        ["Sizes are known."],
        ["Sizes are known.", "No noise."],
    ]
    plain = [{"basis": row.basis, "status": row.status, "control": False} for row in rows]
    verdicts = {"reproduced": 1, "not reproduced": 1, "undecided": 0, "not tested": 0}
    assert count_by_basis(plain) == {"another protocol": verdicts}
    untested = check_claims(claims, catalogue, {}, PUBLISHED)
    assert [row.basis for row in untested] == [None, None]


def test_results_know_the_settings_of_their_run(tmp_path):
    config = {"scale": "demo", "cars": {"scenes": 12}, "films": {"frames": 30}, "others": {"a": 1}}
    with configured(config):
        write_results(tmp_path / "cars", {"x": 1}, datasets={"films": "simulated", "uiuc": "real"})
    assert dict(run_config()) == {}
    settings = read_results(tmp_path / "cars")["settings"]
    assert settings == {"scale": "demo", "cars": {"scenes": 12}, "films": {"frames": 30}}


def test_the_published_sizes_are_those_of_the_paper_scale():
    published = load_published(ROOT)
    assert published.sizes["window_cascade"] == {"windows": 100_000, "best_windows": 1000}
    assert published.sizes["handwritten_words"] == {"words_per_fold": None}
    registry = yaml.safe_load((ROOT / "data/registry.yaml").read_text())
    assert set(published.instead_of) | set(published.part_of) <= set(registry)
    smoke, paper = (load_config({"scale": scale}, ROOT) for scale in ("smoke", "paper"))
    for block in published.sizes:
        assert departures({}, paper, block, (), published)[1] == []
        if smoke[block] != paper[block]:
            assert departures({}, smoke, block, (), published)[0] == "another size", block


def test_a_deviation_is_a_sentence():
    for exhibit in load_exhibits(ROOT / "config/exhibits.yaml").exhibits:
        assert exhibit.deviation is None or exhibit.deviation.endswith("."), exhibit.id


def test_bases_are_in_the_order_of_their_rows():
    assert list(
        count_by_basis({"basis": basis, "status": "reproduced", "control": False} for basis in BASES[::-1])
    ) == list(BASES)
