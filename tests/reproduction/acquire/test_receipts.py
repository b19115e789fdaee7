import pytest

from reproduction.acquire.registry import Receipt, forget_stale_receipts
from reproduction.claims.results import write_json


@pytest.fixture
def kept(tmp_path, monkeypatch, toy):
    """Tell whether a receipt outlives the search for stale ones."""
    monkeypatch.delenv("ERMLAB_MIRROR", raising=False)

    def outlives(receipt, policy="auto", **sources):
        path = tmp_path / "receipts/toy.json"
        path.parent.mkdir(exist_ok=True)
        write_json(path, receipt.as_dict())
        forget_stale_receipts(path.parent, toy(**sources), raw=tmp_path / "raw", policy=policy)
        return path.exists()

    return outlives


def test_data_in_place_are_not_acquired_again(kept, tmp_path):
    folder = tmp_path / "raw/toy"
    folder.mkdir(parents=True)
    available = Receipt("toy", "available", folder=str(folder))
    assert kept(available)
    folder.rmdir()
    assert not kept(available)


def test_simulated_data_give_way_to_real_ones_when_these_can_be_had(kept, tmp_path, monkeypatch, mirror):
    folder = tmp_path / "raw/toy"
    folder.mkdir(parents=True)
    simulated = Receipt("toy", "available", kind="simulated", folder=str(folder))
    assert kept(simulated)
    monkeypatch.setenv("ERMLAB_MIRROR", str(mirror))
    assert not kept(simulated)
    assert kept(simulated, policy="simulated")


def test_what_nobody_has_is_not_looked_for_again_until_something_changes(kept, tmp_path, monkeypatch, mirror):
    unavailable = Receipt("toy", "unavailable", reason="no source")
    assert kept(unavailable)
    monkeypatch.setenv("ERMLAB_MIRROR", str(tmp_path))
    assert kept(unavailable)
    monkeypatch.setenv("ERMLAB_MIRROR", str(mirror))
    assert not kept(unavailable)
    monkeypatch.delenv("ERMLAB_MIRROR")
    (tmp_path / "raw/toy").mkdir(parents=True)
    assert not kept(unavailable)


def test_packages_are_asked_again(kept):
    assert not kept(Receipt("toy", "unavailable", reason="no network"), package="0" * 64)


def test_damaged_receipts_and_those_of_unknown_data_go(tmp_path, toy):
    (tmp_path / "toy.json").write_text("{")
    write_json(tmp_path / "stranger.json", Receipt("stranger", "unavailable").as_dict())
    forget_stale_receipts(tmp_path, toy())
    assert not list(tmp_path.iterdir())
