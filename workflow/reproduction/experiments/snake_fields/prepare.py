"""Take the colors and labels of the snakes (rule prepare_snakes)."""

import numpy as np

from reproduction.claims.results import read_json
from reproduction.datasets.snakes import SnakeImages, read_snakes
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths) -> None:
    """Write the cells of all images, one after the other."""
    data = read_snakes(read_json(inputs["receipt"])["folder"])
    np.savez_compressed(outputs["images"], **pack("train", data.train), **pack("test", data.test))


def pack(part: str, images: SnakeImages) -> dict[str, np.ndarray]:
    """Return images of different sizes as arrays of all cells."""
    return {
        f"{part}_shapes": np.array([labels.shape for labels in images.labels]),
        f"{part}_colors": np.concatenate([colors.ravel() for colors in images.colors]),
        f"{part}_labels": np.concatenate([labels.ravel() for labels in images.labels]),
    }


def read_images(path: str, part: str) -> SnakeImages:
    """Read the images of one part from the file that this rule wrote."""
    with np.load(path) as arrays:
        shapes = arrays[f"{part}_shapes"]
        return SnakeImages(*(split_cells(arrays[f"{part}_{name}"], shapes) for name in ("colors", "labels")))


def split_cells(cells: np.ndarray, shapes: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the images that cells one after the other belong to."""
    parts = np.split(cells, np.cumsum(shapes.prod(axis=1))[:-1])
    return tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))


if "snakemake" in globals():
    run_stage(main, snakemake)
