"""Segmentation: foreground and background of a noisy image, by graph cuts."""

import numpy as np
from numpy.typing import NDArray

from ermlab.segmentation import graph_cut

SIZE = 20
#: Standard deviation of the noise; foreground and background are 1 apart.
NOISE = 0.8

Image = NDArray[np.float64]
Mask = NDArray[np.bool_]
Vector = NDArray[np.float64]


class SegmentationTask:
    """Images with one label per pixel, and neighbors that prefer equal labels.

    The score of a mask is linear in the brightness of the foreground, its area and, with ``interactions``,
    the length of its border. The loss is the share of wrong pixels.
    """

    def __init__(self, interactions: bool = True):
        self.interactions = interactions
        # The weight of the border is at most 0: otherwise no graph cut finds the best mask.
        self.bounds = np.full(self.dimension, -np.inf), np.array([np.inf, np.inf, 0.0])[: self.dimension]

    @property
    def dimension(self) -> int:
        """Length of ``w``."""
        return 3 if self.interactions else 2

    def joint_feature(self, x: Image, y: Mask) -> Vector:
        """Return the brightness of the foreground, its area and the length of its border, per pixel."""
        border = np.sum(y[1:] != y[:-1]) + np.sum(y[:, 1:] != y[:, :-1])
        return np.array([x[y].sum(), y.sum(), border][: self.dimension]) / y.size

    def loss(self, y: Mask, z: Mask) -> float:
        """Return the share of pixels where the masks differ."""
        return float(np.mean(y != z))

    def predict(self, w: Vector, x: Image) -> Mask:
        """Return the best mask, a minimum cut."""
        return self._cut(w, w[0] * x + w[1], x.shape)

    def most_violated(self, w: Vector, x: Image, y: Mask, rescaling: str) -> Mask:
        """Return the mask with the highest sum of score and loss, which is a sum over pixels."""
        if rescaling != "margin":
            raise ValueError(f"rescaling is {rescaling!r}: expected 'margin'")
        return self._cut(w, w[0] * x + w[1] + np.where(y, -1.0, 1.0), x.shape)

    def _cut(self, w: Vector, gain: Image, shape: tuple[int, int]) -> Mask:
        unary = np.stack([np.zeros(gain.size), gain.ravel()], axis=1)
        differ = np.array([[0.0, 1.0], [1.0, 0.0]])
        smoothness = w[2] if self.interactions else 0.0
        return graph_cut(unary, neighbors(*shape), smoothness * differ).labels.reshape(shape).astype(bool)


def neighbors(height: int, width: int) -> NDArray[np.int64]:
    """Return the pairs of vertical and horizontal neighbors of an image."""
    number = np.arange(height * width).reshape(height, width)
    vertical = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    return np.concatenate([vertical, np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)])


def draw(rng: np.random.Generator, n: int) -> tuple[list[Image], list[Mask]]:
    """Draw images of one to three discs with noise, and their masks."""
    rows, columns = np.mgrid[:SIZE, :SIZE]
    images, masks = [], []
    for _ in range(n):
        mask = np.zeros((SIZE, SIZE), dtype=bool)
        for _ in range(rng.integers(1, 4)):
            (row, column), radius = rng.uniform(0, SIZE, 2), rng.uniform(2, SIZE / 4)
            mask |= (rows - row) ** 2 + (columns - column) ** 2 <= radius**2
        images.append(mask + rng.normal(scale=NOISE, size=mask.shape))
        masks.append(mask)
    return images, masks
