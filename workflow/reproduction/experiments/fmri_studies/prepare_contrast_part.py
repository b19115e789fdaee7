"""Contrast maps of some of the subjects of the drug Stroop study (rule prepare_contrast_part)."""

import gc

import numpy as np

from reproduction.claims.results import read_json
from reproduction.datasets.drug_stroop import read_drug_stroop
from reproduction.experiments.fmri_studies.contrast_maps import prepare_contrasts
from reproduction.pipeline.job import job


def main(receipt: str, part_file: str, *, part: int, parts: int, fwhm: float) -> None:
    """Divide the subjects, in their order, into ``parts`` and take the one with number ``part``."""
    data = read_drug_stroop(read_json(receipt)["folder"])
    # nilearn collects garbage at every image: with the libraries' own objects set aside it is soon done.
    gc.freeze()
    numbers = np.array_split(np.arange(len(data.subjects)), parts)[part]
    prepare_contrasts(data, [data.subjects[i] for i in numbers], fwhm).write(part_file)


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            snakemake.output.part,
            part=int(snakemake.wildcards.part),
            **snakemake.params.arguments,
        )
