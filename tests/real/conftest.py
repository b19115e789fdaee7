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
    """Return the folder of a data set, acquired once for all; those with no source are simulated."""
    raw = tmp_path_factory.getbasetemp() / "raw"

    def folder(name):
        policy = "real" if REGISTRY[name].tree else "simulated"
        acquire(name, raw, policy=policy, mirror=mirror, size="smoke", registry=REGISTRY)
        return raw / name

    yield folder
    shutil.rmtree(raw, ignore_errors=True)  # a quarter of a gigabyte, which pytest would keep
