"""What all tests share: a mirror of the real data where there is one, and how random cases are tried."""

import os
from pathlib import Path

from hypothesis import settings

MIRROR_BESIDE = Path(__file__).parents[2] / "shared/data"

if MIRROR_BESIDE.is_dir():
    os.environ.setdefault("ERMLAB_MIRROR", str(MIRROR_BESIDE))

# No limit on seconds: a busy machine is no fault. Continuous integration tries the same cases every time.
settings.register_profile("ermlab", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("ermlab")
