"""Simulated fluorescence microscope: frames of nuclei, and the true nucleus of each pixel."""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from reproduction.datasets.simulators.nuclei_population import HARMONICS, Looks
from reproduction.datasets.simulators.scenes.noise import Noise

#: Pixels drawn around the field of view, because light spreads into it.
_RIM = 24
#: Spread of haze in micrometers.
_HAZE_REACH = 9.0
#: Chromatin has structure of many sizes; a nucleus covers about twice this many pixels of a field of `Noise`.
_GRAIN = 28.0
#: Number of fragments of a dying nucleus.
_PIECES = 3


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
        photons = self._rng.poisson(self.light * (glow + microscope.background * self.medium))
        gray = microscope.offset + microscope.gain * photons
        gray += microscope.read_noise * self._rng.standard_normal(self.shape)
        return np.clip(np.rint(gray), 0, 65535).astype(np.uint16), numbers[inner]

    def _draw(self, frame: int, nuclei: np.ndarray, seen: Looks) -> tuple[np.ndarray, np.ndarray]:
        """Paint each nucleus in its window; a pixel in two nuclei belongs to that in which it is deeper."""
        shape = tuple(side + 2 * _RIM for side in self.shape)
        fluorescence, numbers = np.zeros(shape, np.float32), np.zeros(shape, int)
        depth = np.ones(shape)
        centers = (nuclei["position"] - self.stage[frame]) / self.microscope.pixel + _RIM
        axes = seen.axes / self.microscope.pixel
        for index, nucleus in enumerate(nuclei):
            window = _window(centers[index], 1.6 * axes[index, 0] + 2, shape)
            if window is None:
                continue
            along, across = _own_coordinates(window, centers[index], nucleus["angle"], axes[index])
            inside = _distance(along, across, nucleus["bumps"], seen.decay[index])
            edge = np.clip((1 - inside) * np.sqrt(axes[index].prod()) + 0.5, 0, 1)
            chromatin = self._chromatin(along, across, nucleus["texture"])
            fluorescence[window] += seen.level[index] * edge * chromatin
            nearer = inside < depth[window]
            depth[window][nearer] = inside[nearer]
            numbers[window][nearer] = nucleus["number"]
        return fluorescence, numbers

    def _chromatin(self, along: np.ndarray, across: np.ndarray, texture: np.ndarray) -> np.ndarray:
        strength, row, column = texture
        pattern = self.noise.at("pink", row + _GRAIN * along, column + _GRAIN * across)
        return np.clip(1 + strength * pattern, 0.2, 2)


def _window(center: np.ndarray, reach: float, shape: tuple[int, int]) -> tuple[slice, slice] | None:
    """Return the part of the canvas within ``reach`` of a center, None if there is none."""
    low = np.maximum(np.floor(center - reach).astype(int), 0)
    high = np.minimum(np.ceil(center + reach).astype(int) + 1, shape)
    return None if (low >= high).any() else (slice(low[0], high[0]), slice(low[1], high[1]))


def _own_coordinates(window, center, angle: float, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates along and across a nucleus, in which its ellipse is the unit circle."""
    rows = np.arange(window[0].start, window[0].stop)[:, None] - center[0]
    columns = np.arange(window[1].start, window[1].stop) - center[1]
    sine, cosine = np.sin(angle), np.cos(angle)
    return (rows * cosine + columns * sine) / axes[0], (columns * cosine - rows * sine) / axes[1]


def _distance(along: np.ndarray, across: np.ndarray, bumps: np.ndarray, decay: float) -> np.ndarray:
    """Return the distance from the center relative to the radius of the outline: below 1 inside.

    A dying nucleus breaks into pieces that move outwards.
    """
    apart = np.clip((decay - 0.4) / 0.6, 0, 1)
    if apart > 0:
        directions = bumps[1, :_PIECES]
        pieces = [np.hypot(along - apart * np.cos(d), across - apart * np.sin(d)) for d in directions]
        return np.minimum.reduce(pieces) / (1 - 0.5 * apart)
    direction = np.arctan2(across, along)
    outline = 1 + sum(
        amplitude * np.cos(frequency * direction + phase)
        for frequency, amplitude, phase in zip(HARMONICS, *bumps, strict=True)
    )
    return np.hypot(along, across) / np.clip(outline, 0.4, 1.5)
