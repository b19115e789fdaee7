"""Simulated fluorescence microscope: frames of nuclei, and the true nucleus of each pixel."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import ndimage

from reproduction.datasets.simulators._nuclei_numba import paint_nuclei
from reproduction.datasets.simulators.nuclei_population import Looks
from reproduction.datasets.simulators.scenes.noise import Noise

#: Pixels drawn around the field of view, because light spreads into it.
_RIM = 24
#: Spread of haze in micrometers.
_HAZE_REACH = 9.0
#: Chromatin has structure of many sizes; a nucleus covers about twice this many pixels of a field of `Noise`.
_GRAIN = 28.0


@dataclass(frozen=True)
class Microscope:
    """Optics, camera and protocol of a laboratory."""

    pixel: float  #: micrometers
    interval: float  #: minutes between frames
    blur: float  #: standard deviation of the point spread in focus, micrometers
    focus_drift: float  #: standard deviation of its logarithm over the film
    haze: float  #: share of light that comes from out of focus
    photons: float  #: from a pixel of a typical nucleus
    background: float  #: photons from a pixel of the medium
    vignetting: float  #: share of light lost in the corners
    bleaching: float  #: share of fluorescence lost in an hour
    gain: float  #: gray values per photon
    offset: float  #: gray value of darkness
    read_noise: float  #: gray values
    jitter: float  #: of the stage from frame to frame, micrometers

    def binned(self, side: int) -> "Microscope":
        """Return the microscope with a camera that adds up squares of ``side`` times ``side`` pixels.

        The gray values of nuclei and background stay as they are.
        """
        pixels = side**2
        return replace(
            self,
            pixel=side * self.pixel,
            photons=pixels * self.photons,
            background=pixels * self.background,
            gain=self.gain / pixels,
        )


class Recording:
    """Recording of one film, with its lamp, medium, focus and stage."""

    def __init__(
        self,
        microscope: Microscope,
        shape: tuple[int, int],
        margin: float,
        frames: int,
        noise: Noise,
        rng: np.random.Generator,
    ):
        self.microscope, self.shape, self.noise, self._rng = microscope, shape, noise, rng
        rows, columns = (np.linspace(-1, 1, side) for side in shape)
        center = rng.normal(0, 0.2, 2)
        square = (rows[:, None] - center[0]) ** 2 + (columns - center[1]) ** 2
        self.light = 1 - microscope.vignetting * square / 2
        clouds = noise.crop("clouds", shape, rng)
        self.medium = np.exp(0.15 * clouds)
        self.stage = margin + microscope.jitter * rng.standard_normal((frames, 2))
        drift = np.cumsum(rng.standard_normal(frames)) / np.sqrt(frames)
        self.blur = microscope.blur * np.exp(microscope.focus_drift * np.abs(drift)) / microscope.pixel

    def take(self, frame: int, nuclei: np.ndarray, seen: Looks) -> tuple[np.ndarray, np.ndarray]:
        """Return the frame of 16 bits, and the number of the nucleus at each pixel, 0 for none."""
        microscope = self.microscope
        fluorescence, numbers = self._draw(frame, nuclei, seen)
        sharp, haze = (
            ndimage.gaussian_filter(fluorescence, spread, mode="constant", truncate=3)
            for spread in (self.blur[frame], _HAZE_REACH / microscope.pixel)
        )
        inner = (slice(_RIM, -_RIM),) * 2
        glow = ((1 - microscope.haze) * sharp + microscope.haze * haze)[inner]
        hours = frame * microscope.interval / 60
        glow *= microscope.photons * (1 - microscope.bleaching) ** hours
        photons = self.light * (glow + microscope.background * self.medium)
        # The counts are so large that their Poisson distribution is a normal one.
        noise = np.sqrt(microscope.gain**2 * photons + microscope.read_noise**2)
        gray = microscope.offset + microscope.gain * photons
        gray += noise * self._rng.standard_normal(self.shape, dtype=np.float32)
        return np.clip(np.rint(gray), 0, 65535).astype(np.uint16), numbers[inner]

    def _draw(self, frame: int, nuclei: np.ndarray, seen: Looks) -> tuple[np.ndarray, np.ndarray]:
        """Return the light of the nuclei, and the number of the nucleus at each pixel."""
        shape = tuple(side + 2 * _RIM for side in self.shape)
        fluorescence, numbers = np.zeros(shape, np.float32), np.zeros(shape, int)
        paint_nuclei(
            (nuclei["position"] - self.stage[frame]) / self.microscope.pixel + _RIM,
            seen.axes / self.microscope.pixel,
            *(np.ascontiguousarray(nuclei[name]) for name in ("angle", "bumps")),
            seen.decay,
            seen.level,
            *(np.ascontiguousarray(nuclei[name]) for name in ("texture", "number")),
            self.noise.field("pink"),
            _GRAIN,
            fluorescence,
            numbers,
        )
        return fluorescence, numbers
