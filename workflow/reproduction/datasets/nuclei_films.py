"""Fluorescence films of cell nuclei with their true tracks, in the layout of the Cell Tracking Challenge.

``01/t000.tif``, ... are the frames of the first film, ``01_GT/TRA`` holds its truth; ``02`` is another film.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ermlab._utils.files import broken, list_series, require_folder
from ermlab._utils.image_files import ImageFiles, read_image
from ermlab.tracking.ctc import TrackedCells, read_tracked_cells
from reproduction.datasets.files import image_size
from reproduction.datasets.simulators.nuclei import Laboratory, Tracks, save_image, take_film
from reproduction.datasets.simulators.sizes import check_size


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


FILMS = ("01", "02")
#: Frames of a film, and the pixels of a frame.
SIZES = {"smoke": (6, (240, 260)), "demo": (30, (460, 500)), "paper": (100, (640, 800))}


def simulate_films(folder: str | Path, laboratory: Laboratory, seed: int, size: str) -> None:
    """Write two independent films of a laboratory with their truth.

    A track ends when too few pixels of its nucleus are in view; a nucleus that comes back
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
        images, masks = Path(folder, name), Path(folder, f"{name}_GT", "TRA")
        for target in (images, masks):
            target.mkdir(parents=True, exist_ok=True)
        tracks = Tracks()
        for frame, (image, mask) in enumerate(take_film(laboratory, rng, *SIZES[size], tracks)):
            save_image(image, images / f"t{frame:03d}.tif")
            save_image(mask, masks / f"man_track{frame:03d}.tif")
        (masks / "man_track.txt").write_text("".join(tracks.lines()))
