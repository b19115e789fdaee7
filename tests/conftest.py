"""What all tests share: a mirror of the real data where there is one, and how random cases are tried."""

import os
from pathlib import Path

from hypothesis import settings

from ermlab.workflow.digest import compiled_digest

PROJECT = Path(__file__).parents[1]
MIRROR_BESIDE = Path(__file__).parents[2] / "shared/data"

if MIRROR_BESIDE.is_dir():
    os.environ.setdefault("ERMLAB_MIRROR", str(MIRROR_BESIDE))

os.environ.setdefault("NUMBA_CACHE_DIR", str(PROJECT / ".cache/numba" / compiled_digest(PROJECT / "lib")))

# No limit on seconds: a busy machine is no fault. Continuous integration tries the same cases every time.
settings.register_profile("ermlab", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("ermlab")
