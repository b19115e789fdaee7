"""Tables of Laplacian regularization with few labels (T-sec-2.1)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.experiments.few_labels.figures import STYLES
from reproduction.experiments.intervals import repeated_interval
from reproduction.experiments.semisupervised import METHODS, PAIRS

#: Values of the moons and of the digits to what they compare.
MOONS_GAINS = {"gain": "moons, Laplacian", "shuffled_gain": "moons, shuffled graph (control)"}
DIGITS_GAINS = {
    "gain": "digits, Laplacian",
    "gain_at_most_labels": "digits, Laplacian, most labels",
    "unlabeled_gain": "digits, most minus fewest unlabeled",
    "shuffled_gain": "digits, shuffled graph (control)",
}


def describe_gain(result: Mapping[str, Any]) -> str:
    """Return a repeated gain in percentage points with its interval."""
    gain = repeated_interval(result)
    return f"{100 * gain['mean']:+.1f} points ({100 * gain['low']:+.1f} to {100 * gain['high']:+.1f})"


def gain_table(moons: Mapping[str, Any], digits: Mapping[str, Any]) -> pd.DataFrame:
    """Return all gains, and where their intervals are."""
    rows = []
    for values, names in ((moons, MOONS_GAINS), (digits, DIGITS_GAINS)):
        for name, comparison in names.items():
            for loss in PAIRS:
                gain = repeated_interval(values[name][loss])
                place = "above 0" if gain["low"] > 0 else "below 0" if gain["high"] < 0 else "around 0"
                rows.append((comparison, loss, describe_gain(values[name][loss]), place))
    return pd.DataFrame(rows, columns=["comparison", "loss", "difference of accuracy", "95 % interval is"])


def accuracy_table(problem: str, values: Mapping[str, Any], labels: Sequence[int]) -> pd.DataFrame:
    """Return the mean accuracy of each method, one row per number of labels."""
    means = {
        STYLES[method][0]: [np.mean(found["repeats"]) for found in values["accuracy"][method]]
        for method in METHODS
    }
    return pd.DataFrame({"problem": problem, "labels per class": labels, **means})
