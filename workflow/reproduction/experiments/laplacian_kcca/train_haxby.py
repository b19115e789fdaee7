"""Run the experiments of section 4.1.3 on the Haxby slice (rule train_haxby_kcca)."""

from reproduction.experiments.fmri_studies.haxby import HaxbySeries
from reproduction.experiments.laplacian_kcca.movie_study import (
    PUBLISHED_EXPERIMENTS,
    joined,
    study_haxby,
)
from reproduction.experiments.laplacian_kcca.protocol import Settings
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, haxby_runs: int, settings: Settings) -> None:
    """Learn all categories and sets of categories, with held-out runs and with permuted volumes."""
    series = HaxbySeries.read(inputs["series"])
    fair = study_haxby(series, haxby_runs, settings)
    permuted = study_haxby(
        series, haxby_runs, settings, permuted=True, variants=PUBLISHED_EXPERIMENTS, criteria=("folds",)
    )
    joined({"fair": fair, "permuted": permuted}).to_csv(outputs["table"], index=False, lineterminator="\n")


if "snakemake" in globals():
    run_stage(main, snakemake)
