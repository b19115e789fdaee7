"""Contrast maps of two groups as rows of voxels (rule prepare_group_studies)."""

from collections.abc import Mapping

from ermlab.datasets.drug_stroop import COCAINE
from ermlab.datasets.wager2008_contrasts import read_wager2008_contrasts
from ermlab.evaluation.results import read_json
from ermlab.features.contrast_maps import ContrastMaps
from ermlab.features.sparse_studies import group_study, median_split, wager_study
from ermlab.workflow.job import job


def main(inputs: Mapping[str, str], outputs: Mapping[str, str], *, pool: int) -> None:
    """Write cocaine users against controls, and people above the median score against the others."""
    group_study(ContrastMaps.read(inputs["stroop"]), COCAINE).write(outputs["stroop"])
    wager = read_wager2008_contrasts(read_json(inputs["wager"])["folder"])
    median_split(wager_study(wager, pool)).write(outputs["wager"])


if "snakemake" in globals():
    with job(snakemake):
        main(dict(snakemake.input.items()), dict(snakemake.output.items()), pool=snakemake.params.pool)
