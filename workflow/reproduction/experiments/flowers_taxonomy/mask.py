"""Where the flower is on a photograph: told from its background by two histograms of colours.

Photographers put a flower in the middle. Starting from that guess, colours of the inside and of the outside
are counted, each pixel goes to the side that its neighbourhood resembles more, and colours are counted again.
A small flower on plain ground is found together with some of the ground around it.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

#: Bins of a histogram along each of red, green and blue.
BINS = 16
ROUNDS = 6
#: Standard deviation of the smoothing of histograms, in bins, and of log odds, by the shorter side.
_SMOOTHING, _NEIGHBOURHOOD = 1.0, 0.012
#: Log odds of the guess: in the middle, at the middle of a side and at least; its weight beside the colours.
_MIDDLE, _SIDES, _LEAST, _WEIGHT = 2.0, -2.0, -3.0, 0.5
#: Share of colours that no histogram has seen.
_UNSEEN = 1e-6


def foreground(image: ArrayLike) -> NDArray[np.bool_]:
    """Return where the flower is on an RGB image of bytes, (height, width); everywhere if it is not found."""
    image = checked_rgb(image)
    code = _colour_codes(image)
    guess = _central_guess(image.shape[:2])
    inside = _probability(guess)
    for _ in range(ROUNDS):
        ratio = np.log(_colour_shares(code, inside) / _colour_shares(code, 1 - inside))
        evidence = ndimage.gaussian_filter(ratio[code], _NEIGHBOURHOOD * min(code.shape))
        inside = _probability(evidence + _WEIGHT * guess)
    mask = inside > 0.5
    return mask if mask.any() else ~mask


def boundary_points(mask: ArrayLike, most: int) -> NDArray[np.int64]:
    """Return at most so many points (x, y) of the mask that touch its outside, evenly chosen row by row.

    The border of the image is no boundary: the flower may go on there.
    """
    mask = np.asarray(mask)
    if mask.ndim != 2 or mask.dtype != bool:
        raise ValueError(f"mask of shape {mask.shape} and type {mask.dtype}: expected (height, width) truths")
    if most < 1:
        raise ValueError(f"most is {most}: expected at least 1 point")
    edge = mask & ~ndimage.binary_erosion(mask, border_value=1)
    points = np.argwhere(edge)[:, ::-1]
    return points[np.linspace(0, len(points) - 1, min(most, len(points))).astype(np.int64)]


def checked_rgb(image: ArrayLike) -> NDArray[np.uint8]:
    """Return the image as an array (height, width, 3) of bytes, or raise a ValueError."""
    image = np.asarray(image)
    if image.ndim != 3 or image.shape[2] != 3 or image.size == 0 or image.dtype != np.uint8:
        raise ValueError(
            f"image of shape {image.shape} and type {image.dtype}: expected (height, width, 3) bytes"
        )
    return image


def _colour_codes(image: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the number of the bin of each pixel."""
    red, green, blue = np.moveaxis(image.astype(np.int64) * BINS // 256, 2, 0)
    return (red * BINS + green) * BINS + blue


def _central_guess(shape: tuple[int, int]) -> NDArray[np.float64]:
    y, x = (np.linspace(-1, 1, length) for length in shape)
    return np.maximum(_MIDDLE + (_SIDES - _MIDDLE) * (x[None, :] ** 2 + y[:, None] ** 2), _LEAST)


def _colour_shares(code: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the smoothed histogram of the weighted pixels, summing to about 1."""
    counts = np.bincount(code.ravel(), weights.ravel(), BINS**3).reshape(BINS, BINS, BINS)
    smoothed = ndimage.gaussian_filter(counts, _SMOOTHING, mode="nearest").ravel()
    return smoothed / max(smoothed.sum(), _UNSEEN) + _UNSEEN


def _probability(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-log_odds))
