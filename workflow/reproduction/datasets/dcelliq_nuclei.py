"""HeLa nuclei like those of the DCellIQ software: a frame each quarter of an hour, faint and hazy."""

from pathlib import Path

from reproduction.datasets.nuclei_films import NucleiFilm, read_nuclei_films, simulate_films
from reproduction.datasets.simulators.nuclei import Laboratory
from reproduction.datasets.simulators.nuclei_optics import Microscope
from reproduction.datasets.simulators.nuclei_population import Culture

# HeLa cells double in 20 to 24 hours, and their nuclei measure some 230 square micrometres. The film is of
# the kind that a small camera takes: large pixels, little light and haze over the cells, but a frame every
# quarter of an hour. These cells are faster than those of the other laboratory, so that they go as far
# between two frames.
LABORATORY = Laboratory(
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
    # A typical nucleus stands out by ten standard deviations of a pixel's noise, a dim one by three.
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


def read_dcelliq_nuclei(folder: str | Path) -> tuple[NucleiFilm, ...]:
    """Read the two films."""
    return read_nuclei_films(folder)


def simulate_dcelliq_nuclei(folder: str | Path, seed: int, size: str) -> None:
    """Write two simulated films; see `simulate_films`."""
    simulate_films(folder, LABORATORY, seed, size)
