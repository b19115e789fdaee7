"""KIT AIS: aerial frames of streets, with boxes around the cars."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ermlab.datasets._files import (
    ImageFiles,
    broken,
    file_number,
    image_size,
    list_files,
    read_table,
    require_folder,
)

#: The class of cars; the few objects of other classes are trucks and buses.
CAR = 0
#: Frames of one scene follow each other; a larger step in their numbers starts another scene.
_LARGEST_STEP = 10


@dataclass(frozen=True)
class AerialCars:
    """Frames, read when asked for, and the vehicles on each.

    Boxes are (left, top, right, bottom) in pixels counted from 0, corners inclusive; the annotation is
    finer than a pixel, so they are not whole numbers.
    """

    images: ImageFiles  #: RGB
    boxes: tuple[np.ndarray, ...]  #: (n, 4) for each frame
    labels: tuple[np.ndarray, ...]  #: (n,) classes, 0 for a car
    scenes: np.ndarray  #: name of each frame's scene: frames of one scene show the same cars

    def cars(self, frame: int) -> np.ndarray:
        """The boxes of the cars alone."""
        return self.boxes[frame][self.labels[frame] == CAR]


def read_kit_ais_cars(folder: str | Path) -> AerialCars:
    """Read frames ``*.png`` and the YOLO text beside each, ordered by scene and number."""
    files = list_files(require_folder(folder), "*.png")
    files.sort(key=lambda path: (_street(path), file_number(path)))
    labels, boxes = zip(*(_read_vehicles(path) for path in files), strict=True)
    return AerialCars(ImageFiles(files), boxes, labels, _scenes(files))


def _read_vehicles(image: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read lines ``class x y width height``: the centre and size as shares of the image's."""
    height, width = image_size(image)
    text = image.with_suffix(".txt")
    table = read_table(text, columns=5)
    labels, shares = table[:, 0], table[:, 1:]
    if (labels != labels.astype(int)).any() or (shares < 0).any() or (shares > 1).any():
        raise broken(
            text, "a class or share out of range", "class x y width height, whole class, shares in [0, 1]"
        )
    centre, size = shares[:, :2] * (width, height), shares[:, 2:] * (width, height)
    return labels.astype(int), np.hstack([centre - size / 2, centre + size / 2 - 1])


def _street(path: Path) -> str:
    """Return what stands before a frame's own name, as in ``MunichStreet02-MOS74``."""
    return path.stem.rpartition("-")[0]


def _scenes(files: list[Path]) -> np.ndarray:
    """Name each frame's scene: its street, or else the first and last frame of its run of numbers."""
    runs: list[list[Path]] = []
    for path in files:
        last = runs[-1][-1] if runs else None
        if last and _street(last) == _street(path) and file_number(path) - file_number(last) <= _LARGEST_STEP:
            runs[-1].append(path)
        else:
            runs.append([path])
    names = [_street(run[0]) or f"{run[0].stem}-{re.sub(r'^[^0-9]*', '', run[-1].stem)}" for run in runs]
    return np.repeat(names, [len(run) for run in runs])
