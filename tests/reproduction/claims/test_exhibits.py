"""The catalogue of exhibits is complete and in order, and broken files are refused with one clear line."""

import re
from pathlib import Path

import pytest
import yaml

from ermlab.exceptions import DataError
from reproduction.claims.exhibits import load_errata, load_exhibits

ROOT = Path(__file__).parents[3]
SCHEMAS = ROOT / "workflow/schemas"

PUBLISHED_IDS = """
T-sec-2.1 T-sec-2.2 T-fig-2.1 T-sec-2.3.2
T-fig-3.1 T-fig-3.2 T-fig-3.3 T-tab-3.1 T-sec-3.1.4 T-fig-3.4 T-fig-3.5 T-sec-3.2.5 T-alg-1 T-alg-2 T-thm-3.2
T-tab-4.1 T-tab-4.2 T-tab-4.3 T-fig-4.1 T-fig-4.2 T-fig-4.3 T-fig-4.4 T-fig-4.5
T-tab-4.4 T-fig-4.6 T-fig-4.7 T-sec-4.3.1 T-tab-4.5 T-fig-4.8 T-fig-4.9
T-fig-5.1 T-fig-5.2 T-tab-5.1 T-tab-5.2 T-fig-5.3 T-fig-5.4 T-fig-5.5 T-fig-5.6 T-fig-5.7 T-fig-5.8
T-tab-5.3 T-tab-5.4 T-fig-5.9
E-fig-1 E-fig-2 E-fig-3 E-fig-4
C-fig-1.1 C-fig-1.2 C-tab-1.1 C-fig-1.3 C-fig-1.4 C-fig-1.5 C-fig-1.6 C-fig-1.7 C-tab-1.2 C-fig-1.8 C-fig-1.9
C-tab-1.3 C-tab-1.4 C-fig-1.10 C-thm-1.1 C-alg-1.1 C-alg-1.2
"""
READING_ORDER = """
regularization structured_losses markov_random_fields joint_kernel_support ranking ranking_bounds
laplacian_kcca ksupport graph_kernels vessels subwindow_search taxonomies equivariant_toy aerial_cars
pedestrians vicinal_risk structured_problems tracking cccp_precision partial_bound partial_annotation
active_learning transfer datasets
"""


@pytest.fixture(scope="module")
def catalogue():
    return load_exhibits(ROOT / "config/exhibits.yaml")


def small(**changes):
    document = {
        "parts": [{"id": "one", "title": "Part one"}, {"id": "two", "title": "Part two"}],
        "sections": [
            {"id": "first", "part": "one", "title": "First", "summary": "The first.", "notebook": "10_first"},
            {"id": "second", "part": "two", "title": "Second", "summary": "The second."},
        ],
        "exhibits": [
            {
                "id": "T-fig-1.1",
                "section": "first",
                "kind": "figure",
                "title": "A figure",
                "published": "curves",
            },
            {"id": "T-tab-1.1", "section": "second", "kind": "table", "title": "A table", "published": "1 2"},
        ],
    }
    return {**document, **changes}


def load(tmp_path, document):
    path = tmp_path / "exhibits.yaml"
    path.write_text(yaml.safe_dump(document))
    return load_exhibits(path, SCHEMAS / "exhibits.schema.yaml")


def refused(tmp_path, document, message):
    with pytest.raises(DataError, match=message) as caught:
        load(tmp_path, document)
    assert "\n" not in str(caught.value)
    assert "exhibits.yaml" in str(caught.value)


def test_every_published_exhibit_has_one_row(catalogue):
    assert sorted(exhibit.id for exhibit in catalogue.exhibits) == sorted(PUBLISHED_IDS.split())


def test_sections_are_in_reading_order(catalogue):
    assert [section.id for section in catalogue.sections] == READING_ORDER.split()


def test_notebooks_are_numbered_in_reading_order(catalogue):
    stems = [section.notebook for section in catalogue.built_sections]
    assert stems == sorted(stems)
    assert all(stem[3:] == section.id for stem, section in zip(stems, catalogue.built_sections, strict=True))


def test_every_section_but_the_pictures_has_exhibits(catalogue):
    without = [section.id for section in catalogue.sections if not catalogue.exhibits_in(section.id)]
    assert without == ["datasets"]


def test_kinds_agree_with_ids(catalogue):
    kinds = {"fig": "figure", "tab": "table", "alg": "algorithm", "thm": "theorem", "sec": "section"}
    assert all(exhibit.kind == kinds[exhibit.id.split("-")[1]] for exhibit in catalogue.exhibits)


def test_catalogue_finds_its_rows(tmp_path):
    catalogue = load(tmp_path, small())
    assert catalogue.part("two").title == "Part two"
    assert catalogue.section_of("T-tab-1.1").id == "second"
    assert [exhibit.id for exhibit in catalogue.exhibits_in("first")] == ["T-fig-1.1"]
    assert [section.id for section in catalogue.built_sections] == ["first"]
    assert [exhibit.id for exhibit in catalogue.built_exhibits] == ["T-fig-1.1"]
    with pytest.raises(ValueError, match="no exhibit 'T-fig-9'"):
        catalogue.exhibit("T-fig-9")
    with pytest.raises(ValueError, match="no section 'third'"):
        catalogue.exhibits_in("third")


def test_outputs_follow_the_kind(tmp_path):
    figure, table = load(tmp_path, small()).exhibits
    assert figure.outputs == ("figures/T-fig-1.1.svg", "figures/T-fig-1.1.csv")
    assert table.outputs == ("tables/T-tab-1.1.csv",)


@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        ("exhibits", {"id": "T-fig-1.1"}, "exhibit T-fig-1.1: this id is given twice"),
        ("exhibits", {"section": "third"}, "exhibit T-tab-1.1: its section 'third'"),
        ("exhibits", {"kind": "photograph"}, "T-tab-1.1 kind: 'photograph'"),
        ("exhibits", {"id": "tab 1.1"}, "such as T-fig-3.2; got 'tab 1.1'"),
        ("exhibits", {"colour": "red"}, "T-tab-1.1: colour is not a known key"),
        ("sections", {"part": "three"}, "section second: its part 'three'"),
        ("sections", {"notebook": "second"}, "second notebook: the stem of a notebook"),
        ("sections", {"experiments": ["second"]}, "second: .*'notebook'"),
    ],
)
def test_a_broken_row_is_named(tmp_path, place, change, message):
    document = small()
    document[place][1] = {**document[place][1], **change}
    refused(tmp_path, document, message)


def test_rows_out_of_reading_order_are_refused(tmp_path):
    document = small()
    document["exhibits"].reverse()
    refused(tmp_path, document, "exhibit T-fig-1.1: comes after a later section")
    document = small()
    document["sections"].reverse()
    refused(tmp_path, document, "section first: comes after a later part")


def test_a_missing_list_is_refused(tmp_path):
    document = small()
    del document["parts"]
    refused(tmp_path, document, "'parts' is a required property")


def test_unreadable_files_are_refused(tmp_path):
    schema = SCHEMAS / "exhibits.schema.yaml"
    with pytest.raises(DataError, match="is not there"):
        load_exhibits(tmp_path / "exhibits.yaml", schema)
    (tmp_path / "exhibits.yaml").write_text("parts: [}\n")
    with pytest.raises(DataError, match=r"exhibits\.yaml, line 1: not valid YAML") as caught:
        load_exhibits(tmp_path / "exhibits.yaml", schema)
    assert "\n" not in str(caught.value)
    (tmp_path / "exhibits.yaml").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(DataError, match="byte 0 is not utf-8; expected a text file"):
        load_exhibits(tmp_path / "exhibits.yaml", schema)
    (tmp_path / "exhibits.yaml").write_text("")
    with pytest.raises(DataError, match="None is not of type 'object'"):
        load_exhibits(tmp_path / "exhibits.yaml", schema)


def test_errata_name_tests_that_exist():
    errata = load_errata(ROOT / "config/errata.yaml")
    named = [erratum.test for erratum in errata if erratum.test]
    assert named
    for test in named:
        file, name = test.split("::")
        assert re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.MULTILINE), test


def test_known_slips_are_listed():
    listed = {erratum.id for erratum in load_errata(ROOT / "config/errata.yaml")}
    assert listed >= {"T-algorithm-1-count", "T-algorithm-1-guard", "T-laplacian", "T-tables-4.1-4.2"}
    assert listed >= {"T-eq-5.28", "T-eq-5.30", "T-eq-5.34", "T-complexity", "C-compatible"}


def test_broken_errata_are_refused(tmp_path):
    row = {
        "id": "T-slip",
        "where": "page",
        "printed": "1 + 1 = 3",
        "correct": "2",
        "why": "sum",
        "test": None,
    }
    path, schema = tmp_path / "errata.yaml", SCHEMAS / "errata.schema.yaml"
    for rows, message in (
        ([{**row, "correct": "two"}] * 2, "erratum T-slip: this id is given twice"),
        ([{**row, "correct": "two", "test": "somewhere"}], "T-slip test: the test that shows it"),
        ([row], "T-slip correct: '2' is too short"),
    ):
        path.write_text(yaml.safe_dump({"errata": rows}))
        with pytest.raises(DataError, match=message):
            load_errata(path, schema)
