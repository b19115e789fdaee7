"""Write contrast maps of two groups as rows of voxels (rule prepare_group_studies)."""

from reproduction.claims.results import read_json
from reproduction.datasets.drug_stroop import COCAINE
from reproduction.datasets.wager2008_contrasts import read_wager2008_contrasts
from reproduction.experiments.fmri_studies.contrast_maps import ContrastMaps
from reproduction.experiments.fmri_studies.studies import group_study, median_split, wager_study
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, pool: int) -> None:
    """Write cocaine users against controls, and the Wager maps with their scores and split at the median."""
    group_study(ContrastMaps.read(inputs["stroop"]), COCAINE).write(outputs["stroop"])
    wager = wager_study(read_wager2008_contrasts(read_json(inputs["wager"])["folder"]), pool)
    wager.write(outputs["wager_scores"])
    median_split(wager).write(outputs["wager"])


if "snakemake" in globals():
    run_stage(main, snakemake)
