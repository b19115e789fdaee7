"""Score graph kernels with permuted labels, without and with a leak (rule train_permuted_graphs).

No method can predict permuted labels, so accuracies above chance show a leak.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ermlab.fmri.voxel_graphs import voxel_coordinates
from ermlab.metrics.splits import Split
from reproduction.experiments.fmri_studies.studies import Study
from reproduction.experiments.graph_kernels.protocol import (
    METHODS,
    GraphGrids,
    Trial,
    score_split,
    select_voxels,
)
from reproduction.pipeline.job import Paths, run_stage

#: Voxels selected in each training part, and voxels selected beforehand by the labels of all subjects.
SELECTIONS = ("inside", "beforehand")


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    seed: int,
    numbers: Sequence[int],
    permuted_splits: int,
    share: float,
    folds: int,
    grids: GraphGrids,
) -> None:
    """Write one row per permutation of ``numbers``, split, selection and method."""
    study = Study.read(inputs["study"])
    coordinates = voxel_coordinates(study.mask, study.affine)
    splits = study.sampling(study.fair).splits(permuted_splits, share, seed)
    tables = [
        score_permuted(study.X, study.y, coordinates, splits, grids, folds, number, seed)
        for number in numbers
    ]
    pd.concat(tables).to_csv(outputs["scores"], index=False, lineterminator="\n")


def score_permuted(
    X: ArrayLike,
    y: ArrayLike,
    coordinates: ArrayLike,
    splits: Sequence[Split],
    grids: GraphGrids,
    folds: int,
    number: int,
    seed: int,
) -> pd.DataFrame:
    """Return the accuracies of all methods with permuted labels.

    Columns: permutation, split, selection (of `SELECTIONS`), method and accuracy. Voxels selected beforehand
    are the leak: they are selected once, with the labels of the test subjects; all else is done inside.
    """
    X, coordinates = np.asarray(X), np.asarray(coordinates)
    labels = permuted_labels(np.asarray(y, dtype=np.float64), number, seed)
    everyone = np.arange(len(labels))
    leaked = select_voxels(
        Trial.of(X, labels, coordinates, Split(everyone, everyone), grids, folds, [seed, len(splits)])
    )
    tables = []
    for i, split in enumerate(splits):
        for selection, voxels in zip(SELECTIONS, (np.ones(X.shape[1], dtype=bool), leaked), strict=True):
            trial = Trial.of(X[:, voxels], labels, coordinates[voxels], split, grids, folds, [seed, i])
            table = score_split(trial, select=selection == "inside")
            tables.append(table[table["method"].isin(METHODS)].assign(split=i, selection=selection))
    columns = ["permutation", "split", "selection", "method", "accuracy"]
    return pd.concat(tables, ignore_index=True).assign(permutation=number)[columns]


def permuted_labels(y: NDArray[np.float64], number: int, seed: int) -> NDArray[np.float64]:
    """Return the labels in the order of permutation ``number``; 0 leaves them unchanged."""
    if number < 0:
        raise ValueError(f"number is {number}: expected at least 0")
    return y if number == 0 else np.random.default_rng([seed, number]).permutation(y)


if "snakemake" in globals():
    run_stage(main, snakemake)
