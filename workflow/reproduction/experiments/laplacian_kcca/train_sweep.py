"""Run the experiments without controls on a scan of another scenario (rule train_movie_sweep)."""

from collections.abc import Sequence
from dataclasses import replace

from reproduction.experiments.fmri_studies.movie_series import MovieSeries, cut_films
from reproduction.experiments.laplacian_kcca.movie_study import PUBLISHED_EXPERIMENTS, study_films
from reproduction.experiments.laplacian_kcca.protocol import Settings
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    stretches: int,
    gap: int,
    settings: Settings,
    sweep_gamma: Sequence[float],
) -> None:
    """Learn the six labels, with held-out stretches and parameters chosen by cross-validation."""
    results = study_films(
        cut_films(MovieSeries.read(inputs["series"]), stretches, gap),
        stretches,
        replace(settings, gamma=sweep_gamma),
        sets=False,
        variants=PUBLISHED_EXPERIMENTS,
        criteria=("folds",),
    )
    results.table.to_csv(outputs["table"], index=False, lineterminator="\n")


if "snakemake" in globals():
    run_stage(main, snakemake)
