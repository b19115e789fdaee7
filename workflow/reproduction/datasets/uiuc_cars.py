"""UIUC Image Database for Car Detection: crops, and street scenes with annotated cars."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ermlab._utils.files import broken, list_series, read_lines, require_folder
from ermlab._utils.image_files import read_image
from reproduction.datasets.files import read_pgm_stack
from reproduction.datasets.simulators import street_scenes as streets
from reproduction.datasets.simulators.scenes.noise import Noise
from reproduction.datasets.simulators.sizes import check_size

#: Height and width of a crop; every annotated box has the same aspect ratio.
CROP_SHAPE = (40, 100)
_LINE = re.compile(r"(\d+):((?:\s*\([^()]*\))*)\s*")


@dataclass(frozen=True)
class CarScenes:
    """Gray images, and for each an (n, 4) array of boxes (left, top, right, bottom).

    Corners are inclusive pixels counted from 0. The box of a car at the border may exceed the image.
    """

    images: tuple[np.ndarray, ...]
    boxes: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class UiucCars:
    """The whole database."""

    cars: np.ndarray  #: (550, 40, 100) crops of cars
    others: np.ndarray  #: (500, 40, 100) crops of other things
    single_scale: CarScenes  #: 170 images, all cars about 100 pixels wide
    multi_scale: CarScenes  #: 108 images, cars of any size


def read_uiuc_cars(folder: str | Path) -> UiucCars:
    """Read the database in its published layout."""
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
    """Read test images in the order of their numbers, and their lines in the locations file."""
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
    """Turn ``row,column[,width]`` of the top left corner into boxes; the height is 0.4 times the width."""
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


@dataclass(frozen=True)
class _Size:
    """Numbers of simulated images."""

    cars: int
    others: int
    single_scale: int
    multi_scale: int


#: The last one is that of the real data.
SIZES = {"smoke": _Size(20, 20, 8, 8), "demo": _Size(150, 150, 60, 60), "paper": _Size(550, 500, 170, 108)}
#: Number of second cars in the real scenes, and number of scenes.
_SECOND_CARS = {"TestImages": (30, 170), "TestImages_Scale": (31, 108)}
_SCALED_WIDTHS = (88, 212)
_README = """Simulated side views of cars in the layout of the UIUC Image Database for Car Detection.
Locations are (row, column) or (row, column, width) of the top left corner of a box with sides 5 : 2.
"""


def simulate_uiuc_cars(folder: str | Path, seed: int, size: str) -> None:
    """Write simulated images with the names and the layout of the real ones.

    Image ``k`` of a part depends on the seed and ``k`` alone, so that a larger set begins with a smaller one.
    """
    check_size(size, SIZES)
    folder, counts = Path(folder), SIZES[size]
    noise = Noise(np.random.default_rng([seed, 0]))
    for number in range(counts.cars):
        image = streets.draw_car_crop(np.random.default_rng([seed, 1, number]), noise, CROP_SHAPE)
        _write_pgm(folder / f"TrainImages/pos-{number}.pgm", image)
    for number in range(counts.others):
        image = streets.draw_other_crop(np.random.default_rng([seed, 2, number]), noise, CROP_SHAPE)
        _write_pgm(folder / f"TrainImages/neg-{number}.pgm", image)
    _simulate_scenes(folder, "TestImages", "trueLocations.txt", noise, [seed, 3], counts.single_scale)
    _simulate_scenes(
        folder, "TestImages_Scale", "trueLocations_Scale.txt", noise, [seed, 4], counts.multi_scale
    )
    (folder / "README.txt").write_text(_README)


def _simulate_scenes(
    folder: Path, images: str, locations: str, noise: Noise, seed: list[int], count: int
) -> None:
    """Write ``count`` scenes to the folder ``images`` and the places of their cars to ``locations``."""
    scaled = images == "TestImages_Scale"
    more, among = _SECOND_CARS[images]
    lines = []
    for number in range(count):
        rng = np.random.default_rng([*seed, number])
        second = (number + 1) * more // among > number * more // among
        shape, cars = _plan_scene(rng, 2 if second else 1, scaled=scaled)
        _write_pgm(folder / images / f"test-{number}.pgm", streets.draw_street(rng, noise, shape, cars))
        places = (f"({top},{left},{width})" if scaled else f"({top},{left})" for left, top, width in cars)
        lines.append(" ".join([f"{number}:", *places]))
    (folder / locations).write_text("\n".join(lines) + "\n")


def _plan_scene(
    rng: np.random.Generator, n_cars: int, *, scaled: bool
) -> tuple[tuple[int, int], list[tuple[int, int, int]]]:
    """Choose the shape of an image and left, top and width of its cars; some exceed the border."""
    width = int(rng.integers(*_SCALED_WIDTHS, endpoint=True)) if scaled else CROP_SHAPE[1]
    unit = width / 100
    top = int(unit * rng.uniform(15, 75))
    margin = (-12, 50) if scaled else (-10, 85)
    column = int(unit * rng.uniform(*margin))
    cars = []
    for _ in range(n_cars):
        # Of nearly the same size: they are on one street.
        own = round(width * rng.uniform(0.95, 1.0)) if scaled else width
        cars.append((column, top + int(unit * rng.uniform(-3, 3)), own))
        column += own + int(unit * rng.uniform(3, 40))
    left, _, own = cars[-1]
    height = top + CROP_SHAPE[0] * unit + unit * rng.uniform(5, 60)
    return (int(height), left + own + int(unit * rng.uniform(*margin))), cars


def _write_pgm(path: Path, image: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width = image.shape
    path.write_bytes(b"P5\n%d %d\n255\n" % (width, height) + image.tobytes())
