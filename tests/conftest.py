"""What all tests share: a mirror of the real data where there is one, and how random cases are tried."""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings
from kernel_cache import kernel_cache

from reproduction.experiments.tracking import enumeration

pytest_plugins = ["cell_fixtures", "figure_fixtures", "film_fixtures"]

MIRROR_BESIDE = Path(__file__).parents[2] / "shared/data"

if MIRROR_BESIDE.is_dir():
    os.environ.setdefault("ERMLAB_MIRROR", str(MIRROR_BESIDE))

CHECKS_BOUNDS = os.environ.get("NUMBA_BOUNDSCHECK", "0") == "1"
os.environ.setdefault("NUMBA_CACHE_DIR", kernel_cache(check_bounds=CHECKS_BOUNDS))

# No limit on seconds: a busy machine is no fault. Continuous integration tries the same cases every time.
# With bounds checking a few cases do: they are about indices, not about numbers.
settings.register_profile(
    "ermlab",
    deadline=None,
    derandomize="CI" in os.environ,
    max_examples=10 if CHECKS_BOUNDS else settings.get_profile("default").max_examples,
)
settings.load_profile("ermlab")


def pytest_collection_finish():
    # What was imported lives to the end: no collection of garbage need look at it.
    gc.freeze()


@pytest.fixture(scope="session")
def all_assignments():
    """Return a function that lists every assignment of some hypotheses, cell by cell."""
    return enumeration.all_assignments
