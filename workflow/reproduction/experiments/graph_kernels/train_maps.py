"""Maps of what graphs of two groups are told apart by (rule train_graph_maps)."""

from collections.abc import Mapping
from typing import Any

from ermlab.fmri.voxel_graphs import voxel_coordinates
from reproduction.experiments.fmri_studies.study import Study
from reproduction.experiments.graph_kernels.maps import fit_graph_maps
from reproduction.experiments.graph_kernels.protocol import GraphGrids
from reproduction.pipeline.job import job


def main(study_file: str, maps_file: str, *, grids: Mapping[str, Any], folds: int, seed: int) -> None:
    """Learn from all people."""
    study = Study.read(study_file)
    places = voxel_coordinates(study.mask, study.affine)
    fit_graph_maps(study.X, study.y, places, GraphGrids.of(grids), folds, seed).write(maps_file)


if "snakemake" in globals():
    with job(snakemake):
        main(snakemake.input.study, snakemake.output.maps, **snakemake.params.arguments)
