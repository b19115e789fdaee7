"""Bags of visual words of flowers: color, texture, gradients and boundary (thesis, section 5.2.6).

The thesis uses the descriptors of Nilsback and Zisserman (2006): color, shape, gradient histograms and
texture of a flower that is segmented from its background. Here they are

- ``color``: mean hue, saturation and value of small blocks;
- ``texture``: dense upright SURF in brightness and in two opponent colors;
- ``gradients``: 2 x 2 cells of oriented gradients;
- ``boundary``: SURF of brightness around points of the flower's outline.

Each channel has a vocabulary. One half of a bag counts the words of the flower, the other those of the image.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from ermlab._utils.array_files import ArrayFile
from ermlab.features.hog_cells import hog
from ermlab.features.surf import DIMENSION, describe, grid_points
from ermlab.features.words import Vocabulary
from ermlab.kernels.sparse_histogram import generalized_gaussian, median_distance, sparse_chi2_distances
from reproduction.experiments.flowers_taxonomy.mask import boundary_points, checked_rgb, foreground

#: ITU-R BT.601: the luminance of red, green and blue.
_LUMINANCE = np.array([0.299, 0.587, 0.114])
#: Red against green, and yellow against blue.
_OPPONENTS = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
#: The flower is segmented in an image reduced by this factor.
_REDUCTION = 2


@dataclass(frozen=True)
class FlowerSettings:
    """Settings of the descriptors; workflow/schemas/config.schema.yaml explains the choices."""

    side: int  #: pixels of the shorter side of an image
    block: int  #: side of a block of color
    step: int  #: between points of texture
    scales: Sequence[float]  #: of texture
    cell: int  #: side of a cell of gradients
    boundary_points: int  #: at most
    boundary_scales: Sequence[float]
    n_words: Mapping[str, int]  #: of each channel
    sample: int  #: descriptors per image and channel from which vocabularies are learned

    def __post_init__(self) -> None:
        """Check that all channels have a vocabulary."""
        if sorted(self.n_words) != sorted(CHANNELS):
            raise ValueError(f"n_words of {', '.join(self.n_words)}: expected {', '.join(CHANNELS)}")


class Picture(NamedTuple):
    """An image of standard size, and the mask of the flower."""

    rgb: NDArray[np.uint8]
    mask: NDArray[np.bool_]

    def is_inside(self, points: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which points (x, y) lie on the flower; points outside the image are moved to its border."""
        x, y = np.minimum(points, np.array(self.mask.shape[::-1]) - 1).T
        return self.mask[y, x]


class Described(NamedTuple):
    """Descriptors (n, d), and whether each belongs to the flower."""

    descriptors: NDArray[np.float64]
    inside: NDArray[np.bool_]


def standard_picture(image: ArrayLike, side: int) -> Picture:
    """Scale an RGB image so that its shorter side has ``side`` pixels, and segment the flower."""
    image = checked_rgb(image)
    if side < 8 * _REDUCTION:
        raise ValueError(f"side is {side}: expected at least {8 * _REDUCTION} pixels")
    height, width = (round(length * side / min(image.shape[:2])) for length in image.shape[:2])
    scaled = Image.fromarray(image).resize((width, height), Image.Resampling.BILINEAR)
    mask = foreground(np.asarray(scaled.reduce(_REDUCTION)))
    mask = mask.repeat(_REDUCTION, axis=0).repeat(_REDUCTION, axis=1)[:height, :width]
    return Picture(np.asarray(scaled), mask)


def describe_channel(picture: Picture, channel: str, settings: FlowerSettings) -> Described:
    """Return the descriptors of one of `CHANNELS`."""
    if channel not in CHANNELS:
        raise ValueError(f"channel is {channel!r}: expected one of {', '.join(CHANNELS)}")
    return CHANNELS[channel](picture, settings)


def _describe_color(picture: Picture, settings: FlowerSettings) -> Described:
    """Return mean colors of blocks as points of the cone of hue, saturation and value."""
    blocks = Image.fromarray(picture.rgb).reduce(settings.block).convert("HSV")
    hue, saturation, value = np.moveaxis(np.asarray(blocks, dtype=np.float64) / 255, 2, 0)
    angle = 2 * np.pi * hue
    cone = np.stack([saturation * np.cos(angle), saturation * np.sin(angle), value], axis=-1)
    rows, columns = np.indices(hue.shape)
    centers = np.stack([columns, rows], axis=-1).reshape(-1, 2) * settings.block + settings.block // 2
    return Described(cone.reshape(-1, 3), picture.is_inside(centers))


def _describe_texture(picture: Picture, settings: FlowerSettings) -> Described:
    """Return SURF descriptors of luminance and opponent colors; without structure they are 0."""
    points = grid_points(picture.mask.shape, settings.step)
    planes = [picture.rgb @ weights for weights in (_LUMINANCE, *_OPPONENTS)]
    descriptors = [
        np.hstack([describe(plane, points, scale, n_jobs=1) for plane in planes]) for scale in settings.scales
    ]
    return Described(np.concatenate(descriptors), np.tile(picture.is_inside(points), len(settings.scales)))


def _describe_gradients(picture: Picture, settings: FlowerSettings) -> Described:
    cells = hog(picture.rgb, settings.cell, pad=1)
    blocks = np.concatenate([cells[:-1, :-1], cells[:-1, 1:], cells[1:, :-1], cells[1:, 1:]], axis=-1)
    rows, columns = np.indices(blocks.shape[:2]) + 1
    centers = np.stack([columns, rows], axis=-1).reshape(-1, 2) * settings.cell
    return Described(blocks.reshape(len(centers), -1).astype(np.float64), picture.is_inside(centers))


def _describe_boundary(picture: Picture, settings: FlowerSettings) -> Described:
    points = boundary_points(picture.mask, settings.boundary_points)
    luminance = picture.rgb @ _LUMINANCE
    descriptors = [describe(luminance, points, scale, n_jobs=1) for scale in settings.boundary_scales]
    n = len(points) * len(descriptors)
    return Described(np.concatenate(descriptors).reshape(n, DIMENSION), np.ones(n, dtype=bool))


CHANNELS: dict[str, Callable[[Picture, FlowerSettings], Described]] = {
    "color": _describe_color,
    "texture": _describe_texture,
    "gradients": _describe_gradients,
    "boundary": _describe_boundary,
}


def sample_descriptors(
    image: ArrayLike, settings: FlowerSettings, seed: int | Sequence[int]
) -> dict[str, NDArray]:
    """Return at most ``settings.sample`` descriptors of each channel, drawn at random."""
    picture, rng = standard_picture(image, settings.side), np.random.default_rng(seed)
    samples = {}
    for channel in CHANNELS:
        descriptors = describe_channel(picture, channel, settings).descriptors
        samples[channel] = descriptors[np.sort(rng.permutation(len(descriptors))[: settings.sample])]
    return samples


def learn_vocabularies(
    samples: Sequence[Mapping[str, NDArray]], settings: FlowerSettings, seed: int
) -> dict[str, Vocabulary]:
    """Return the vocabulary of each channel, learned from the samples of training images."""
    if not samples:
        raise ValueError("no samples: expected those of at least one training image")
    return {
        channel: Vocabulary(settings.n_words[channel], random_state=seed, max_iter=10).fit(
            np.concatenate([sample[channel] for sample in samples])
        )
        for channel in CHANNELS
    }


def bags_of_words(
    image: ArrayLike, vocabularies: Mapping[str, Vocabulary], settings: FlowerSettings
) -> dict[str, NDArray[np.float64]]:
    """Return the bag of each channel: frequencies of words in the whole image and in the flower.

    Each half sums to 1/2, or to 0 without descriptors, as for the boundary of a flower that fills the image.
    """
    picture = standard_picture(image, settings.side)
    bags = {}
    for channel, vocabulary in vocabularies.items():
        described = describe_channel(picture, channel, settings)
        words = vocabulary.assign(described.descriptors, n_jobs=1)
        counts = [
            np.bincount(w, minlength=len(vocabulary.centers_)) for w in (words, words[described.inside])
        ]
        bags[channel] = np.concatenate([count / max(2 * count.sum(), 1) for count in counts])
    return bags


@dataclass(frozen=True)
class FlowerBags(ArrayFile):
    """Bags of words of images, one row per image."""

    images: NDArray[np.int64]  #: indices into the data set
    labels: NDArray[np.int64]
    color: NDArray[np.float64]
    texture: NDArray[np.float64]
    gradients: NDArray[np.float64]
    boundary: NDArray[np.float64]

    def channels(self) -> dict[str, NDArray[np.float64]]:
        """Return the bags of each channel."""
        return {channel: getattr(self, channel) for channel in CHANNELS}


def mean_kernel(bags: Mapping[str, ArrayLike], train: ArrayLike, n_jobs: int | None = None) -> NDArray:
    """Return the mean over channels of ``exp(-chi2 / bandwidth)`` between all images.

    Parameters
    ----------
    bags : mapping of str to array-like of shape (n_images, n_words)
        Bags of each channel.
    train : array-like of int
        Indices of the training images. A bandwidth is the median distance among these alone.
    n_jobs : int, default=None
        Number of threads, by default one per core; the result does not depend on it.
    """
    if not bags:
        raise ValueError("bags is empty: expected at least one channel")
    sizes = {channel: np.shape(bag) for channel, bag in bags.items()}
    if any(len(size) != 2 for size in sizes.values()) or len({size[0] for size in sizes.values()}) > 1:
        raise ValueError(f"bags of shapes {sizes}: expected (n, words) with the same n")
    train, n = np.asarray(train), next(iter(sizes.values()))[0]
    if train.ndim != 1 or not np.issubdtype(train.dtype, np.integer):
        raise ValueError(f"train of shape {train.shape} and type {train.dtype}: expected indices of images")
    if train.size and (train.min() < 0 or train.max() >= n):
        raise ValueError(f"train goes from {train.min()} to {train.max()}: expected 0 to {n - 1}")
    K = 0.0
    for bag in bags.values():
        distances = sparse_chi2_distances(bag, n_jobs=n_jobs)
        K = K + generalized_gaussian(distances, median_distance(distances[np.ix_(train, train)]))
    return K / len(bags)
