"""Small photographs with two vessels that cross, for all stages."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from reproduction.experiments.vessels.retinas import Retinas

SIDE = 72


def draw_photograph(seed):
    """Return image, field of view and vessels of a disk with a vertical and a slanted vessel."""
    rng = np.random.default_rng(seed)
    rows, columns = np.indices((SIDE, SIDE))
    field = np.hypot(rows - 35.5, columns - 35.5) < 33
    middle = rng.uniform(24, 46)
    first = np.abs(columns - middle) < 2
    second = np.abs(rows - 20 - 0.5 * columns) < 1.2
    vessels = (first | second) & field
    light = 140 - 50 * gaussian_filter(vessels.astype(float), 0.7) + 0.3 * columns
    image = np.where(field, light + rng.normal(0, 6, field.shape), 5)
    return np.clip(image, 0, 255).astype(np.uint8), field, vessels


@pytest.fixture(scope="session")
def retinas():
    """Eight photographs for training and three for the test, the second of which shows disease."""
    images, fields, vessels = (np.stack(part) for part in zip(*map(draw_photograph, range(11)), strict=True))
    test = np.arange(11) >= 8
    second = np.where(test[:, None, None], np.roll(vessels, 1, axis=1) & fields, False)
    numbers = np.where(test, np.arange(11) - 7, np.arange(11) + 21)
    return Retinas(numbers, test, numbers == 2, np.stack([images] * 3, axis=-1), fields, vessels, second)
