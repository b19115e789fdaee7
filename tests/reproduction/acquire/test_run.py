"""The workflow's script: a receipt for every outcome, the same bytes in every run."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from reproduction.acquire.run import main
from reproduction.pipeline.documents import read_yaml

ROOT = Path(__file__).parents[3]


@pytest.fixture
def acquire_script(tmp_path, tree, monkeypatch):
    """Call the script in a project whose registry holds the toy as its only row."""
    row = read_yaml(ROOT / "data/registry.yaml")["uiuc_cars"]
    row |= {"files": tree.files, "bytes": tree.bytes, "tree_sha256": tree.sha256}
    row["sources"] |= {
        "mirror": {"archive": "toy.tar.xz", "folder": "toy"},
        "address": None,
        "simulator": None,
    }
    project = tmp_path / "project"
    (project / "data").mkdir(parents=True)
    (project / "data/registry.yaml").write_text(yaml.safe_dump({"toy": row}))
    shutil.copytree(ROOT / "workflow/schemas", project / "workflow/schemas")
    monkeypatch.chdir(project)
    monkeypatch.delenv("ERMLAB_MIRROR", raising=False)

    def run(receipt):
        main({}, {"receipt": receipt}, dataset="toy", policy="auto", seed=0, size="smoke")

    return run


def test_receipts_are_the_same_bytes_in_every_run(acquire_script, mirror, tree, monkeypatch):
    monkeypatch.setenv("ERMLAB_MIRROR", str(mirror))
    receipts = [Path(f"data/receipts/{run}.json") for run in (1, 2)]
    for receipt in receipts:
        acquire_script(receipt)
    assert receipts[0].read_bytes() == receipts[1].read_bytes()
    document = json.loads(receipts[0].read_text())
    assert (document["folder"], document["tree_sha256"]) == ("data/raw/toy", tree.sha256)
    assert str(mirror) not in receipts[0].read_text()


def test_what_cannot_be_had_has_a_receipt_too(acquire_script):
    acquire_script("data/receipts/toy.json")
    document = json.loads(Path("data/receipts/toy.json").read_text())
    assert (document["status"], document["kind"]) == ("unavailable", None)
    assert "put its files into data/raw/toy" in document["reason"]
