"""Contrast maps of two groups as rows of voxels (rule prepare_group_studies)."""

from collections.abc import Mapping

from reproduction.claims.results import read_json
from reproduction.datasets.drug_stroop import COCAINE
from reproduction.datasets.wager2008_contrasts import read_wager2008_contrasts
from reproduction.experiments.fmri_studies.contrast_maps import ContrastMaps
from reproduction.experiments.fmri_studies.sparse_studies import group_study, median_split, wager_study
from reproduction.pipeline.job import job


def main(inputs: Mapping[str, str], outputs: Mapping[str, str], *, pool: int) -> None:
    """Write cocaine users against controls, and people above the median score against the others."""
    group_study(ContrastMaps.read(inputs["stroop"]), COCAINE).write(outputs["stroop"])
    wager = read_wager2008_contrasts(read_json(inputs["wager"])["folder"])
    median_split(wager_study(wager, pool)).write(outputs["wager"])


if "snakemake" in globals():
    with job(snakemake):
        main(dict(snakemake.input.items()), dict(snakemake.output.items()), pool=snakemake.params.pool)
