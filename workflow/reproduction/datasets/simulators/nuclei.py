"""Films of a simulated population of nuclei under a microscope, with the true tracks."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from reproduction.datasets.simulators.nuclei_optics import Microscope, Recording
from reproduction.datasets.simulators.nuclei_population import STEP, Culture, Population, looks
from reproduction.datasets.simulators.scenes.noise import Noise

#: Smallest number of visible pixels of a tracked nucleus, a tenth of a small one.
VISIBLE = 20
#: Margin around the field of view with nuclei that may enter it, in micrometers.
_MARGIN = 50.0


@dataclass(frozen=True)
class Laboratory:
    """Cells and microscope of a laboratory."""

    culture: Culture
    microscope: Microscope
    number: int  #: part of the random seed, different for each laboratory


def take_film(
    laboratory: Laboratory, rng: np.random.Generator, frames: int, shape: tuple[int, int], tracks: "Tracks"
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield each frame and its mask of true labels, and record the lineage in ``tracks``."""
    microscope = laboratory.microscope
    extent = tuple(side * microscope.pixel + 2 * _MARGIN for side in shape)
    noise = Noise(rng)
    population = Population(laboratory.culture, extent, noise, rng)
    recording = Recording(microscope, shape, _MARGIN, frames, noise, rng)
    for frame in range(frames):
        image, numbers = recording.take(frame, population.nuclei, looks(population.nuclei))
        yield image, tracks.label(frame, numbers, population.nuclei)
        for _ in range(round(microscope.interval / STEP)):
            population.step()


class Tracks:
    """Labels of the visible nuclei over time, of which ``visible`` pixels at least are in view."""

    def __init__(self, visible: int = VISIBLE):
        self.visible = visible
        self.rows: dict[int, list[int]] = {}  #: begin, end and parent of each label
        self._labels: dict[int, int] = {}  # of the nuclei in view in the last frame, by their numbers

    def label(self, frame: int, numbers: np.ndarray, nuclei: np.ndarray) -> np.ndarray:
        """Convert the numbers of nuclei at the pixels to labels of tracks."""
        visible = np.bincount(numbers.ravel()) >= self.visible
        visible[0] = False
        parents = dict(zip(nuclei["number"].tolist(), nuclei["parent"].tolist(), strict=True))
        labels = {}
        for number in np.flatnonzero(visible).tolist():
            label = self._labels.get(number)
            if label is None:
                label = len(self.rows) + 1
                self.rows[label] = [frame, frame, self._labels.get(parents[number], 0)]
            self.rows[label][1] = frame
            labels[number] = label
        self._labels = labels
        table = np.zeros(len(visible), np.uint16)
        table[list(labels)] = list(labels.values())
        return table[numbers]

    def lines(self) -> list[str]:
        """Return the lines of ``man_track.txt``: label, begin, end, parent."""
        return [f"{label} {begin} {end} {parent}\n" for label, (begin, end, parent) in self.rows.items()]


def save_image(image: np.ndarray, path: Path, compression: str | None = "tiff_adobe_deflate") -> None:
    """Write an image to a TIFF file."""
    Image.fromarray(image).save(path, compression=compression)
