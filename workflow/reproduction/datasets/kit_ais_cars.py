"""KIT AIS: aerial frames of streets with boxes around the vehicles."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from ermlab._utils.files import broken, file_number, list_files, read_table, require_folder
from ermlab._utils.image_files import ImageFiles
from reproduction.datasets.files import as_integers, image_size
from reproduction.datasets.simulators import aerial_scenes as aerial
from reproduction.datasets.simulators.scenes.noise import Noise
from reproduction.datasets.simulators.sizes import check_size

#: Class of cars; the few objects of other classes are trucks and buses.
CAR = 0
#: Largest difference of the numbers of consecutive frames of one scene.
_LARGEST_STEP = 10


@dataclass(frozen=True)
class AerialCars:
    """Frames, which are read on access, and the vehicles on each.

    Boxes are (left, top, right, bottom) in pixels counted from 0, corners inclusive; the annotation has
    subpixel precision, so they are not integers.
    """

    images: ImageFiles  #: RGB
    boxes: tuple[np.ndarray, ...]  #: (n, 4) for each frame
    labels: tuple[np.ndarray, ...]  #: (n,) classes, 0 for a car
    scenes: np.ndarray  #: scene of each frame; frames of one scene show the same cars

    def cars(self, frame: int) -> np.ndarray:
        """Return the boxes of the cars of a frame, without other vehicles."""
        return self.boxes[frame][self.labels[frame] == CAR]


def read_kit_ais_cars(folder: str | Path) -> AerialCars:
    """Read frames ``*.png`` and the YOLO text beside each, ordered by scene and number."""
    files = list_files(require_folder(folder), "*.png")
    files.sort(key=lambda path: (_street(path), file_number(path)))
    labels, boxes = zip(*(_read_vehicles(path) for path in files), strict=True)
    return AerialCars(ImageFiles(files), boxes, labels, _scenes(files))


def _read_vehicles(image: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read lines ``class x y width height``, center and size relative to those of the image."""
    height, width = image_size(image)
    text = image.with_suffix(".txt")
    table = read_table(text, columns=5)
    labels, shares = table[:, 0], table[:, 1:]
    labels = as_integers(text, labels, "class")
    if (shares < 0).any() or (shares > 1).any():
        raise broken(text, "a share out of range", "class x y width height, shares in [0, 1]")
    center, size = shares[:, :2] * (width, height), shares[:, 2:] * (width, height)
    return labels, np.hstack([center - size / 2, center + size / 2 - 1])


def _street(path: Path) -> str:
    """Return the prefix of the name of a frame, as in ``MunichStreet02-MOS74``."""
    return path.stem.rpartition("-")[0]


def _scenes(files: list[Path]) -> np.ndarray:
    """Name the scene of each frame: its street, or the first and last frame of its run of numbers."""
    runs: list[list[Path]] = []
    for path in files:
        last = runs[-1][-1] if runs else None
        if last and _street(last) == _street(path) and file_number(path) - file_number(last) <= _LARGEST_STEP:
            runs[-1].append(path)
        else:
            runs.append([path])
    names = [_street(run[0]) or f"{run[0].stem}-{re.sub(r'^[^0-9]*', '', run[-1].stem)}" for run in runs]
    return np.repeat(names, [len(run) for run in runs])


@dataclass(frozen=True)
class _Scene:
    """Names, number and shape of the frames of a scene of the real data."""

    prefix: str
    first: int
    step: int
    frames: int
    shape: tuple[int, int]


_SCENES = (
    _Scene("MOS", 155, 3, 9, (430, 1764)),
    _Scene("MOS", 74, 2, 10, (547, 684)),
    _Scene("MunichStreet02-MOS", 74, 2, 10, (377, 1284)),
)
#: Largest number of frames per scene, and largest width of a frame.
SIZES = {"smoke": (2, 460), "demo": (4, 1764), "paper": (10, 1764)}


def simulate_kit_ais_cars(folder: str | Path, seed: int, size: str) -> None:
    """Write simulated frames of three scenes with the names and the layout of the real ones."""
    check_size(size, SIZES)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    most, widest = SIZES[size]
    noise = Noise(np.random.default_rng([seed, 0]))
    for number, scene in enumerate(_SCENES, start=1):
        shape = scene.shape[0], min(scene.shape[1], widest)
        place = aerial.plan_place(np.random.default_rng([seed, number]), noise, shape)
        for frame in range(min(scene.frames, most)):
            rng = np.random.default_rng([seed, number, 1, frame])
            image, labels, edges = aerial.draw_frame(place, frame, noise, [seed, number, 2], rng)
            stem = folder / f"{scene.prefix}{scene.first + frame * scene.step}"
            Image.fromarray(image).save(stem.with_suffix(".png"))
            stem.with_suffix(".txt").write_text(_yolo(labels, edges, shape))


def _yolo(labels: np.ndarray, edges: np.ndarray, shape: tuple[int, int]) -> str:
    """Return lines ``class x y width height``, relative to the image, for left, top, right, bottom edges."""
    shares = edges / (shape[::-1] * 2)
    rows = np.hstack([(shares[:, :2] + shares[:, 2:]) / 2, shares[:, 2:] - shares[:, :2]])
    lines = [
        " ".join([str(label), *(f"{value:.6f}" for value in row)])
        for label, row in zip(labels, rows, strict=True)
    ]
    return "\n".join(lines) + "\n"
