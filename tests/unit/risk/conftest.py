"""Pairs of frames with so few cells that all assignments can be listed."""

from itertools import product

import numpy as np
import pytest

from ermlab.features.cell_events import Cells, Gates, hypotheses_between
from ermlab.inference.assignment import Assigner


@pytest.fixture(scope="session")
def few_cells():
    """Return a function of a seed: a new assigner for each pair of 2 or 3 cells with 2 or 3 others."""

    def draw(seed):
        rng = np.random.default_rng(seed)
        frames = [[_frame(rng, n) for n in numbers] for numbers in product((2, 3), (2, 3))]
        return [Assigner(hypotheses_between(*pair, Gates())) for pair in frames]

    return draw


def _frame(rng, n):
    return Cells(
        rng.uniform(30, 70, (n, 2)), rng.uniform(80, 120, n), rng.uniform(1, 2, n), rng.random(n), (100, 100)
    )
