"""Tracking: which cell of the second image is which cell of the first, by assignment."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

N_CELLS = 25
#: Standard deviation of the motion in each direction; the image has sides of length 1.
MOTION = 0.06
#: Standard deviation of the logarithm of the size: its change between the images, and over cells.
GROWTH, SIZES = 0.1, 0.3
#: Probability that a cell leaves.
LEAVING = 0.1

Links = NDArray[np.int64]
Vector = NDArray[np.float64]
#: Tables of the cells of two images: row, column and logarithm of the size.
Cells = tuple[Vector, Vector]


class TrackingTask:
    """Links between the cells of two images.

    ``y[i]`` is the cell to which cell ``i`` is linked, or the number of cells of the second image if it
    leaves. With ``interactions`` two cells are never linked to the same one. The loss is the share of wrong
    links.
    """

    dimension = 3

    def __init__(self, interactions: bool = True):
        self.interactions = interactions

    def joint_feature(self, x: Cells, y: Links) -> Vector:
        """Return the mean features of the links."""
        return link_features(x)[np.arange(len(y)), y].mean(axis=0)

    def loss(self, y: Links, z: Links) -> float:
        """Return the share of cells with another link."""
        return float(np.mean(y != z))

    def predict(self, w: Vector, x: Cells) -> Links:
        """Return the best links."""
        return self._assign(link_features(x) @ w)

    def most_violated(self, w: Vector, x: Cells, y: Links, rescaling: str) -> Links:
        """Return the links with the highest sum of score and loss, which is a sum over cells."""
        if rescaling != "margin":
            raise ValueError(f"rescaling is {rescaling!r}: expected 'margin'")
        scores = link_features(x) @ w
        return self._assign(scores + (y[:, None] != np.arange(scores.shape[1])))

    def _assign(self, scores: Vector) -> Links:
        if not self.interactions:
            return scores.argmax(axis=1)
        # Any number of cells may leave: each has a column of its own for that.
        n, leaves = len(scores), scores.shape[1] - 1
        alone = np.where(np.eye(n, dtype=bool), scores[:, leaves:], -np.inf)
        _, columns = linear_sum_assignment(np.hstack([scores[:, :leaves], alone]), maximize=True)
        return np.minimum(columns, leaves)


def link_features(x: Cells) -> Vector:
    """Return the squared motion and the squared change of size of each link, and a constant for leaving."""
    before, after = x
    features = np.zeros((len(before), len(after) + 1, TrackingTask.dimension))
    squares = (before[:, None] - after) ** 2
    features[:, :-1, 0] = squares[:, :, :2].sum(axis=2) / MOTION**2
    features[:, :-1, 1] = squares[:, :, 2] / GROWTH**2
    features[:, -1, 2] = 1.0
    return features


def draw(rng: np.random.Generator, n: int) -> tuple[list[Cells], list[Links]]:
    """Draw pairs of images, with the true links."""
    inputs, links = [], []
    for _ in range(n):
        before = np.column_stack([rng.random((N_CELLS, 2)), SIZES * rng.normal(size=N_CELLS)])
        stays = rng.permutation(np.flatnonzero(rng.random(N_CELLS) > LEAVING))
        after = before[stays] + rng.normal(size=(len(stays), 3)) * (MOTION, MOTION, GROWTH)
        y = np.full(N_CELLS, len(stays))
        y[stays] = np.arange(len(stays))
        inputs.append((before, after))
        links.append(y)
    return inputs, links
