"""Simulate another scan and preprocess it; the raw scan is not kept (rule prepare_movie_scenario)."""

from collections.abc import Mapping
from tempfile import TemporaryDirectory

from reproduction.datasets.movie_watching import read_movie_watching, simulate_movie_watching
from reproduction.experiments.fmri_studies.movie_series import prepare_movie
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, seed: int, size: str, scenario: Mapping[str, float]) -> None:
    """Write the volumes of both films and the labels as arrays; ``scenario`` may set signal and sharing."""
    with TemporaryDirectory() as folder:
        simulate_movie_watching(folder, seed, size, **scenario)
        prepare_movie(read_movie_watching(folder)).write(outputs["series"])


if "snakemake" in globals():
    run_stage(main, snakemake)
