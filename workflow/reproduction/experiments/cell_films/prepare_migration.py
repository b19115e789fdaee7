"""Prepare the detections of migrating cells at several frame rates (rule prepare_migration_films)."""

from collections.abc import Sequence

import numpy as np

from ermlab.tracking.films import CellFilm
from reproduction.claims.results import read_json
from reproduction.datasets import cell_migration
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, steps: Sequence[int]) -> None:
    """Write one film for each step between frames."""
    data = cell_migration.read_cell_migration(read_json(inputs["receipt"])["folder"])
    shape = data.truth.masks[0].shape
    for step, path in zip(steps, outputs["films"], strict=True):
        film_of_migration(data.sequences[step], shape).write(path)


def film_of_migration(sequence: cell_migration.Sequence, shape: tuple[int, int]) -> CellFilm:
    """Return the film of a sequence; detections without a track stay, as cells of which nothing is known."""
    found = sequence.detections
    tracked = np.flatnonzero(found.track != cell_migration.UNTRACKED)
    features = dict(zip(cell_migration.FEATURES, found.features.T, strict=True))
    return CellFilm(
        frame=found.frame,
        position=found.centroid,
        area=features["area"],
        intensity=features["intensity_mean"],
        eccentricity=features["eccentricity"],
        shape=np.array(shape),
        n_frames=int(found.frame.max()) + 1,
        tracks=np.column_stack([tracked, found.track[tracked]]),
        lineage=np.array(sequence.lineage.rows()),
    )


if "snakemake" in globals():
    run_stage(main, snakemake)
