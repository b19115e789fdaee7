"""Segmentation of a flower and its background by two color histograms.

Photographers put a flower in the center. Starting from that guess, colors of the inside and of the outside
are counted, each pixel is assigned to the side that its neighborhood resembles more, and colors are counted
again. A small flower on a plain background is found together with some of the background around it.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

#: Bins of a histogram along each of red, green and blue.
BINS = 16
ROUNDS = 6
#: Standard deviation of the smoothing of histograms (in bins) and of log odds (relative to the shorter side).
_SMOOTHING, _NEIGHBORHOOD = 1.0, 0.012
#: Log odds of the guess: in the center, at the middle of a side, and the minimum; its weight.
_MIDDLE, _SIDES, _LEAST, _WEIGHT = 2.0, -2.0, -3.0, 0.5
#: Frequency of colors that a histogram has not seen.
_UNSEEN = 1e-6


def foreground(image: ArrayLike) -> NDArray[np.bool_]:
    """Return the mask (height, width) of the flower in an RGB image of bytes; all true if none is found."""
    image = checked_rgb(image)
    code = _color_codes(image)
    guess = _central_guess(image.shape[:2])
    inside = _probability(guess)
    for _ in range(ROUNDS):
        ratio = np.log(_color_shares(code, inside) / _color_shares(code, 1 - inside))
        evidence = ndimage.gaussian_filter(ratio[code], _NEIGHBORHOOD * min(code.shape))
        inside = _probability(evidence + _WEIGHT * guess)
    mask = inside > 0.5
    return mask if mask.any() else ~mask


def boundary_points(mask: ArrayLike, max_points: int) -> NDArray[np.int64]:
    """Return points (x, y) of the mask that touch its outside, evenly chosen row by row.

    The border of the image is no boundary: the flower may continue there.
    """
    mask = np.asarray(mask)
    if mask.ndim != 2 or mask.dtype != bool:
        raise ValueError(f"mask of shape {mask.shape} and type {mask.dtype}: expected (height, width) bools")
    if max_points < 1:
        raise ValueError(f"max_points is {max_points}: expected at least 1")
    edge = mask & ~ndimage.binary_erosion(mask, border_value=1)
    points = np.argwhere(edge)[:, ::-1]
    return points[np.linspace(0, len(points) - 1, min(max_points, len(points))).astype(np.int64)]


def checked_rgb(image: ArrayLike) -> NDArray[np.uint8]:
    """Return the image as an array (height, width, 3) of bytes."""
    image = np.asarray(image)
    if image.ndim != 3 or image.shape[2] != 3 or image.size == 0 or image.dtype != np.uint8:
        raise ValueError(
            f"image of shape {image.shape} and type {image.dtype}: expected (height, width, 3) bytes"
        )
    return image


def _color_codes(image: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the bin of each pixel."""
    red, green, blue = np.moveaxis(image.astype(np.int64) * BINS // 256, 2, 0)
    return (red * BINS + green) * BINS + blue


def _central_guess(shape: tuple[int, int]) -> NDArray[np.float64]:
    y, x = (np.linspace(-1, 1, length) for length in shape)
    return np.maximum(_MIDDLE + (_SIDES - _MIDDLE) * (x[None, :] ** 2 + y[:, None] ** 2), _LEAST)


def _color_shares(code: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the smoothed histogram of the weighted pixels, summing to about 1."""
    counts = np.bincount(code.ravel(), weights.ravel(), BINS**3).reshape(BINS, BINS, BINS)
    smoothed = ndimage.gaussian_filter(counts, _SMOOTHING, mode="nearest").ravel()
    return smoothed / max(smoothed.sum(), _UNSEEN) + _UNSEEN


def _probability(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-log_odds))
