"""Graph kernels and their peers on random splits of people (rule train_graph_kernels)."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ermlab.fmri.voxel_graphs import voxel_coordinates
from reproduction.claims.results import write_json
from reproduction.experiments.fmri_studies.study import Study
from reproduction.experiments.graph_kernels.protocol import GraphGrids, Trial, score_split
from reproduction.pipeline.job import job


def main(
    study_file: str,
    outputs: Mapping[str, str],
    *,
    numbers: Sequence[int],
    grids: Mapping[str, Any],
    share: float,
    folds: int,
    seed: int,
) -> None:
    """Write a row for each split of ``numbers`` and each method."""
    study = Study.read(study_file)
    places = voxel_coordinates(study.mask, study.affine)
    splits = study.sampling(study.fair).splits(max(numbers) + 1, share, seed)
    begin = time.perf_counter()
    tables = [
        score_split(
            Trial.of(study.X, study.y, places, splits[i], GraphGrids.of(grids), folds, [seed, i])
        ).assign(split=i)
        for i in numbers
    ]
    pd.concat(tables).to_csv(outputs["scores"], index=False, lineterminator="\n")
    write_json(outputs["timings"], {"seconds_per_split": (time.perf_counter() - begin) / len(numbers)})


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.study,
            dict(snakemake.output.items()),
            numbers=snakemake.params.numbers,
            **snakemake.params.arguments,
        )
