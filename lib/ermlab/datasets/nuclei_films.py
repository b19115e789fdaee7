"""Fluorescence films of cell nuclei with their true tracks, in the layout of the Cell Tracking Challenge.

``01/t000.tif``, ... are the frames of the first film, ``01_GT/TRA`` holds its truth; ``02`` is another film.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from ermlab.datasets._files import ImageFiles, broken, image_size, list_series, read_image, require_folder
from ermlab.datasets._nuclei_optics import Microscope, Recording
from ermlab.datasets._nuclei_population import STEP, Culture, Population, looks
from ermlab.datasets._simulation import check_size
from ermlab.datasets.ctc import TrackedCells, read_tracked_cells
from ermlab.datasets.scenes.noise import Noise


@dataclass(frozen=True)
class NucleiFilm:
    """A film, its frames read when asked for, and the true tracks."""

    name: str
    frames: ImageFiles  #: grey, 8 or 16 bits
    truth: TrackedCells


def read_nuclei_films(folder: str | Path) -> tuple[NucleiFilm, ...]:
    """Read the films ``01``, ``02``, ...; each frame must have a mask of its shape."""
    folders = list_series(require_folder(folder), "[0-9][0-9]", first=1)
    return tuple(_read_film(path) for path in folders)


def _read_film(folder: Path) -> NucleiFilm:
    paths = list_series(folder, "t*.tif")
    truth = read_tracked_cells(folder.parent / f"{folder.name}_GT" / "TRA")
    if len(paths) != len(truth.masks):
        raise broken(folder, f"{len(paths)} frames", f"{len(truth.masks)}, as there are masks")
    shape = truth.masks[0].shape
    for path in paths:
        if image_size(path) != shape:
            raise broken(path, f"shape {image_size(path)}", f"{shape} as its mask")
    return NucleiFilm(folder.name, ImageFiles(paths, _read_frame), truth)


def _read_frame(path: Path) -> np.ndarray:
    frame = read_image(path)
    if frame.ndim != 2 or frame.dtype.kind != "u":
        raise broken(path, f"shape {frame.shape} of {frame.dtype}", "a grey image of 8 or 16 bits")
    return frame


@dataclass(frozen=True)
class Laboratory:
    """All that differs between the films of two laboratories."""

    culture: Culture
    microscope: Microscope
    number: int  #: laboratories have random numbers of their own


FILMS = ("01", "02")
#: Frames of a film, and the pixels of a frame.
SIZES = {"smoke": (6, (240, 260)), "demo": (30, (460, 500)), "paper": (100, (640, 800))}
#: A nucleus counts while so many of its pixels are in view, a tenth of a small one.
VISIBLE = 20
#: Nuclei live also around the view, from where they enter it; micrometres.
_MARGIN = 50.0


def simulate_films(folder: str | Path, laboratory: Laboratory, seed: int, size: str) -> None:
    """Write two independent films of a laboratory with their truth.

    A track ends when less than `VISIBLE` pixels of its nucleus are in view; a nucleus that comes back
    begins another one, without a parent. It ends in the frame before its children begin; a child that is not
    in view in the first frame after the division enters later without a parent.

    Parameters
    ----------
    folder
        Where to write.
    laboratory
        Whose cells and microscope.
    seed
        Of all that is random.
    size
        ``"smoke"``, ``"demo"`` or ``"paper"``.
    """
    check_size(size, SIZES)
    for number, name in enumerate(FILMS):
        rng = np.random.default_rng([seed, laboratory.number, number])
        _simulate_film(Path(folder), name, laboratory, rng, *SIZES[size])


def _simulate_film(
    folder: Path,
    name: str,
    laboratory: Laboratory,
    rng: np.random.Generator,
    frames: int,
    shape: tuple[int, int],
) -> None:
    images, masks = folder / name, folder / f"{name}_GT" / "TRA"
    for target in (images, masks):
        target.mkdir(parents=True, exist_ok=True)
    microscope = laboratory.microscope
    extent = tuple(side * microscope.pixel + 2 * _MARGIN for side in shape)
    noise = Noise(rng)
    population = Population(laboratory.culture, extent, noise, rng)
    recording = Recording(microscope, shape, _MARGIN, frames, noise, rng)
    tracks = _Tracks()
    for frame in range(frames):
        image, numbers = recording.take(frame, population.nuclei, looks(population.nuclei))
        _save(image, images / f"t{frame:03d}.tif")
        _save(tracks.label(frame, numbers, population.nuclei), masks / f"man_track{frame:03d}.tif")
        for _ in range(round(microscope.interval / STEP)):
            population.step()
    lines = (f"{label} {begin} {end} {parent}\n" for label, (begin, end, parent) in tracks.rows.items())
    (masks / "man_track.txt").write_text("".join(lines))


class _Tracks:
    """Labels of the nuclei in view, from frame to frame."""

    def __init__(self):
        self.rows: dict[int, list[int]] = {}  #: begin, end and parent of each label
        self._labels: dict[int, int] = {}  # of the nuclei in view in the last frame, by their numbers

    def label(self, frame: int, numbers: np.ndarray, nuclei: np.ndarray) -> np.ndarray:
        """Turn the numbers of nuclei at the pixels into labels of tracks."""
        visible = np.bincount(numbers.ravel()) >= VISIBLE
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


def _save(image: np.ndarray, path: Path) -> None:
    Image.fromarray(image).save(path, compression="tiff_adobe_deflate")
