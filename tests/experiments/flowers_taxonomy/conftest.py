"""Validation accuracies of two splits, of which one tried a larger C."""

import pandas as pd
import pytest

from reproduction.experiments.flowers_taxonomy.evaluate import TITLES


@pytest.fixture
def trials():
    rows = [
        {"split": split, "run": run, "method": method, "C": C, "validation": 0.5 + 0.1 * split}
        for split in range(2)
        for run, method in enumerate(TITLES)
        for C in ([1, 10, 100] if split else [1, 10])
    ]
    return pd.DataFrame(rows)
