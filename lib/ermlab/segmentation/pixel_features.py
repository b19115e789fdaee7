"""Features of the pixels of an image, and checks of images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter

from ermlab._utils.validation import positive_number, real_array

Vector = NDArray[np.float64]
# Gray values up to this size can be squared, and squares summed, without overflow.
LARGEST_VALUE = 1e100


def pixel_features(image: ArrayLike, scales: Sequence[float] = (1.0, 2.0, 4.0, 8.0)) -> Vector:
    """Return smoothed values, edges and ridges around each pixel.

    The features are the values of all channels; and for each scale the smoothed values of all channels, and
    of the mean of the channels the length of the gradient and both eigenvalues of the Hessian, the larger
    first. Derivatives are multiplied by powers of the scale, so that they have similar sizes at all scales.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, n_channels)
        Gray values or colors; see `image_values` for integers.
    scales : sequence of float, default=(1, 2, 4, 8)
        Standard deviations of the Gaussian filters in pixels.

    Returns
    -------
    ndarray of shape (height, width, n_channels + (n_channels + 3) * n_scales)
        The features.
    """
    channels = image_values(image)
    gray = channels.mean(axis=2)
    parts = [channels]
    for scale in scales:
        scale = positive_number("scale", scale)
        parts.append(gaussian_filter(channels, (scale, scale, 0), mode="nearest"))
        rows, columns = (scale * _derivative(gray, scale, order) for order in ((1, 0), (0, 1)))
        yy, xy, xx = (scale**2 * _derivative(gray, scale, order) for order in ((2, 0), (1, 1), (0, 2)))
        middle, radius = (yy + xx) / 2, np.hypot((yy - xx) / 2, xy)
        parts.append(np.stack([np.hypot(rows, columns), middle + radius, middle - radius], axis=2))
    return np.concatenate(parts, axis=2)


def _derivative(gray: Vector, scale: float, order: tuple[int, int]) -> Vector:
    return gaussian_filter(gray, scale, order, mode="nearest")


def image_values(image: ArrayLike, name: str = "image") -> Vector:
    """Return an image as an array (height, width, n_channels), or raise a ValueError.

    Integers are divided by the largest number of their type, as in scikit-image, so that images of 8 and of
    16 bits have values from 0 to 1. Real numbers are unchanged.
    """
    kind = np.asarray(image).dtype
    values = real_array(image, name)
    if values.ndim not in (2, 3) or values.size == 0:
        raise ValueError(
            f"{name} has shape {values.shape}: expected (height, width) or (height, width, n_channels)"
        )
    bad = ~(np.abs(values) <= LARGEST_VALUE)
    if bad.any():
        place = tuple(int(index) for index in np.argwhere(bad)[0])
        raise ValueError(
            f"{name} is {values[place]} at {place}: expected finite values up to {LARGEST_VALUE:.3g}"
        )
    if kind.kind in "iu":
        values = values / np.iinfo(kind).max
    return values if values.ndim == 3 else values[:, :, np.newaxis]
