"""Snakes on a grid: every cell of a snake shows by its color where the next cell is.

Nowozin, Rother, Bagon, Sharp, Yao and Kohli, Decision Tree Fields, ICCV 2011.
"""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ermlab._utils.files import broken, require_folder
from reproduction.datasets.array_pickle import read_array_pickle
from reproduction.datasets.simulators.sizes import check_size

#: Cells of a snake, which have the labels 1 to 10; 0 is the background.
LENGTH = 10
BACKGROUND = (0, 0, 255)
#: Color of a cell for the step (rows, columns) to the next one. The color of the last cell is arbitrary.
STEP_COLORS = {(-1, 0): (255, 0, 0), (1, 0): (0, 255, 0), (0, 1): (255, 255, 0), (0, -1): (0, 255, 255)}
#: All colors, the background first.
COLORS = np.array([BACKGROUND, *STEP_COLORS.values()], dtype=np.uint8)
_FILE = "snakes.pickle"


@dataclass(frozen=True)
class SnakeImages:
    """Images of one snake each, with different sizes."""

    colors: tuple[np.ndarray, ...]  #: each (height, width), indices into `COLORS`
    labels: tuple[np.ndarray, ...]  #: each (height, width), 0 to 10

    def __len__(self) -> int:
        return len(self.colors)


@dataclass(frozen=True)
class Snakes:
    """Training and test images."""

    train: SnakeImages
    test: SnakeImages


def read_snakes(folder: str | Path) -> Snakes:
    """Read ``snakes.pickle``."""
    path = require_folder(folder) / _FILE
    content = read_array_pickle(path)
    return Snakes(*(_part(path, content, part) for part in ("train", "test")))


def _part(path: Path, content: Any, part: str) -> SnakeImages:
    images, labels = (content.get(f"{name}_{part}") if isinstance(content, dict) else None for name in "XY")
    if not isinstance(images, list) or not isinstance(labels, list) or not len(images) == len(labels) > 0:
        raise broken(path, f"no X_{part} with as many Y_{part}", "lists of images and of labels")
    pairs = enumerate(zip(images, labels, strict=True))
    places = [_check_image(f"{path}, {part} image {number}", *pair) for number, pair in pairs]
    return SnakeImages(tuple(places), tuple(truth.astype(np.int64) for truth in labels))


def _check_image(place: str, image: Any, truth: Any) -> np.ndarray:
    """Return the colors of the cells."""
    if not isinstance(truth, np.ndarray) or truth.ndim != 2 or truth.dtype.kind not in "iu":
        raise broken(place, "labels of another kind", "integers in rows and columns")
    if not isinstance(image, np.ndarray) or image.shape != (*truth.shape, 3) or image.dtype.kind not in "iu":
        raise broken(place, "an image of another kind", f"integers of shape {(*truth.shape, 3)}")
    wanted = np.arange(LENGTH + 1)
    found, counts = np.unique(truth, return_counts=True)
    if not np.array_equal(found, wanted) or (counts[1:] != 1).any():
        raise broken(place, "another set of labels", f"each of 1 to {LENGTH} once, and 0")
    same = (image[:, :, None] == COLORS).all(axis=-1)
    if not same.any(axis=-1).all():
        raise broken(place, "a color that is not in use", f"one of {COLORS.tolist()}")
    return same.argmax(axis=-1)


#: Training and test images of each size; the real data have 200 and 100.
SIZES = {"smoke": (30, 20), "demo": (200, 100), "paper": (200, 100)}


def simulate_snakes(folder: str | Path, seed: int, size: str) -> None:
    """Write images of snakes that walk at random and never cross themselves."""
    check_size(size, SIZES)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    content = {}
    for number, (part, count) in enumerate(zip(("train", "test"), SIZES[size], strict=True)):
        rng = np.random.default_rng([seed, number])
        images, labels = zip(*(_draw_snake(rng) for _ in range(count)), strict=True)
        content |= {f"X_{part}": list(images), f"Y_{part}": list(labels)}
    (folder / _FILE).write_bytes(pickle.dumps(content, protocol=3))


def _draw_snake(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return an image with one cell of background around the snake, and its labels."""
    cells = _walk(rng)
    steps = [*np.diff(cells, axis=0), list(STEP_COLORS)[rng.integers(4)]]
    cells = cells - cells.min(axis=0) + 1
    shape = cells.max(axis=0) + 2
    image = np.full((*shape, 3), BACKGROUND, dtype=np.uint8)
    labels = np.zeros(shape, dtype=np.uint8)
    for number, ((row, column), step) in enumerate(zip(cells, steps, strict=True), start=1):
        image[row, column] = STEP_COLORS[tuple(int(part) for part in step)]
        labels[row, column] = number
    return image, labels


def _walk(rng: np.random.Generator) -> np.ndarray:
    """Return the cells of a walk to free neighbors; one that gets stuck begins again."""
    while True:
        cells = [(0, 0)]
        while len(cells) < LENGTH:
            row, column = cells[-1]
            free = [
                cell for down, right in STEP_COLORS if (cell := (row + down, column + right)) not in cells
            ]
            if not free:
                break
            cells.append(free[rng.integers(len(free))])
        else:
            return np.array(cells)
