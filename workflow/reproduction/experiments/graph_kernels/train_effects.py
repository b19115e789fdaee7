"""Score all methods on drawn studies whose groups differ by more and more (rule train_graph_effects)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.fmri.voxel_graphs import voxel_coordinates
from ermlab.metrics.splits import Sampling
from reproduction.datasets.drug_stroop import COCAINE, draw_contrast_maps
from reproduction.experiments.fmri_studies.studies import Study
from reproduction.experiments.graph_kernels.protocol import METHODS, GraphGrids, Trial, score_split
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    seed: int,
    scale: str,
    effects: Sequence[float],
    drawn_studies: int,
    drawn_splits: int,
    share: float,
    folds: int,
    grids: GraphGrids,
) -> None:
    """Write one row per effect, drawn study, split and method; study i has the same noise at all effects."""
    study = Study.read(inputs["study"])
    tables = [
        score_drawn(
            study.mask, study.affine, effect, [seed, number], scale, drawn_splits, share, folds, grids
        ).assign(effect=effect, study=number)
        for effect in effects
        for number in range(drawn_studies)
    ]
    pd.concat(tables).to_csv(outputs["scores"], index=False, lineterminator="\n")


def score_drawn(
    mask: NDArray[np.bool_],
    affine: NDArray[np.float64],
    effect: float,
    seed: Sequence[int],
    size: str,
    splits: int,
    share: float,
    folds: int,
    grids: GraphGrids,
) -> pd.DataFrame:
    """Return split, method and accuracy for one drawn study."""
    X, groups = draw_contrast_maps(np.random.default_rng(seed), mask, affine, effect, size)
    y = np.where(groups == COCAINE, 1.0, -1.0)
    coordinates = voxel_coordinates(mask, affine)
    tables = []
    for i, split in enumerate(Sampling("permuted", len(y)).splits(splits, share, seed)):
        table = score_split(Trial.of(X, y, coordinates, split, grids, folds, [*seed, i]))
        tables.append(table[table["method"].isin(METHODS)].assign(split=i))
    return pd.concat(tables, ignore_index=True)[["split", "method", "accuracy"]]


if "snakemake" in globals():
    run_stage(main, snakemake)
