"""UIUC Image Database for Car Detection: crops, and street scenes with the cars marked."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ermlab.datasets._files import (
    broken,
    list_series,
    read_image,
    read_lines,
    read_pgm_stack,
    require_folder,
)

#: Height and width of a crop; every marked car has the same ratio of sides.
CROP_SHAPE = (40, 100)
_LINE = re.compile(r"(\d+):((?:\s*\([^()]*\))*)\s*")


@dataclass(frozen=True)
class CarScenes:
    """Grey images, and for each an (n, 4) array of boxes (left, top, right, bottom).

    Corners are inclusive pixels counted from 0. A car cut by the border has a box that leaves the image.
    """

    images: tuple[np.ndarray, ...]
    boxes: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class UiucCars:
    """The whole data base."""

    cars: np.ndarray  #: (550, 40, 100) crops of cars
    others: np.ndarray  #: (500, 40, 100) crops of other things
    single_scale: CarScenes  #: 170 images, all cars about 100 pixels wide
    multi_scale: CarScenes  #: 108 images, cars of any size


def read_uiuc_cars(folder: str | Path) -> UiucCars:
    """Read the data base as its authors publish it."""
    folder = require_folder(folder)
    crops = folder / "TrainImages"
    return UiucCars(
        cars=read_pgm_stack(list_series(crops, "pos-*.pgm"), CROP_SHAPE),
        others=read_pgm_stack(list_series(crops, "neg-*.pgm"), CROP_SHAPE),
        single_scale=_read_scenes(folder / "TestImages", folder / "trueLocations.txt", scaled=False),
        multi_scale=_read_scenes(
            folder / "TestImages_Scale", folder / "trueLocations_Scale.txt", scaled=True
        ),
    )


def _read_scenes(folder: Path, locations: Path, *, scaled: bool) -> CarScenes:
    """Read test images in the order of their numbers, and their line of the locations file."""
    fields = "(row,column,width)" if scaled else "(row,column)"

    def parse(line: str) -> tuple[int, np.ndarray]:
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError("not a list of locations")
        return int(match[1]), _boxes(re.findall(r"\(([^()]*)\)", match[2]), n_fields=3 if scaled else 2)

    images = list_series(folder, "test-*.pgm")
    lines = read_lines(locations, parse, f"<image number>: {fields} ...")
    numbers = [number for number, _ in lines]
    if numbers != list(range(len(images))):
        raise broken(
            locations,
            f"{len(numbers)} lines for images {numbers[0]} to {numbers[-1]}",
            f"one line, in order, for each of the {len(images)} images of {folder}",
        )
    return CarScenes(tuple(map(read_image, images)), tuple(boxes for _, boxes in lines))


def _boxes(locations: list[str], n_fields: int) -> np.ndarray:
    """Turn ``row,column[,width]`` of the top left corner into boxes; the height is .4 of the width."""
    boxes = np.empty((len(locations), 4), dtype=int)
    for box, location in zip(boxes, locations, strict=True):
        values = [int(value) for value in location.split(",")]
        if len(values) != n_fields:
            raise ValueError(f"{len(values)} values in ({location})")
        row, column, width = values if n_fields == 3 else (*values, CROP_SHAPE[1])
        if width < 1:
            raise ValueError(f"width {width}")
        height = round(width * CROP_SHAPE[0] / CROP_SHAPE[1])
        box[:] = column, row, column + width - 1, row + height - 1
    return boxes
