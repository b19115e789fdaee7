"""Prepare true masks of nuclei as detections without errors (rule prepare_mask_film)."""

from ermlab.tracking.cells import film_of_masks
from reproduction.claims.results import read_json
from reproduction.datasets.ctc_sim_truth import read_ctc_sim_truth
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths) -> None:
    """Write the film of the masks; all cells have the same intensity, which masks do not show."""
    film_of_masks(read_ctc_sim_truth(read_json(inputs["receipt"])["folder"])).write(outputs["film"])


if "snakemake" in globals():
    run_stage(main, snakemake)
