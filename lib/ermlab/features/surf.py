"""Upright SURF descriptors at any points of an image, usually on a dense grid (Bay et al., 2008).

At scale ``s``, a window of side ``20 s`` around a point has 4 x 4 subregions of 5 x 5 samples each. A sample
is a pair of Haar wavelet responses of side ``2 s``, dx to the right and dy downwards, with a Gaussian weight
of standard deviation ``3.3 s`` around the point. A subregion gives ``(sum dx, sum dy, sum |dx|, sum |dy|)``,
and the 64 numbers are scaled to length 1. Directions are those of the image ("upright").

The window is centered on the middle of a pixel and the image is constant inside a pixel, so that wavelets may
begin anywhere. Mirroring an image therefore mirrors its descriptors at every scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.parallel import over_ranges
from ermlab._utils.validation import real_array, require_room, safe_unit, whole_number
from ermlab.features._surf_numba import SAMPLES, describe_points

DIMENSION = 64
#: Standard deviation of the weight, in samples.
WEIGHT_WIDTH = 3.3
_GRAIN = 256
#: Largest number of pixels by which a window may leave the image, or of multiples of its longer side.
_FURTHEST, _TIMES = 4096, 8


def dense_surf(
    image: ArrayLike, *, step: int, scales: Sequence[float] = (1.0,), n_jobs: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Compute SURF descriptors on a grid that fills the image up to its borders.

    Parameters
    ----------
    image : array-like of shape (height, width)
        Gray values.
    step : int
        Distance of neighboring points in pixels; the remainder is divided between opposite borders.
    scales : sequence of float, default=(1.0,)
        Sizes of a sample in pixels; a window is 20 samples wide. Each scale repeats the grid.
    n_jobs : int, default=None
        Number of threads, one per core by default. The result does not depend on it.

    Returns
    -------
    points : ndarray of shape (n, 2)
        x and y, ordered by scale and row.
    descriptors : ndarray of shape (n, 64)
        Vectors of length 1, or 0 where the window is flat.
    """
    image = _image(image)
    if len(scales) == 0:
        raise ValueError("scales is empty: expected at least one")
    points = grid_points(image.shape, step)
    described = [describe(image, points, scale, n_jobs=n_jobs) for scale in scales]
    return np.tile(points, (len(scales), 1)), np.concatenate(described)


def describe(
    image: ArrayLike, points: ArrayLike, scale: float = 1.0, *, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Compute the (n, 64) SURF descriptors at integer ``points`` (x, y) of the image.

    Beyond its borders the image is mirrored, which adds no edges and preserves the texture.
    """
    image = _image(image)
    points = _points(points, image.shape)
    if not (isinstance(scale, Real) and np.isfinite(scale) and scale > 0):
        raise ValueError(f"scale is {scale!r}: expected a positive number of pixels")
    furthest = max(_FURTHEST, _TIMES * max(image.shape))
    if (SAMPLES + 1) / 2 * scale > furthest:
        raise ValueError(
            f"scale is {scale}: expected at most {2 * furthest / (SAMPLES + 1):.5g} pixels for an image of "
            f"{image.shape[1]} x {image.shape[0]}"
        )
    # Lines between cells: the window is centered on the middle of the pixel, half a pixel from its corner.
    lines = (np.arange(SAMPLES + 2) - (SAMPLES + 1) / 2) * scale + 0.5
    margin = int(np.ceil(lines[-1])) + 1
    # The image with its margin, and three arrays of its size.
    require_room(
        (*(side + 2 * margin + 1 for side in image.shape), 4),
        f"an image of {image.shape[1]} x {image.shape[0]} pixels and a margin of {margin} for scale {scale}",
    )
    integral = _integral_image(image, margin)
    steps = np.floor(lines).astype(np.int64)
    samples = np.arange(SAMPLES) - (SAMPLES - 1) / 2
    weights = np.exp(-(samples**2) / (2 * WEIGHT_WIDTH**2))
    flat = 64 * np.finfo(float).eps * np.abs(integral).max()
    descriptors = np.empty((len(points), DIMENSION))

    def work(start: int, stop: int) -> None:
        describe_points(
            integral, points + margin, steps, lines - steps, weights, flat, descriptors, start, stop
        )

    over_ranges(work, len(points), n_jobs, _GRAIN)
    return descriptors


def grid_points(shape: tuple[int, int], step: int) -> NDArray[np.int64]:
    """Return the (n, 2) points (x, y) of the centered grid for an image of ``shape`` (height, width)."""
    step = whole_number("step", step, 1)
    height, width = (whole_number("a side of the image", side, 0) for side in shape)
    require_room((height // step + 1, width // step + 1, 4), f"a grid in {width} x {height} pixels")
    y, x = (np.arange((length - 1) % step // 2, length, step) for length in (height, width))
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def _integral_image(image: NDArray[np.float64], margin: int) -> NDArray[np.float64]:
    """Return ``S[y, x]``, the sum above and left of corner (x, y) of the image with its margin.

    Responses do not depend on a constant; without it sums stay small, and of integers they are exact.
    """
    unit = safe_unit(image)
    if unit != 1:  # descriptors have length 1 in any unit of gray values
        image = image / unit
    padded = np.pad(image - np.round(image.mean()), margin, mode="symmetric")
    integral = np.zeros((padded.shape[0] + 1, padded.shape[1] + 1))
    integral[1:, 1:] = padded.cumsum(axis=0).cumsum(axis=1)
    return integral


def _image(image: ArrayLike) -> NDArray[np.float64]:
    image = real_array(image, "image")
    if image.ndim != 2 or image.size == 0:
        raise ValueError(f"image has shape {image.shape}: expected (height, width) of gray values")
    if not np.isfinite(image).all():
        y, x = np.argwhere(~np.isfinite(image))[0]
        raise ValueError(f"image is {image[y, x]} at x = {x}, y = {y}: expected finite gray values")
    return image


def _points(points: ArrayLike, shape: tuple[int, int]) -> NDArray[np.int64]:
    points = np.asarray(points)
    if points.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if points.ndim != 2 or points.shape[1] != 2 or not np.issubdtype(points.dtype, np.integer):
        raise ValueError(f"points of type {points.dtype}, shape {points.shape}: expected (n, 2) integers")
    outside = (points < 0).any(axis=1) | (points >= shape[::-1]).any(axis=1)
    if outside.any():
        x, y = points[np.argmax(outside)]
        raise ValueError(f"point x = {x}, y = {y} is outside the image of {shape[1]} x {shape[0]} pixels")
    return np.ascontiguousarray(points, dtype=np.int64)
