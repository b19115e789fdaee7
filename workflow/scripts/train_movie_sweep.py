"""The experiments without their controls on a scan of another scenario (rule train_movie_sweep)."""

from collections.abc import Mapping
from typing import Any

from ermlab.features.movie_series import MovieSeries
from ermlab.regularization.laplacian_cca_protocol import Settings
from ermlab.regularization.movie_study import Folds, study_film
from ermlab.workflow.job import job


def main(series: str, table: str, *, settings: Mapping[str, Any]) -> None:
    """Learn the six labels, with stretches held out and parameters chosen by cross-validation."""
    data, grid, folds = MovieSeries.read(series), Settings.of(settings), Folds.of(settings)
    study = study_film(data, grid, folds, sets=False, variants=("exp1", "exp2", "exp3"), criteria=("folds",))
    study.table.to_csv(table, index=False, lineterminator="\n")


if "snakemake" in globals():
    with job(snakemake):
        main(snakemake.input.series, snakemake.output.table, settings=snakemake.params.settings)
