"""Preprocess the scans of the two films (rule prepare_movie_watching)."""

from reproduction.claims.results import read_json
from reproduction.datasets.movie_watching import read_movie_watching
from reproduction.experiments.fmri_studies.movie_series import prepare_movie
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths) -> None:
    """Write the volumes of both films and the labels as arrays."""
    prepare_movie(read_movie_watching(read_json(inputs["receipt"])["folder"])).write(outputs["series"])


if "snakemake" in globals():
    run_stage(main, snakemake)
