"""The experiments of section 4.1.3 on one scan: tables of correlations, and maps (rule train_movie_kcca)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.experiments.fmri_studies.movie_series import MovieSeries, cut_films, whole_films
from reproduction.experiments.laplacian_kcca.movie_study import (
    PUBLISHED_EXPERIMENTS,
    TARGETS,
    both_protocols,
    film_maps,
    study_films,
)
from reproduction.experiments.laplacian_kcca.protocol import Settings
from reproduction.pipeline.job import job


def main(
    series: str, table: str, maps: str, *, stretches: int, gap: int, settings: Mapping[str, Any]
) -> None:
    """Learn all labels and sets of them, with stretches held out and, for comparison, permuted volumes."""
    data, grid = MovieSeries.read(series), Settings.of(settings)
    films = cut_films(data, stretches, gap)
    fair = study_films(films, stretches, grid)
    permuted = study_films(
        whole_films(data),
        stretches,
        grid,
        permuted=True,
        variants=PUBLISHED_EXPERIMENTS,
        criteria=("folds",),
    )
    both_protocols(fair, permuted).to_csv(table, index=False, lineterminator="\n")
    weights = {f"{target}_{name}": values for (target, name), values in film_maps(films, fair).items()}
    targets = {f"{target}_target": data.region(*names) for target, names in TARGETS.items()}
    with Path(maps).open("wb") as file:
        np.savez_compressed(
            file,
            mask=data.mask,
            affine=data.affine,
            motion=data.motion,
            **{name: values.astype(np.float32) for name, values in weights.items()},
            **targets,
        )


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.series,
            snakemake.output.table,
            snakemake.output.maps,
            **snakemake.params.arguments,
        )
