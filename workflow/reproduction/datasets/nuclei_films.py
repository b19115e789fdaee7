"""Fluorescence films of HeLa nuclei of two laboratories, with their true tracks.

The layout is that of the Cell Tracking Challenge: ``01/t000.tif``, ... are the frames of the first film,
``01_GT/TRA`` is its ground truth, ``02`` is the second film, and so on. `DCELLIQ` simulates films like those
of the DCellIQ software, faint and hazy, with a frame every 15 minutes; `MITOCHECK` those of the Mitocheck
screen, bright and sharp, with a frame every 30 minutes.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ermlab._utils.files import broken, list_series, require_folder
from ermlab._utils.image_files import ImageFiles, read_image
from ermlab.tracking.ctc import TrackedCells, read_tracked_cells
from reproduction.datasets.files import image_size
from reproduction.datasets.simulators.nuclei import VISIBLE, Laboratory, Tracks, save_image, take_film
from reproduction.datasets.simulators.nuclei_optics import Microscope
from reproduction.datasets.simulators.nuclei_population import Culture
from reproduction.datasets.simulators.sizes import check_size


@dataclass(frozen=True)
class NucleiFilm:
    """A film, whose frames are read on access, and its true tracks."""

    name: str
    frames: ImageFiles  #: gray levels of 8 or 16 bits
    truth: TrackedCells


def read_nuclei_films(folder: str | Path) -> tuple[NucleiFilm, ...]:
    """Read the films ``01``, ``02``, ...; each frame must have a mask of its shape."""
    folders = list_series(require_folder(folder), "[0-9][0-9]", first=1)
    return tuple(_read_film(path) for path in folders)


def _read_film(folder: Path) -> NucleiFilm:
    paths = list_series(folder, "t*.tif")
    truth = read_tracked_cells(folder.parent / f"{folder.name}_GT" / "TRA")
    if len(paths) != len(truth.masks):
        raise broken(folder, f"{len(paths)} frames", f"{len(truth.masks)}, one per mask")
    shape = truth.masks[0].shape
    for path in paths:
        if image_size(path) != shape:
            raise broken(path, f"shape {image_size(path)}", f"{shape} like its mask")
    return NucleiFilm(folder.name, ImageFiles(paths, _read_frame), truth)


def _read_frame(path: Path) -> np.ndarray:
    frame = read_image(path)
    if frame.ndim != 2 or frame.dtype.kind != "u":
        raise broken(path, f"shape {frame.shape} of {frame.dtype}", "a gray image of 8 or 16 bits")
    return frame


#: Films of a laboratory.
N_FILMS = {"smoke": 3, "demo": 9, "paper": 13}
#: The camera adds up squares of this side of the pixels of the microscopes below: nuclei remain large enough
#: for the detection, in a quarter of the time.
BINNING = 2
#: Frames of a film, and the (binned) pixels of a frame. Films have the published number of frames, and some
#: 24,000 nuclei in all of them.
SIZES = {"smoke": (6, (120, 130)), "demo": (100, (320, 400)), "paper": (100, (320, 400))}

# HeLa cells double in 20 to 24 hours, and their nuclei measure about 230 square micrometers. The films
# resemble those of a small camera: large pixels, little light and haze over the cells. The cells are faster
# than those of the other laboratory, so that they move as far between two frames.
DCELLIQ = Laboratory(
    number=3,
    culture=Culture(
        spacing=2000,
        clumping=0.5,
        area=230,
        area_spread=0.18,
        ratio=1.35,
        bumps=0.09,
        brightness_spread=0.25,
        dim=0.02,
        texture=0.25,
        speed=0.12,
        speed_spread=0.35,
        persistence=30,
        cycle=22 * 60,
        death=4,
    ),
    # A typical nucleus exceeds the background by ten standard deviations of the noise, a dim one by three.
    microscope=Microscope(
        pixel=0.8,
        interval=15,
        blur=0.9,
        focus_drift=0.25,
        haze=0.2,
        photons=140,
        background=60,
        vignetting=0.3,
        bleaching=0.02,
        gain=2.0,
        offset=100,
        read_noise=6,
        jitter=0.25,
    ),
)

# Fluo-N2DL-HeLa of the Cell Tracking Challenge comes from such a microscope. Pixel, interval and noise are as
# there; sizes, outlines, brightness, texture, distances and motion of the nuclei are close to those of its
# frames (`ctc_hela02_images`): axes 1.35 to 1, the next nucleus at 1.4 diameters, steps of a tenth of a
# diameter and sometimes of a third. The culture is somewhat denser, like later parts of such films.
MITOCHECK = Laboratory(
    number=4,
    culture=Culture(
        spacing=1600,
        clumping=0.3,
        area=265,
        area_spread=0.2,
        ratio=1.32,
        bumps=0.11,
        brightness_spread=0.3,
        dim=0.06,
        texture=0.32,
        speed=0.065,
        speed_spread=0.5,
        persistence=40,
        cycle=28 * 60,
        death=3,
    ),
    microscope=Microscope(
        pixel=0.645,
        interval=30,
        blur=0.7,
        focus_drift=0.1,
        haze=0.03,
        photons=1000,
        background=70,
        vignetting=0.15,
        bleaching=0.005,
        gain=0.65,
        offset=100,
        read_noise=3,
        jitter=0.25,
    ),
)


def simulate_dcelliq_nuclei(folder: str | Path, seed: int, size: str) -> None:
    """Write simulated films of the laboratory `DCELLIQ`."""
    _simulate_films(folder, DCELLIQ, seed, size)


def simulate_mitocheck_nuclei(folder: str | Path, seed: int, size: str) -> None:
    """Write simulated films of the laboratory `MITOCHECK`."""
    _simulate_films(folder, MITOCHECK, seed, size)


def _simulate_films(folder: str | Path, laboratory: Laboratory, seed: int, size: str) -> None:
    """Write independent films of a laboratory with their ground truth.

    A track ends when too few pixels of its nucleus are in view; a nucleus that returns starts another track
    without a parent. A track with children ends in the frame before they begin; a child that is not in view
    in the first frame after the division enters later without a parent.
    """
    check_size(size, SIZES)
    binned = replace(laboratory, microscope=laboratory.microscope.binned(BINNING))
    for number in range(N_FILMS[size]):
        name = f"{number + 1:02d}"
        rng = np.random.default_rng([seed, laboratory.number, number])
        images, masks = Path(folder, name), Path(folder, f"{name}_GT", "TRA")
        for target in (images, masks):
            target.mkdir(parents=True, exist_ok=True)
        tracks = Tracks(visible=VISIBLE // BINNING**2)
        for frame, (image, mask) in enumerate(take_film(binned, rng, *SIZES[size], tracks)):
            save_image(image, images / f"t{frame:03d}.tif", compression=None)  # noise does not compress
            save_image(mask, masks / f"man_track{frame:03d}.tif")
        (masks / "man_track.txt").write_text("".join(tracks.lines()))
