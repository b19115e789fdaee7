"""Contrast maps of all subjects of the drug Stroop study (rule prepare_contrast_maps)."""

from collections.abc import Sequence

from reproduction.experiments.fmri_studies.contrast_maps import ContrastMaps, join_contrasts
from reproduction.pipeline.job import job


def main(parts: Sequence[str], contrasts: str) -> None:
    """Put the parts together, on the voxels that all subjects show."""
    join_contrasts([ContrastMaps.read(path) for path in parts]).write(contrasts)


if "snakemake" in globals():
    with job(snakemake):
        main(snakemake.input.parts, snakemake.output.contrasts)
