"""The HOG cells of every frame (rule prepare_aerial_grids)."""

from pathlib import Path

import numpy as np

from ermlab._utils.parallel import map_in_threads
from reproduction.claims.results import read_json
from reproduction.experiments.aerial_cars.protocol import frame_grid, read_frames
from reproduction.pipeline.job import job


def main(receipt: str, grids: str, *, frames: int, cell: int) -> None:
    """Compute the cells of at most ``frames`` frames a scene, and write them in the order of the frames."""
    images = read_frames(read_json(receipt)["folder"], frames).images
    cells = map_in_threads(lambda image: frame_grid(image, cell), images)
    Path(grids).parent.mkdir(parents=True, exist_ok=True)
    with Path(grids).open("wb") as file:
        np.savez(file, **{f"frame_{i:03d}": grid for i, grid in enumerate(cells)})


if "snakemake" in globals():
    with job(snakemake):
        main(snakemake.input.receipt, snakemake.output.grids, **snakemake.params.size)
