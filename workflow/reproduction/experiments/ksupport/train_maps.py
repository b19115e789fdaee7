"""Weights that tell two groups apart, LASSO and k-support norm (rule train_ksupport_maps)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.experiments.fmri_studies.study import Study
from reproduction.experiments.ksupport.maps import cluster_table, fit_group_maps
from reproduction.experiments.ksupport.protocol import Grids
from reproduction.pipeline.job import job


def main(
    study_file: str,
    outputs: Mapping[str, str],
    *,
    grids: Mapping[str, Any],
    splits: int,
    share: float,
    draws: int,
    seed: int,
) -> None:
    """Choose the parameters over splits of the subjects, fit to all of them, and look at the clusters."""
    study = Study.read(study_file)
    maps = fit_group_maps(study.X, study.y, study.sampling(study.fair), Grids.of(grids), splits, share, seed)
    maps.paths.to_csv(outputs["paths"], index=False, lineterminator="\n")
    cluster_table(maps, study.mask, draws, seed).to_csv(outputs["clusters"], index=False, lineterminator="\n")
    with Path(outputs["weights"]).open("wb") as file:
        np.savez(
            file,
            **maps.weights,
            **{
                f"chosen_{method}": row[["shape", "strength", "correlation"]].to_numpy(float)
                for method, row in maps.chosen.items()
            },
            mask=study.mask,
            affine=study.affine,
            region=study.region,
            subjects=np.array([(study.y > 0).sum(), (study.y < 0).sum()]),
        )


if "snakemake" in globals():
    with job(snakemake):
        main(snakemake.input.study, dict(snakemake.output.items()), **snakemake.params.arguments)
