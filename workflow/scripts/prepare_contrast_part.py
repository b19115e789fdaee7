"""Contrast maps of some of the subjects of the drug Stroop study (rule prepare_contrast_part)."""

import gc

import numpy as np

from ermlab.datasets.drug_stroop import read_drug_stroop
from ermlab.evaluation.results import read_json
from ermlab.features.contrast_maps import prepare_contrasts
from ermlab.workflow.job import job


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
