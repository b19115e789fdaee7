"""Score graph kernels and other methods on random splits of the subjects (rule train_graph_kernels)."""

from collections.abc import Sequence

import pandas as pd

from ermlab.fmri.voxel_graphs import voxel_coordinates
from reproduction.experiments.fmri_studies.studies import Study
from reproduction.experiments.graph_kernels.protocol import GraphGrids, Trial, score_split
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    seed: int,
    numbers: Sequence[int],
    share: float,
    folds: int,
    grids: GraphGrids,
) -> None:
    """Write one row per split of ``numbers`` and method."""
    study = Study.read(inputs["study"])
    coordinates = voxel_coordinates(study.mask, study.affine)
    splits = study.sampling(study.fair).splits(max(numbers) + 1, share, seed)
    trials = {i: Trial.of(study.X, study.y, coordinates, splits[i], grids, folds, [seed, i]) for i in numbers}
    tables = [score_split(trial, region=study.region).assign(split=i) for i, trial in trials.items()]
    pd.concat(tables).to_csv(outputs["scores"], index=False, lineterminator="\n")


if "snakemake" in globals():
    run_stage(main, snakemake)
