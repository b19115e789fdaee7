"""Windows that may contain an object: around superpixels, and drawn from a prior of object boxes.

As in RKB11 (see `maps`), with the sizes of the authors' program.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter

from ermlab._utils.validation import require_room, whole_number
from ermlab.detection.boxes import as_boxes_inside
from reproduction.experiments.window_cascade.objectness.maps import (
    as_image,
    as_labels,
    superpixel_boxes,
    superpixels,
)

#: Memory and time of a prior grow with the square of the number of bins.
_MOST_BINS = 1000
#: Largest side of an image in pixels, for which products of shares and sides are exact.
_LONGEST_SIDE = 1 << 31


@dataclass(frozen=True)
class WindowPrior:
    """Distribution of object boxes relative to the image.

    Width and height have a joint histogram; the x of the center depends on the width alone, and its y on the
    height. All are histograms of equal cells on [0, 1], uniform within each cell.
    """

    size: NDArray[np.float64]  #: (bins, bins), probability of width and height
    x_given_width: NDArray[np.float64]  #: (bins, bins), each row a distribution
    y_given_height: NDArray[np.float64]  #: (bins, bins), each row a distribution

    @classmethod
    def fit(
        cls,
        boxes: Sequence[ArrayLike],
        shapes: Sequence[tuple[int, int]],
        bins: int = 20,
        smoothing: float = 1.0,
    ) -> "WindowPrior":
        """Fit the prior to the boxes of training images with the given (height, width) ``shapes``.

        The program published with RKB11 contains only the final histograms; here counts are smoothed by a
        Gaussian of ``smoothing`` cells.
        """
        if len(boxes) != len(shapes):
            raise ValueError(
                f"boxes, shapes are of {len(boxes)}, {len(shapes)} images: expected equal numbers"
            )
        bins = whole_number("bins", bins, 1)
        if bins > _MOST_BINS:
            raise ValueError(
                f"bins is {bins}: expected a whole number of at least 1 and at most {_MOST_BINS}"
            )
        if not (isinstance(smoothing, Real) and 0 <= smoothing <= _MOST_BINS):
            raise ValueError(
                f"smoothing is {smoothing!r}: expected a number of at least 0, at most {_MOST_BINS}"
            )
        relative = [
            _relative(item, shape, i) for i, (item, shape) in enumerate(zip(boxes, shapes, strict=True))
        ]
        x, y, width, height = np.concatenate([np.empty((0, 4)), *relative]).T
        if not x.size:
            raise ValueError("boxes holds no box: expected at least 1")
        counts = [_smoothed(a, b, bins, smoothing) for a, b in ((width, height), (width, x), (height, y))]
        size, with_x, with_y = (table / table.sum() for table in counts)
        return cls(size, _rows_to_distributions(with_x), _rows_to_distributions(with_y))

    def sample(self, n: int, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw ``n`` windows for an image of (height, width) ``shape``, cropped to the image."""
        n = whole_number("n", n, 0)
        require_room((n, 16), f"a draw of {n} windows")
        rows, columns = _sides(shape)
        bins = len(self.size)
        width, height = np.divmod(rng.choice(bins * bins, size=n, p=self.size.ravel()), bins)
        cells = [
            _draw(self.x_given_width, width, rng),
            _draw(self.y_given_height, height, rng),
            width,
            height,
        ]
        x, y, w, h = ((cell + rng.random(n)) / bins for cell in cells)
        left, right = _pixels(x, w, columns)
        top, bottom = _pixels(y, h, rows)
        return np.stack([left, top, right, bottom], axis=1)


def superpixel_windows(labels: ArrayLike, max_connected: int = 3) -> NDArray[np.int64]:
    """Return the distinct bounding boxes of superpixels, of neighboring pairs and of connected triplets.

    Neighbors share a side of a pixel. With ``max_connected`` of 1 or 2 there are no pairs or no triplets.
    """
    if max_connected not in (1, 2, 3):
        raise ValueError(f"max_connected is {max_connected}: expected 1, 2 or 3")
    labels = as_labels(labels)
    boxes = superpixel_boxes(labels)
    pairs = _neighbors(labels)
    groups = [np.arange(len(boxes))[:, None]]
    if max_connected > 1:
        groups.append(pairs)
    if max_connected > 2:
        groups.append(_connected_triplets(pairs, len(boxes)))
    return _distinct(np.concatenate([_around(boxes, group) for group in groups]))


def initial_windows(
    image: ArrayLike,
    prior: WindowPrior,
    n: int,
    rng: np.random.Generator,
    labels: ArrayLike | None = None,
) -> NDArray[np.int64]:
    """Return ``n`` distinct windows: those around superpixels, then draws from the prior.

    ``labels`` are the superpixels of the image, computed if not given. A small image may not have ``n``
    distinct windows; at most ``10 * n`` are drawn.
    """
    n = whole_number("n", n, 1)
    image = as_image(image)
    shape = image.shape[:2]
    windows = superpixel_windows(superpixels(image) if labels is None else as_labels(labels, shape))
    drawn = 0
    while len(windows) < n and drawn < 10 * n:
        more = max(2 * (n - len(windows)), 100)
        windows = _distinct(np.concatenate([windows, prior.sample(more, shape, rng)]))
        drawn += more
    return windows[:n]


def _relative(boxes: ArrayLike, shape: tuple[int, int], image: int) -> NDArray[np.float64]:
    """Return center, width and height of boxes in units of the image."""
    height, width = _sides(shape)
    left, top, right, bottom = as_boxes_inside(boxes, shape, f"boxes[{image}]").T
    columns = [
        (left + right + 1) / (2 * width),
        (top + bottom + 1) / (2 * height),
        (right - left + 1) / width,
        (bottom - top + 1) / height,
    ]
    return np.stack(columns, axis=1)


def _sides(shape: tuple[int, int]) -> tuple[int, int]:
    """Return height and width of an image, or raise a ValueError."""
    if np.shape(shape) == (2,):
        height, width = (whole_number(f"shape is {shape}: a side", side, 0) for side in shape)
        if 1 <= min(height, width) <= max(height, width) <= _LONGEST_SIDE:
            return height, width
    raise ValueError(f"shape is {shape!r}: expected (height, width) of at least 1, at most {_LONGEST_SIDE}")


def _smoothed(a: NDArray, b: NDArray, bins: int, smoothing: float) -> NDArray[np.float64]:
    counts = np.histogram2d(a, b, bins=bins, range=[(0, 1), (0, 1)])[0]
    return gaussian_filter(counts, smoothing, mode="nearest") if smoothing > 0 else counts


def _rows_to_distributions(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide each row by its sum; rows without counts become uniform."""
    sums = table.sum(axis=1, keepdims=True)
    return np.where(sums > 0, table / np.where(sums > 0, sums, 1), 1 / table.shape[1])


def _draw(
    rows: NDArray[np.float64], chosen: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw once from the row of each index."""
    bins = rows.shape[1]
    levels = (np.cumsum(rows, axis=1) + np.arange(len(rows))[:, None]).ravel()  # row i rises from i to i + 1
    cells = np.searchsorted(levels, chosen + rng.random(len(chosen)), side="right") - chosen * bins
    return np.clip(cells, 0, bins - 1)  # rounding must not lead into another row


def _pixels(center: NDArray, extent: NDArray, length: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    pixels = np.maximum(np.round(extent * length), 1).astype(np.int64)
    first = np.round((center - extent / 2) * length).astype(np.int64)
    return np.clip(first, 0, length - 1), np.clip(first + pixels - 1, 0, length - 1)


def _neighbors(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs of labels that share a side of a pixel, the smaller first."""
    beside = np.stack([labels[:, :-1].ravel(), labels[:, 1:].ravel()], axis=1)
    below = np.stack([labels[:-1].ravel(), labels[1:].ravel()], axis=1)
    pairs = np.sort(np.concatenate([beside, below]), axis=1)
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)


def _connected_triplets(pairs: NDArray[np.int64], n_labels: int) -> NDArray[np.int64]:
    """Return each label with each pair of its neighbors."""
    adjacent = [[] for _ in range(n_labels)]
    for a, b in pairs.tolist():
        adjacent[a].append(b)
        adjacent[b].append(a)
    triplets = [(v, a, b) for v, around in enumerate(adjacent) for a, b in combinations(around, 2)]
    return np.array(triplets, dtype=np.int64).reshape(-1, 3)


def _around(boxes: NDArray[np.int64], groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bounding box of the boxes of each group."""
    members = boxes[groups]
    return np.concatenate([members[..., :2].min(axis=1), members[..., 2:].max(axis=1)], axis=1)


def _distinct(windows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each window once, in order of first occurrence."""
    sides = windows.max(axis=0, initial=0) + 1
    keys = np.ravel_multi_index(tuple(windows.T), tuple(sides))
    return windows[np.sort(np.unique(keys, return_index=True)[1])]
