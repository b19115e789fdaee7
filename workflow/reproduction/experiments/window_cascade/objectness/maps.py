"""Image maps that the cues are computed from: oriented edges, color words, saliency, superpixels.

RKB11 is Rahtu, Kannala, Blaschko, "Learning a category independent object detection cascade" (ICCV 2011),
ADF10 is Alexe, Deselaers, Ferrari, "What is an object?" (CVPR 2010). Constants are those of the programs that
their authors published, unless stated otherwise.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from skimage.color import rgb2gray, rgb2lab
from skimage.feature import canny
from skimage.morphology import disk
from skimage.segmentation import felzenszwalb
from skimage.transform import resize

#: Directions of the gradient, in the plane with y downwards: right, down right, down, down left.
DIRECTIONS = np.array([[1, 0], [np.sqrt(0.5), np.sqrt(0.5)], [0, 1], [-np.sqrt(0.5), np.sqrt(0.5)]])
SALIENCY_SIDES = (16, 24, 32, 48, 64)
SALIENCY_THRESHOLDS = (0.43, 0.32, 0.34, 0.35, 0.26)
COLOR_BINS = (4, 8, 8)

_WEAKEST_GRADIENT = 0.02
_EDGE_QUANTILES = (0.2, 0.5)


def as_image(image: ArrayLike) -> NDArray[np.float64]:
    """Return an RGB image with values from 0 to 1, or raise a ValueError."""
    given = np.asarray(image)
    if given.ndim != 3 or given.shape[2] != 3 or given.size == 0:
        raise ValueError(f"image has shape {given.shape}: expected (height, width, 3)")
    if given.dtype == np.uint8:
        return given / 255.0
    if not np.issubdtype(given.dtype, np.floating):
        raise ValueError(f"image has type {given.dtype}: expected uint8, or floating point from 0 to 1")
    wrong = ~((given >= 0) & (given <= 1))
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(f"image{list(place)} is {given[place]}: expected a number from 0 to 1")
    return np.ascontiguousarray(given, dtype=np.float64)


def as_labels(labels: ArrayLike, shape: tuple[int, int] | None = None) -> NDArray[np.int64]:
    """Return superpixel labels 0, 1, ... without gaps, or raise a ValueError."""
    labels = np.asarray(labels)
    if labels.ndim != 2 or labels.size == 0 or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f"labels has shape {labels.shape} and type {labels.dtype}: expected a plane of integers"
        )
    if shape is not None and labels.shape != tuple(shape):
        raise ValueError(f"labels has shape {labels.shape}: expected that of the image, {tuple(shape)}")
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)


def superpixels(image: ArrayLike) -> NDArray[np.int64]:
    """Compute Felzenszwalb's superpixels (thesis, 3.2.4), whose size grows with the image as in RKB11."""
    image = as_image(image)
    growth = np.sqrt(image.shape[0] * image.shape[1] / (300 * 200))
    smallest = max(1, round(200 * growth))
    labels = felzenszwalb(image, scale=450, sigma=0.5 * growth, min_size=smallest)
    return as_labels(labels, image.shape[:2])


def superpixel_boxes(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bounding box of each label."""
    slices = ndimage.find_objects(labels + 1)
    return np.array([[x.start, y.start, x.stop - 1, y.stop - 1] for y, x in slices], dtype=np.int64)


def oriented_edges(image: ArrayLike) -> NDArray[np.float64]:
    """Compute the edge strength across each of four `DIRECTIONS`, (height, width, 4), as in RKB11.

    The derivatives along x and y are those of a Gaussian of deviation 1, in the color channel where they are
    largest. Where Canny's method finds an edge and the gradient is at least .02, blurred by the same
    Gaussian, the strength is that of the gradient's component along the direction, blurred by a Gaussian of
    deviation 1.5. The authors' program uses half of the automatic thresholds of its environment for Canny's
    method; here they are the quantiles .2 and .5 of the gradient. The image is extended by its outermost
    pixels.
    """
    image = as_image(image)
    derivatives = np.stack([_strongest_derivative(image, axis) for axis in (1, 0)], axis=-1)
    strength = np.hypot(derivatives[..., 0], derivatives[..., 1])
    low, high = _EDGE_QUANTILES
    edges = canny(rgb2gray(image), 1.0, low, high, use_quantiles=True, mode="nearest")
    validity = _blur((edges & (strength >= _WEAKEST_GRADIENT)).astype(np.float64), 1.0)
    across = validity[..., None] * np.abs(derivatives @ DIRECTIONS.T)
    return np.stack([_blur(across[..., k], 1.5) for k in range(len(DIRECTIONS))], axis=-1)


def border_likelihood(labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compute how likely each pixel lies on the border of a superpixel's bounding box, as in RKB11.

    The borders of all boxes are dilated by a disc of radius 3 and blurred by a Gaussian of deviation 3.
    """
    mask = np.zeros(labels.shape, dtype=bool)
    for left, top, right, bottom in superpixel_boxes(labels):
        mask[[top, bottom], left : right + 1] = True
        mask[top : bottom + 1, [left, right]] = True
    return _blur(ndimage.binary_dilation(mask, disk(3)).astype(np.float64), 3.0)


def color_words(image: ArrayLike) -> NDArray[np.int64]:
    """Return the cell of each pixel in a grid of 4 x 8 x 8 cells of the CIE L*a*b* space (ADF10)."""
    lab = rgb2lab(as_image(image))
    low, high = np.array([0, -120, -120]), np.array([100, 120, 120])
    cells = np.floor((lab - low) / (high - low) * COLOR_BINS).astype(np.int64)
    return np.ravel_multi_index(np.moveaxis(cells, -1, 0), COLOR_BINS, mode="clip")


def saliency_maps(image: ArrayLike) -> NDArray[np.float64]:
    """Compute spectral-residual saliency at five scales, (height, width, 5), weak values set to 0 (ADF10).

    For each of `SALIENCY_SIDES` the image is resized to a square of that side. The residual is the logarithm
    of the amplitude of its spectrum less the mean over 3 x 3 neighbors. Saliency is the squared modulus of
    the inverse transform of residual and phase, averaged over a disc of radius 3 with 0 beyond the border
    (where the transform sees an edge between opposite sides of the image). The cited work treats the three
    color channels separately; here the saliencies of all channels that are not constant are added. The map is
    scaled to [0, 1], and values below the threshold of the scale are set to 0. A pixel has the value of the
    cell that contains its center.
    """
    image = as_image(image)
    height, width = image.shape[:2]
    image = image[..., np.ptp(image, axis=(0, 1)) > 0]
    if not image.size:
        return np.zeros((height, width, len(SALIENCY_SIDES)))
    maps = []
    for side, threshold in zip(SALIENCY_SIDES, SALIENCY_THRESHOLDS, strict=True):
        salient = _spectral_residual(resize(image, (side, side), order=1, anti_aliasing=True))
        salient = np.where(salient >= threshold, salient, 0.0)
        rows, columns = ((2 * np.arange(length) + 1) * side // (2 * length) for length in (height, width))
        maps.append(salient[rows[:, None], columns])
    return np.stack(maps, axis=-1)


def _spectral_residual(square: NDArray[np.float64]) -> NDArray[np.float64]:
    spectrum = np.fft.fft2(square, axes=(0, 1))
    amplitude = np.log(np.maximum(np.abs(spectrum), 1e-12))  # a pattern may lack a frequency
    residual = amplitude - ndimage.uniform_filter(amplitude, (3, 3, 1), mode="wrap")
    back = np.fft.ifft2(np.exp(residual + 1j * np.angle(spectrum)), axes=(0, 1))
    disc = disk(3) / disk(3).sum()
    salient = ndimage.convolve(np.sum(np.abs(back) ** 2, axis=2), disc, mode="constant")
    spread = np.ptp(salient)
    return (salient - salient.min()) / spread if spread > 0 else np.zeros_like(salient)


def _strongest_derivative(image: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    order = [0, 0, 0]
    order[axis] = 1
    slopes = ndimage.gaussian_filter(image, (1.0, 1.0, 0.0), order=order, mode="nearest", truncate=2.0)
    strongest = np.abs(slopes).argmax(axis=2)[..., None]
    return np.take_along_axis(slopes, strongest, axis=2)[..., 0]


def _blur(plane: NDArray[np.float64], deviation: float) -> NDArray[np.float64]:
    return ndimage.gaussian_filter(plane, deviation, mode="nearest", truncate=2.0)
