"""Detrend and standardize the Haxby slice (rule prepare_haxby_slice)."""

from reproduction.claims.results import read_json
from reproduction.datasets.haxby2001_slice import read_haxby2001_slice
from reproduction.experiments.fmri_studies.haxby import prepare_haxby
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths) -> None:
    """Write the volumes and the category series as arrays."""
    prepare_haxby(read_haxby2001_slice(read_json(inputs["receipt"])["folder"])).write(outputs["series"])


if "snakemake" in globals():
    run_stage(main, snakemake)
