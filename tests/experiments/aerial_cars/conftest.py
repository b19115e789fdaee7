"""Settings of small detectors."""

import pytest

from reproduction.experiments.aerial_cars.protocol import Settings


@pytest.fixture(scope="session")
def settings():
    return Settings(
        cell=5,
        cells=9,
        tolerance=10.0,
        n_slots=3,
        rotations=4,
        cars=5,
        backgrounds=6,
        slot_windows=60,
        tol=0.1,
        max_boxes=30,
        max_overlap=0.3,
    )
