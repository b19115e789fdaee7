"""What all tests share: a mirror of the real data is used where there is one."""

import os
from pathlib import Path

MIRROR_BESIDE = Path(__file__).parents[2] / "shared/data"

if MIRROR_BESIDE.is_dir():
    os.environ.setdefault("ERMLAB_MIRROR", str(MIRROR_BESIDE))
