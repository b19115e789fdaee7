"""The experiments without their controls on a scan of another scenario (rule train_movie_sweep)."""

from collections.abc import Mapping
from typing import Any

from reproduction.experiments.fmri_studies.movie_series import MovieSeries, cut_films
from reproduction.experiments.laplacian_kcca.movie_study import study_films
from reproduction.experiments.laplacian_kcca.protocol import Settings
from reproduction.pipeline.job import job


def main(series: str, table: str, *, stretches: int, gap: int, settings: Mapping[str, Any]) -> None:
    """Learn the six labels, with stretches held out and parameters chosen by cross-validation."""
    films = cut_films(MovieSeries.read(series), stretches, gap)
    study = study_films(
        films,
        stretches,
        Settings.of(settings),
        sets=False,
        variants=("exp1", "exp2", "exp3"),
        criteria=("folds",),
    )
    study.table.to_csv(table, index=False, lineterminator="\n")


if "snakemake" in globals():
    with job(snakemake):
        main(snakemake.input.series, snakemake.output.table, **snakemake.params.arguments)
