"""True masks of nuclei as detections without an error (rule prepare_mask_film)."""

from ermlab.tracking.cells import film_of_masks
from reproduction.claims.results import read_json
from reproduction.datasets.ctc_sim_truth import read_ctc_sim_truth
from reproduction.pipeline.job import job


def main(receipt: str, film: str) -> None:
    """Write what the masks show; their cells are equally bright, since masks do not tell."""
    film_of_masks(read_ctc_sim_truth(read_json(receipt)["folder"])).write(film)


if "snakemake" in globals():
    with job(snakemake):
        main(snakemake.input.receipt, snakemake.output.film)
