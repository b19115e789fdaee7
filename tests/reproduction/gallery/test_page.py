"""The data page says what is known of a data set, whether it is there or not."""

from pathlib import Path

import pytest
from IPython.display import Image, Markdown

from ermlab.exceptions import DataError
from reproduction.acquire.registry import Receipt, load_registry
from reproduction.claims.results import write_json
from reproduction.gallery import page as dataset_page
from reproduction.gallery.page import DatasetPage, describe

pytestmark = pytest.mark.usefixtures("figure_style")

REGISTRY = Path(__file__).parents[3] / "data/registry.yaml"
MUTAG = load_registry(REGISTRY)["mutag"]
ABSENT = Receipt("mutag", "unavailable", reason="mirror: none is set; what to do: name one")


def present(kind="real"):
    return Receipt(
        "mutag",
        status="available",
        kind=kind,
        source="mirror",
        folder="data/raw/mutag",
        tree_sha256="0" * 64,
        files=6,
        bytes=113148,
        detail="archive x.tar",
    )


@pytest.fixture
def shown(monkeypatch):
    """What the notebook would display."""
    objects = []
    monkeypatch.setattr(dataset_page, "display", objects.append)
    return objects


def page(folder, receipt, datasets=("mutag",)):
    (folder / "receipts").mkdir()
    write_json(folder / "receipts/mutag.json", receipt.as_dict())
    return DatasetPage(datasets, folder / "receipts", REGISTRY, folder / "raw", folder / "figures")


def test_an_available_data_set_is_described():
    text = describe(MUTAG, present().as_dict())
    for fact in ("**real** (archive x.tar)", "188 graphs", MUTAG.licence, MUTAG.citation, "0" * 64, "0.1 MB"):
        assert fact in text
    assert "None" not in text


def test_counts_of_simulated_data_are_not_claimed():
    text = describe(MUTAG, present("simulated").as_dict())
    assert "**simulated**" in text
    assert "in the real data set" in text


def test_an_unavailable_data_set_has_its_reason():
    text = describe(MUTAG, ABSENT.as_dict())
    assert text.endswith("**Not available**: mirror: none is set; what to do: name one")
    assert "Counts" not in text


def test_picture_of_an_available_data_set(tmp_path, shown):
    folder = tmp_path / "raw/mutag"
    folder.mkdir(parents=True)
    for name, text in (
        ("A", "1, 2\n2, 1\n"),
        ("graph_indicator", "1\n1\n"),
        ("graph_labels", "1\n"),
        ("node_labels", "0\n1\n"),
    ):
        (folder / f"MUTAG_{name}.txt").write_text(text)
    page(tmp_path, present()).show("mutag")
    assert [type(thing) for thing in shown] == [Markdown, Image]
    assert shown[1].data == (tmp_path / "figures/data-mutag.png").read_bytes()


def test_no_picture_without_data(tmp_path, shown):
    page(tmp_path, ABSENT).show("mutag")
    assert [type(thing) for thing in shown] == [Markdown]
    assert not (tmp_path / "figures").exists()


def test_a_data_set_that_was_not_asked_for_needs_no_receipt(tmp_path, shown):
    page(tmp_path, ABSENT, datasets=()).show("uiuc_cars")
    assert "Not asked for in this run" in shown[0].data


def test_missing_receipt_and_unknown_name(tmp_path):
    with pytest.raises(DataError, match=r"uiuc_cars\.json does not exist"):
        page(tmp_path, ABSENT, datasets=("uiuc_cars",)).show("uiuc_cars")
    with pytest.raises(ValueError, match="datasets holds nosuch: expected names among"):
        DatasetPage(["nosuch"], "receipts", REGISTRY, "raw", "figures")
