"""HeLa nuclei like those of the Mitocheck screen: a frame each half an hour, bright and sharp."""

from pathlib import Path

from reproduction.datasets.nuclei_films import NucleiFilm, read_nuclei_films, simulate_films
from reproduction.datasets.simulators.nuclei import Laboratory
from reproduction.datasets.simulators.nuclei_optics import Microscope
from reproduction.datasets.simulators.nuclei_population import Culture

# Fluo-N2DL-HeLa of the Cell Tracking Challenge comes from such a microscope. Pixel, interval and noise are
# as there; sizes, outlines, brightness, texture, distances and motion of the nuclei are close to what its
# frames show (`ctc_hela02_images`): axes 1.35 to 1, the next nucleus at 1.4 diameters, steps of a tenth of
# a diameter and now and then of a third. The culture is somewhat denser, as it becomes later in such
# films.
LABORATORY = Laboratory(
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


def read_mitocheck_nuclei(folder: str | Path) -> tuple[NucleiFilm, ...]:
    """Read the two films."""
    return read_nuclei_films(folder)


def simulate_mitocheck_nuclei(folder: str | Path, seed: int, size: str) -> None:
    """Write two simulated films; see `simulate_films`."""
    simulate_films(folder, LABORATORY, seed, size)
