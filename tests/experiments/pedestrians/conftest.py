"""Five tiny sets of random crops, and descriptors of random versions."""

import numpy as np
import pytest

from ermlab.features.hog_crops import HogLayout
from reproduction.experiments.pedestrians.protocol import PreparedSet

LAYOUT = HogLayout(levels=((4, 2),), blocks=(2, 1), orientations=4)
#: Pedestrians and others of each set.
COUNTS = {"1": (3, 4), "2": (4, 3), "3": (2, 5), "T1": (2, 3), "T2": (1, 2)}


@pytest.fixture(scope="session")
def layout():
    return LAYOUT


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """Return the folders of the five sets, training sets first."""
    rng = np.random.default_rng(0)
    root = tmp_path_factory.mktemp("sets")
    for part, counts in COUNTS.items():
        crops = (rng.integers(256, size=(n, 36, 18), dtype=np.uint8) for n in counts)
        PreparedSet(root / f"set_{part}").write(*crops)
    return [str(root / f"set_{part}") for part in COUNTS]


@pytest.fixture
def bags():
    labels = np.repeat([1, -1], [6, 10])
    rng = np.random.default_rng(0)
    return (rng.normal(size=(16, 18, 5)) + 0.8 * labels[:, None, None]).astype(np.float32)
