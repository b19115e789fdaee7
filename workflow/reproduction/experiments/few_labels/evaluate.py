"""Learn handwritten digits from few labels, with and without a Laplacian (rule evaluate_few_labels).

The digits are those that scikit-learn has: 1797 images of 8 x 8 pixels by 13 writers, the test part of the
optical recognition data of the UCI repository.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from reproduction.claims.results import repeated, write_results
from reproduction.experiments.semisupervised import (
    CONTROLS,
    METHODS,
    PAIRS,
    UNIT,
    by_labels,
    draw_task,
    gains,
    measure,
    shuffled_pairs,
)
from reproduction.pipeline.job import Paths, run_stage

#: Largest value of a pixel.
WHITE = 16.0


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    seed: int,
    repeats: int,
    labels: Sequence[int],
    unlabeled: Sequence[int],
    tested: int,
) -> None:
    """Measure all methods for each number of labels and, at the fewest, of unlabeled digits."""
    X, y = digits()
    rows = []
    for repeat in range(repeats):
        for count, others in sizes(labels, unlabeled):
            task = draw_task(X, y, count, others, tested, np.random.default_rng([seed, repeat]))
            methods = (*METHODS, *CONTROLS) if (count, others) == (labels[0], unlabeled[-1]) else METHODS
            rows += [
                {"repeat": repeat, "labels": count, "unlabeled": others, **row}
                for row in measure(task, methods, repeat)
            ]
    accuracies = pd.DataFrame(rows)
    # Draws share digits: new ones and the pool of all others are as the parts of a split.
    values = summarize(accuracies, test_over_train=tested / (len(X) - tested))
    write_results(Path(outputs["values"]).parent, values, datasets={"digits": "real"})
    accuracies.to_csv(outputs["accuracies"], index=False, lineterminator="\n")


def digits() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the images, one per row with pixels from 0 to 1, and their classes."""
    X, y = load_digits(return_X_y=True)
    return X / WHITE, y.astype(np.int64)


def sizes(labels: Sequence[int], unlabeled: Sequence[int]) -> list[tuple[int, int]]:
    """Return pairs of labels per class and unlabeled samples: all labels, and all unlabeled at the fewest."""
    return [(count, unlabeled[-1]) for count in labels] + [(labels[0], others) for others in unlabeled[:-1]]


def summarize(accuracies: pd.DataFrame, test_over_train: float) -> dict[str, object]:
    """Return the values of the claims from one row per repeat, size and method."""
    most = accuracies[accuracies["unlabeled"] == accuracies["unlabeled"].max()]
    labels = accuracies["labels"]
    fewest = accuracies[labels == labels.min()]
    at_fewest = most[most["labels"] == labels.min()]
    return {
        "accuracy": by_labels(most, test_over_train),
        "gain": gains(at_fewest, PAIRS, test_over_train),
        "gain_at_most_labels": gains(most[most["labels"] == labels.max()], PAIRS, test_over_train),
        "shuffled_gain": gains(at_fewest, shuffled_pairs(), test_over_train),
        "unlabeled_gain": {
            name: unlabeled_gain(fewest[fewest["method"] == better], test_over_train)
            for name, (_, better) in PAIRS.items()
        },
    }


def unlabeled_gain(accuracies: pd.DataFrame, test_over_train: float) -> dict[str, Any]:
    """Return the gains of the most over the fewest unlabeled samples; one row per repeat and number."""
    table = accuracies.pivot(index="repeat", columns="unlabeled", values="accuracy")
    return repeated(table[max(table.columns)] - table[min(table.columns)], UNIT, test_over_train)


if "snakemake" in globals():
    run_stage(main, snakemake)
