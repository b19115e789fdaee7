"""Join the contrast maps of all subjects of the drug Stroop study (rule prepare_contrast_maps)."""

from reproduction.experiments.fmri_studies.contrast_maps import ContrastMaps, join_contrasts
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths) -> None:
    """Join the parts on the voxels that all subjects have in common."""
    join_contrasts([ContrastMaps.read(path) for path in inputs["parts"]]).write(outputs["contrasts"])


if "snakemake" in globals():
    run_stage(main, snakemake)
