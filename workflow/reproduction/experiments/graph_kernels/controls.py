"""Controls of the protocol of graph kernels: permuted labels, and voxels selected where they must not be."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ermlab.metrics.splits import Split
from reproduction.experiments.graph_kernels.protocol import (
    METHODS,
    GraphGrids,
    Trial,
    score_split,
    select_voxels,
)

#: Voxels selected in each training part, and voxels selected beforehand, by the labels of all people.
SELECTIONS = ("inside", "beforehand")


def permuted_labels(y: NDArray[np.float64], number: int, seed: int) -> NDArray[np.float64]:
    """Return the labels in an order of this number; number 0 leaves them as they are."""
    if number < 0:
        raise ValueError(f"number is {number}: expected at least 0")
    return y if number == 0 else np.random.default_rng([seed, number]).permutation(y)


def score_permuted(
    X: ArrayLike,
    y: ArrayLike,
    places: ArrayLike,
    splits: Sequence[Split],
    grids: GraphGrids,
    folds: int,
    number: int,
    seed: int,
) -> pd.DataFrame:
    """Return the accuracies of all methods with permuted labels, which no method can tell but by a leak.

    Columns: permutation, split, selection (of `SELECTIONS`), method and accuracy. Voxels selected beforehand
    are the leak: they are chosen once, with labels of the people tested, and all else is as it should be.
    """
    X, places = np.asarray(X), np.asarray(places)
    labels = permuted_labels(np.asarray(y, dtype=np.float64), number, seed)
    everyone = np.arange(len(labels))
    leaked = select_voxels(
        Trial.of(X, labels, places, Split(everyone, everyone), grids, folds, [seed, len(splits)])
    )
    rows = []
    for i, split in enumerate(splits):
        for selection, voxels in zip(SELECTIONS, (np.ones(X.shape[1], dtype=bool), leaked), strict=True):
            trial = Trial.of(X[:, voxels], labels, places[voxels], split, grids, folds, [seed, i])
            table = score_split(trial, select=selection == "inside")
            rows.append(table[table["method"].isin(METHODS)].assign(split=i, selection=selection))
    columns = ["permutation", "split", "selection", "method", "accuracy"]
    return pd.concat(rows, ignore_index=True).assign(permutation=number)[columns]
