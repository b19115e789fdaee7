"""KIT AIS: aerial frames of streets, with boxes around the cars."""

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
    labels = as_integers(text, labels, "class")
    if (shares < 0).any() or (shares > 1).any():
        raise broken(text, "a share out of range", "class x y width height, shares in [0, 1]")
    centre, size = shares[:, :2] * (width, height), shares[:, 2:] * (width, height)
    return labels, np.hstack([centre - size / 2, centre + size / 2 - 1])


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


@dataclass(frozen=True)
class _Scene:
    """A scene of the real data: how its files are named, how large its frames are and how many there are."""

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
#: Frames of a scene at most, and the width of a frame at most.
SIZES = {"smoke": (2, 460), "demo": (4, 1764), "paper": (10, 1764)}


def simulate_kit_ais_cars(folder: str | Path, seed: int, size: str) -> None:
    """Write simulated frames of three places with the names and the layout of the real ones.

    Parameters
    ----------
    folder
        Where to write.
    seed
        Of all that is random.
    size
        ``"smoke"``, ``"demo"`` or ``"paper"``, which has as many frames as the real data, as large as there.
    """
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
    """Return lines ``class x y width height`` in shares of the image for left, top, right, bottom edges."""
    shares = edges / (shape[::-1] * 2)
    rows = np.hstack([(shares[:, :2] + shares[:, 2:]) / 2, shares[:, 2:] - shares[:, :2]])
    lines = [
        " ".join([str(label), *(f"{value:.6f}" for value in row)])
        for label, row in zip(labels, rows, strict=True)
    ]
    return "\n".join(lines) + "\n"
