"""Graph kernels with permuted labels, honest and with a leak (rule train_permuted_graphs)."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ermlab.fmri.voxel_graphs import voxel_coordinates
from reproduction.experiments.fmri_studies.study import Study
from reproduction.experiments.graph_kernels.controls import score_permuted
from reproduction.experiments.graph_kernels.protocol import GraphGrids
from reproduction.pipeline.job import job


def main(
    study_file: str,
    scores_file: str,
    *,
    numbers: Sequence[int],
    splits: int,
    grids: Mapping[str, Any],
    share: float,
    folds: int,
    seed: int,
) -> None:
    """Write a row for each permutation of ``numbers``, split, way of selection and method."""
    study = Study.read(study_file)
    places = voxel_coordinates(study.mask, study.affine)
    parts = study.sampling(study.fair).splits(splits, share, seed)
    tables = [
        score_permuted(study.X, study.y, places, parts, GraphGrids.of(grids), folds, number, seed)
        for number in numbers
    ]
    pd.concat(tables).to_csv(scores_file, index=False, lineterminator="\n")


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.study,
            snakemake.output.scores,
            numbers=snakemake.params.numbers,
            **snakemake.params.arguments,
        )
