"""Detection of bright nuclei on a dark background.

The background is subtracted. Cores of nuclei are where the curvature relative to the brightness (Laplacian of
Gaussian over Gaussian) is that of a blob; they are cut at their necks by a distance transform. A watershed
grows the cores to whole nuclei, each up to a share of its own brightness.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from skimage.filters import threshold_otsu

from ermlab.tracking._regions import (
    basins,
    block_means,
    drop_small,
    fill_basins,
    fill_holes,
    label,
    spread_blocks,
)
from ermlab.tracking.cells import as_image, join_frames, match_tracks, measure
from ermlab.tracking.ctc import TrackedCells
from ermlab.tracking.events import Cells
from ermlab.tracking.films import CellFilm

Image = NDArray[np.float32]
Labels = NDArray[np.int64]

#: The background is this percentile of block means within this number of diameters.
_PERCENTILE, _REACH = 25, 4.0
#: The noise is this percentile of the standard deviations within blocks.
_QUIET = 10
#: Smallest noise relative to the range of the image: synthetic images may have none.
_MIN_NOISE = 1e-4
#: Smallest standard deviation of smoothing, in pixels.
_MIN_SMOOTHING = 0.7
#: Pixels per diameter of the coarse image on which blobs are found.
_COARSE = 10
#: Smoothing of the distance transform, and smallest distance between its maxima; in diameters.
_DEPTH_SMOOTHING, _BETWEEN_TOPS = 0.08, 0.3
#: In pixels: the smallest diameter, and the one if no frame has a nucleus.
_MIN_DIAMETER, _USUAL_DIAMETER = 6.0, 20.0
#: Ratio of the diameter of a disc of the same area to that of the largest circle inside: nuclei are ellipses.
_STRETCH = 1.2
#: Number of frames from which the typical diameter is estimated.
_DIAMETER_FRAMES = 5
#: Powers of 2 between which the largest value of an image is scaled: squares stay in single precision.
_EXPONENTS = (-40, 40)
#: Range of the settings: thresholds stay in single precision.
_MIN_SETTING, _MAX_SETTING = 1e-6, 1e6
#: Largest standard deviation of a Gaussian, in diameters.
_WIDEST = 10.0
#: Detections look like noise if there are this many, their median contrast is below this multiple of the
#: smallest one, and the negative of the image has this share of their number.
_MANY, _CLEAR, _AS_MANY = 10, 2.0, 0.5
#: In pixels: the largest diameter is this, or twice the size of the image.
_LARGE_DIAMETER = 1000


@dataclass(frozen=True)
class DetectionSettings:
    """Settings of the detection of nuclei.

    Parameters
    ----------
    diameter : float, optional
        Diameter of a typical nucleus in pixels, by default estimated from the images.
    contrast : float, default=6.0
        Smallest brightness above the background, in standard deviations of the noise.
    smoothing, blob : float, default=0.06, 0.2
        Standard deviations of the Gaussians that smooth an image and that find blobs, in diameters.
    core, peak : float, default=0.02, 0.2
        Smallest curvature relative to the brightness: everywhere in the core of a nucleus, and at its
        maximum.
    neck : float, default=0.85
        Two parts are one nucleus if their neck is wider than this share of the narrower part.
    level : float, default=0.5
        The outline of a nucleus is where this share of the brightness of its core is reached.
    smallest : float, default=0.08
        Smallest area of a nucleus, as a share of that of a typical one.
    """

    diameter: float | None = None
    contrast: float = 6.0
    smoothing: float = 0.06
    blob: float = 0.2
    core: float = 0.02
    peak: float = 0.2
    neck: float = 0.85
    level: float = 0.5
    smallest: float = 0.08

    def __post_init__(self) -> None:
        numbers = {name: value for name, value in vars(self).items() if value is not None}
        for name, value in numbers.items():
            if not _MIN_SETTING <= value <= _MAX_SETTING:
                raise ValueError(
                    f"{name} is {value}: expected a positive number, from {_MIN_SETTING:g} to "
                    f"{_MAX_SETTING:g}"
                )
        for name in ("neck", "level", "smallest"):
            if numbers[name] >= 1:
                raise ValueError(f"{name} is {numbers[name]}: expected a share below 1")
        for name in ("smoothing", "blob"):
            if numbers[name] > _WIDEST:
                raise ValueError(f"{name} is {numbers[name]}: expected at most {_WIDEST} diameters")


def detect(image: ArrayLike, settings: DetectionSettings | None = None) -> Labels:
    """Detect the nuclei of an image.

    Parameters
    ----------
    image : array-like of shape (height, width)
        A gray image.
    settings : DetectionSettings, optional
        Settings, by default the default ones.

    Returns
    -------
    ndarray of int of shape (height, width)
        Label image of the nuclei, numbered from 1; 0 for the background.
    """
    ((labels, _),) = detect_frames([image], settings)
    return labels


def film_of_images(
    images: Sequence[ArrayLike], settings: DetectionSettings | None = None, truth: TrackedCells | None = None
) -> CellFilm:
    """Return the film of the nuclei that are detected in images; a frame may have none.

    Parameters
    ----------
    images : sequence of array-like of shape (height, width)
        The frames.
    settings : DetectionSettings, optional
        Settings of the detection.
    truth : TrackedCells, optional
        True masks of each frame and their lineage: detections get the tracks that `match_tracks` finds.
        Without it no track is known.
    """
    if truth is not None and len(truth.masks) != len(images):
        raise ValueError(f"{len(images)} images and {len(truth.masks)} true masks: expected the same number")
    frames, tracks = [], []
    for t, (labels, cells) in enumerate(detect_frames(images, settings)):
        frames.append(cells)
        if truth is not None:
            tracks.append(match_tracks(labels, truth.masks[t]) - np.array([1, 0]))
    return join_frames(frames) if truth is None else join_frames(frames, tracks, truth.lineage)


def detect_frames(
    images: Iterable[ArrayLike], settings: DetectionSettings | None = None
) -> Iterator[tuple[Labels, Cells]]:
    """Yield for each frame the label image of its nuclei, and their measurements by ascending label.

    Frames are used one after the other, and not kept. Unless ``settings`` contain the diameter of a nucleus,
    ``images`` must be a sequence, of which a few frames are read first to estimate it.

    The intensity is the mean above the background, at least the standard deviation of the noise. A warning
    names the frames in which most detections look like noise: they are barely brighter than it, and the
    negative of the image has nearly as many.
    """
    settings = settings or DetectionSettings()
    if settings.diameter is None:
        if not hasattr(images, "__getitem__"):
            raise ValueError(
                f"images is a {type(images).__name__}, which can be read only once: expected a sequence, or "
                "the diameter of a nucleus in `DetectionSettings`"
            )
        settings = replace(settings, diameter=typical_diameter(images, settings.contrast))
    doubtful: list[str] = []
    for t, image in enumerate(images):
        image, exponent = _in_range(image)
        widest = max(2 * max(image.shape), _LARGE_DIAMETER)
        if settings.diameter > widest:
            raise ValueError(
                f"diameter is {settings.diameter}: expected at most {widest} pixels in an image of shape "
                f"{image.shape}"
            )
        labels, cells, noise = _detect_nuclei(image, settings)
        if found := _noise_like(image, cells, noise, settings):
            doubtful.append(f"frame {t} has {found}")
        with np.errstate(over="ignore"):  # `Cells` rejects infinite values
            light = np.ldexp(np.maximum(cells.intensity, noise), exponent)
        yield labels, replace(cells, intensity=light)
    if doubtful:
        warnings.warn(
            f"detections look like noise in {len(doubtful)} of {t + 1} frames: {doubtful[0]}. Set the "
            f"diameter of a nucleus in pixels (it was {settings.diameter:.3g}) or a higher contrast (it was "
            f"{settings.contrast:g}) in `DetectionSettings`, or use masks of your own",
            UserWarning,
            stacklevel=2,
        )


def _detect_nuclei(image: Image, settings: DetectionSettings) -> tuple[Labels, Cells, float]:
    """Return the label image of the nuclei, their measurements, and the standard deviation of the noise."""
    signal = image - _background(image, settings.diameter)
    smooth = ndimage.gaussian_filter(
        signal, max(settings.smoothing * settings.diameter, _MIN_SMOOTHING), mode="nearest", truncate=3
    )
    noise = _noise(smooth, settings.diameter)
    labels = _segment(smooth, noise, settings)
    cells = measure(labels)[1]
    # Not by `measure`, which rejects a mean below 0: it may occur beside a much brighter spot.
    light = np.bincount(labels.ravel(), weights=signal.ravel())[1:] / cells.area
    return labels, replace(cells, intensity=np.maximum(light, noise)), noise


def measure_nuclei(labels: ArrayLike, image: ArrayLike) -> tuple[Labels, Cells]:
    """Return the labels of the regions of an image, ascending, and their measurements as in `detect_frames`.

    Unlike in `measure`, the intensity is the mean above the background, at least the standard deviation of
    the noise.

    Parameters
    ----------
    labels : array-like of shape (height, width)
        Label image, 0 for the background.
    image : array-like of shape (height, width)
        A gray image.
    """
    numbers, cells = measure(labels)
    signal, exponent = _in_range(as_image(image, cells.shape))
    if not len(numbers):
        return numbers, cells
    diameter = min(max(_disc_diameter(cells), _MIN_DIAMETER), max(2 * max(cells.shape), _LARGE_DIAMETER))
    signal = signal - _background(signal, diameter)
    noise = _noise(ndimage.gaussian_filter(signal, _MIN_SMOOTHING, mode="nearest", truncate=3), diameter)
    labels = np.asarray(labels)
    inside = labels > 0
    region = np.searchsorted(numbers, labels[inside])
    light = np.bincount(region, weights=signal[inside]) / cells.area
    # An image without any contrast has no noise either.
    light = np.ldexp(np.maximum(light, noise or 1.0), exponent)
    return numbers, replace(cells, intensity=light)


def _disc_diameter(cells: Cells) -> float:
    """Return the diameter of a disc with the median area of the cells."""
    return float(np.sqrt(4 / np.pi * np.median(cells.area)))


def _noise_like(image: Image, cells: Cells, noise: float, settings: DetectionSettings) -> str | None:
    """Describe detections that look like noise; None if they do not.

    Noise and texture are about as often dark as bright, and rarely exceed the smallest contrast by much. So
    detections are doubtful if most of them are faint, and the negative of the image has nearly as many, which
    cannot be nuclei.
    """
    n = len(cells.area)
    if n < _MANY or noise <= 0:
        return None
    contrast = float(np.median(cells.intensity)) / noise
    if contrast >= _CLEAR * settings.contrast:
        return None
    n_dark = len(_detect_nuclei(image.max() - image, settings)[1].area)
    if n_dark < _AS_MANY * n:
        return None
    return f"{n} detections of a median contrast of {contrast:.2g}, and {n_dark} in its negative"


def typical_diameter(images: Sequence[ArrayLike], contrast: float = 6.0) -> float:
    """Return the diameter of a disc with the area of a typical nucleus, in pixels.

    It is estimated from the largest circle in each bright region, so that nuclei may touch. Frames without
    regions of the given ``contrast`` (in standard deviations of the noise) are ignored, and so are those with
    a region of half the height or width.
    """
    shown = np.unique(np.linspace(0, len(images) - 1, _DIAMETER_FRAMES).astype(int)) if len(images) else []
    found = [_typical_circle(_in_range(images[t])[0], contrast) for t in shown]
    known = [diameter for diameter in found if diameter is not None]
    return max(_STRETCH * float(np.median(known)), _MIN_DIAMETER) if known else _USUAL_DIAMETER


def _in_range(image: ArrayLike) -> tuple[Image, int]:
    """Return an image in single precision, and the power of 2 by which it was divided, usually 2**0."""
    image = as_image(image)
    exponent = int(np.frexp(np.abs(image).max())[1])
    if _EXPONENTS[0] <= exponent <= _EXPONENTS[1]:
        return image.astype(np.float32), 0
    return np.ldexp(image, -exponent).astype(np.float32), exponent


def _typical_circle(image: Image, contrast: float) -> float | None:
    """Return the median diameter of the circles in bright regions, weighted by the area of the region."""
    signal = image - _background(image, 2 * _USUAL_DIAMETER)
    smooth = ndimage.gaussian_filter(signal, _MIN_SMOOTHING, mode="nearest", truncate=3)
    bright = smooth > threshold_otsu(smooth)
    if not bright.any():
        return None
    if smooth[bright].mean() - smooth[~bright].mean() < contrast * _noise(smooth, _USUAL_DIAMETER):
        return None
    depth = ndimage.distance_transform_edt(bright)
    regions = label(bright, connectivity=1)
    radius = ndimage.maximum(depth, regions, np.arange(1, regions.max() + 1))
    order = np.argsort(radius)
    area = np.cumsum(np.bincount(regions.ravel())[1:][order])
    diameter = 2 * float(radius[order][np.searchsorted(area, area[-1] / 2)])
    return diameter if diameter < min(image.shape) / 2 else None


def _background(image: Image, diameter: float) -> Image:
    """Return a low percentile of the surroundings of each pixel, smoothed."""
    side = max(1, round(diameter / 2))
    window = int(_REACH * diameter / side) | 1
    low = ndimage.percentile_filter(block_means(image, side), _PERCENTILE, size=window, mode="nearest")
    return spread_blocks(ndimage.gaussian_filter(low, window / 4, mode="nearest"), side, image.shape)


def _noise(smooth: Image, diameter: float) -> float:
    """Return the standard deviation of the noise of a smoothed image, from its most uniform blocks."""
    side = max(1, round(diameter / 2))
    variance = block_means(smooth**2, side) - block_means(smooth, side) ** 2
    noise = np.percentile(np.sqrt(np.maximum(variance, 0)), _QUIET)
    return float(max(noise, _MIN_NOISE * np.ptp(smooth)))


def _segment(smooth: Image, noise: float, settings: DetectionSettings) -> Labels:
    """Return the label image of the nuclei of an image without background."""
    floor, smallest = settings.contrast * noise, _smallest_area(settings)
    mask = fill_holes(smooth > floor, smallest)
    parts = _cores(smooth, mask, floor, settings) if mask.any() else mask
    inside = np.flatnonzero(parts)
    if not len(inside):
        return np.zeros(mask.shape, dtype=np.int64)
    grown = fill_basins(smooth, parts, mask)
    part = parts.ravel()[inside]
    brightness = np.bincount(part, weights=smooth.ravel()[inside]) / np.maximum(np.bincount(part), 1)
    return drop_small(np.where(smooth > settings.level * brightness[grown], grown, 0), smallest)


def _smallest_area(settings: DetectionSettings) -> float:
    return settings.smallest * np.pi / 4 * settings.diameter**2


def _cores(smooth: Image, mask: NDArray[np.bool_], floor: float, settings: DetectionSettings) -> Labels:
    """Return the cores of nuclei within a mask: parts between necks with the curvature of a blob."""
    curvature = _curvature(np.maximum(smooth, 0), floor, settings)
    parts = _cut(fill_holes(mask & (curvature > settings.core), _smallest_area(settings)), settings)
    sure = np.bincount(parts[curvature >= settings.peak], minlength=parts.max() + 1) > 0
    return np.where(sure[parts], parts, 0)


def _curvature(image: Image, floor: float, settings: DetectionSettings) -> Image:
    """Return the downward curvature of an image at the scale of a blob, relative to its brightness."""
    side = max(1, int(settings.diameter / _COARSE))
    width = settings.blob * settings.diameter / side
    coarse = block_means(image, side)
    curved = -(width**2) * ndimage.gaussian_laplace(coarse, width, mode="nearest")
    brightness = ndimage.gaussian_filter(coarse, width, mode="nearest")
    return spread_blocks(curved / (brightness + floor), side, image.shape)


def _cut(core: NDArray[np.bool_], settings: DetectionSettings) -> Labels:
    """Return the parts of a mask between its necks."""
    depth = ndimage.distance_transform_edt(core).astype(np.float32)
    depth = ndimage.gaussian_filter(depth, _DEPTH_SMOOTHING * settings.diameter)
    window = int(_BETWEEN_TOPS * settings.diameter) | 1
    tops = core & (depth == ndimage.maximum_filter(depth, window, mode="nearest"))
    return basins(depth, tops, core, settings.neck)
