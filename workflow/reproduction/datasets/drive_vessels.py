"""DRIVE: photographs of the retina with vessels that were marked by hand."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from ermlab._utils.files import broken, file_number, list_series, require_folder
from ermlab._utils.image_files import ImageFiles, check_image, with_image
from reproduction.datasets.files import image_size
from reproduction.datasets.simulators.fundus import field_of_view, photograph
from reproduction.datasets.simulators.scenes.noise import Noise
from reproduction.datasets.simulators.sizes import check_size
from reproduction.datasets.simulators.vessel_observers import FIRST, SECOND, observe
from reproduction.datasets.simulators.vessel_trees import HEIGHT, Eye, grow_vessels

#: Numbers of the photographs with signs of disease, according to the description of the data set.
PATHOLOGICAL = (3, 8, 14, 17, 25, 26, 32)
#: Number of the first photograph of each part.
_FIRST_NUMBER = {"training": 21, "test": 1}
#: Levels of a mask that are dark or bright; palettes differ between the masks.
_DARK, _BRIGHT = 64, 192


@dataclass(frozen=True)
class Photographs:
    """Photographs and masks of one part, which are read on access; masks are boolean, vessels are True."""

    numbers: np.ndarray  #: numbers of the photographs in the data set
    images: ImageFiles  #: RGB
    fields: ImageFiles  #: fields of view
    first: ImageFiles  #: vessels marked by the first observer, the ground truth
    second: ImageFiles  #: vessels marked by the second observer; empty for the training part

    @property
    def pathological(self) -> np.ndarray:
        """Whether each photograph shows signs of disease."""
        return np.isin(self.numbers, PATHOLOGICAL)


@dataclass(frozen=True)
class DriveVessels:
    """Both parts of the data set."""

    training: Photographs
    test: Photographs


def read_drive_vessels(folder: str | Path) -> DriveVessels:
    """Find photographs ``<number>_<part>.tif``, numbered without gaps, and the masks of each."""
    folder = require_folder(folder)
    return DriveVessels(*(_read_part(folder, part) for part in ("training", "test")))


def _read_part(folder: Path, part: str) -> Photographs:
    images = list_series(folder / part / "images", f"*_{part}.tif", first=_FIRST_NUMBER[part])
    numbers = [file_number(path) for path in images]
    series = {
        "fields": [folder / part / "mask" / f"{number:02d}_{part}_mask.gif" for number in numbers],
        "first": [folder / part / "1st_manual" / f"{number:02d}_manual1.gif" for number in numbers],
        "second": [folder / part / "2nd_manual" / f"{number:02d}_manual2.gif" for number in numbers],
    }
    if part == "training":
        series["second"] = []
    for paths in series.values():
        for image, mask in zip(images, paths, strict=False):
            _check_shape(image, mask)
    masks = {name: ImageFiles(paths, _read_mask) for name, paths in series.items()}
    return Photographs(np.array(numbers), ImageFiles(images, _read_photograph), **masks)


def _check_shape(image: Path, mask: Path) -> None:
    shape, expected = image_size(mask), image_size(image)
    if shape != expected:
        raise broken(
            mask,
            f"{shape[0]} rows of {shape[1]} pixels",
            f"{expected[0]} rows of {expected[1]}, as {image.name}",
        )


def _read_photograph(path: Path) -> np.ndarray:
    def decode(image: Image.Image) -> np.ndarray:
        check_image(path, image)
        if image.mode != "RGB":
            raise broken(path, f"an image of mode {image.mode}", "an RGB image")
        return np.array(image)

    return with_image(path, decode)


def _read_mask(path: Path) -> np.ndarray:
    def decode(image: Image.Image) -> np.ndarray:
        check_image(path, image)
        return np.array(image.convert("L"))

    levels = with_image(path, decode)
    mask = levels >= _BRIGHT
    unclear = levels[~mask & (levels >= _DARK)]
    if len(unclear):
        raise broken(path, f"a pixel of level {unclear[0]}", "a mask of dark and bright pixels")
    if not mask.any():
        raise broken(path, "a mask of zeros", "at least one bright pixel")
    return mask


#: Photographs per part, and their height; the last ones are those of the real data.
SIZES = {"smoke": (6, HEIGHT), "demo": (20, HEIGHT), "paper": (20, HEIGHT)}
#: Width over height.
_ASPECT = 565 / 584


def simulate_drive_vessels(folder: str | Path, seed: int, size: str) -> None:
    """Write simulated photographs and masks with the names and the layout of the real ones.

    A photograph depends on the seed and its number alone; those numbered in `PATHOLOGICAL` show lesions.
    """
    check_size(size, SIZES)
    count, height = SIZES[size]
    noise = Noise(np.random.default_rng([seed, 0]))
    for part, first in _FIRST_NUMBER.items():
        for number in range(first, first + count):
            _simulate_photograph(Path(folder) / part, part, number, seed, noise, height)


def _simulate_photograph(folder: Path, part: str, number: int, seed: int, noise: Noise, height: int) -> None:
    anatomy, camera, first, second = (np.random.default_rng([seed, 1, number, what]) for what in range(4))
    eye = Eye.draw(anatomy, (height, round(_ASPECT * height)))
    vessels = grow_vessels(anatomy, eye)
    image = photograph(camera, noise, eye, vessels, pathological=number in PATHOLOGICAL)
    field = field_of_view(eye)
    masks = {
        f"mask/{number:02d}_{part}_mask.gif": field,
        f"1st_manual/{number:02d}_manual1.gif": field & observe(first, eye, vessels, FIRST),
    }
    if part == "test":
        masks[f"2nd_manual/{number:02d}_manual2.gif"] = field & observe(second, eye, vessels, SECOND)
    path = folder / f"images/{number:02d}_{part}.tif"
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path, compression="tiff_lzw")
    for name, mask in masks.items():
        (folder / name).parent.mkdir(exist_ok=True)
        Image.fromarray(np.where(mask, 255, 0).astype(np.uint8)).save(folder / name)
