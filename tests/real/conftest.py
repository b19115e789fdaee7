"""Tests on real data need a mirror folder of archives; without one they are skipped."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder of archives: the one ERMLAB_MIRROR names, or ``../shared/data`` beside the repository."""
    named = os.environ.get("ERMLAB_MIRROR")
    folder = Path(named) if named else ROOT.parent / "shared/data"
    if not folder.is_dir():
        pytest.skip("no mirror of the real data: set ERMLAB_MIRROR to a folder of archives")
    return folder
