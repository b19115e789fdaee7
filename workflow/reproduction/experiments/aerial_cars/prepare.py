"""Read the frames of the aerial images and compute their HOG cells (rule prepare_aerial_frames)."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.parallel import map_in_threads
from ermlab.features.hog_cells import hog
from reproduction.claims.results import read_json
from reproduction.datasets.kit_ais_cars import CAR, read_kit_ais_cars
from reproduction.experiments.aerial_cars.protocol import PAD, Frames
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, frames: int, cell: int) -> None:
    """Write at most ``frames`` frames per scene, and their cells in the same order."""
    chosen = read_frames(read_json(inputs["receipt"])["folder"], frames)
    grids = map_in_threads(lambda image: frame_grid(image, cell), chosen.images)
    chosen.save(outputs["frames"])
    np.savez(outputs["grids"], **{f"frame_{i:03d}": grid for i, grid in enumerate(grids)})


def read_frames(folder: str | Path, frames: int) -> Frames:
    """Read at most ``frames`` evenly spaced frames of each scene."""
    data = read_kit_ais_cars(folder)
    chosen = []
    for scene in dict.fromkeys(data.scenes.tolist()):
        numbers = np.flatnonzero(data.scenes == scene)
        steps = np.linspace(0, len(numbers) - 1, min(frames, len(numbers)))
        chosen += numbers[steps.round().astype(int)].tolist()
    return Frames(
        tuple(data.images[i] for i in chosen),
        tuple((data.boxes[i][:, :2] + data.boxes[i][:, 2:]) / 2 for i in chosen),
        tuple(data.labels[i] != CAR for i in chosen),
        data.scenes[chosen],
    )


def frame_grid(image: NDArray, cell: int) -> NDArray[np.float32]:
    """Return the HOG cells of a frame and of `PAD` cells on each side."""
    return hog(image, cell, pad=PAD)


if "snakemake" in globals():
    run_stage(main, snakemake)
