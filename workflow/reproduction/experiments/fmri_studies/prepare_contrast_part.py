"""Compute the contrast maps of one part of the drug Stroop study (rule prepare_contrast_part)."""

import numpy as np

from reproduction.claims.results import read_json
from reproduction.datasets.drug_stroop import read_drug_stroop
from reproduction.experiments.fmri_studies.contrast_maps import prepare_contrasts
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, part: int, parts: int, fwhm: float) -> None:
    """Divide the subjects, in their order, into ``parts``, and process the one with number ``part``."""
    data = read_drug_stroop(read_json(inputs["receipt"])["folder"])
    numbers = np.array_split(np.arange(len(data.subjects)), parts)[part]
    prepare_contrasts(data, [data.subjects[i] for i in numbers], fwhm).write(outputs["part"])


if "snakemake" in globals():
    run_stage(main, snakemake)
