"""Samples of the random fields: what is known of a pixel, of neighbors, and of a photograph.

The score of the linear classifier, scaled to unit variance, and a constant are the features of a pixel. Both
are 0 outside the field of view, where labels do not matter then.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from scipy.ndimage import distance_transform_cdt, gaussian_filter

from reproduction.experiments.vessels.features import even_background
from reproduction.experiments.vessels.retinas import Retinas

#: Blur of the green channel in whose contrast the fields look for borders; less than that of a thin vessel.
_BLUR = 0.7
#: Rows and columns of a part of a photograph.
Square = tuple[slice, slice]
WHOLE: Square = (slice(None), slice(None))


@dataclass(frozen=True)
class VesselFields:
    """Photographs with the scores of their pixels."""

    retinas: Retinas
    scores: np.ndarray  #: scores of all pixels in the fields of view

    @classmethod
    def read(cls, retinas: str | Path, scores: str | Path) -> Self:
        """Read what the stages before have written."""
        with np.load(scores) as arrays:
            return cls(Retinas.read(retinas), arrays["linear"])

    @cached_property
    def _scale(self) -> float:
        training = self.scores[: self.retinas.pixels(int(self.retinas.training_indices[-1])).stop]
        return float(training.std())

    def unary_features(self, i: int) -> np.ndarray:
        """Return (height, width, 2): score and constant."""
        score = self.retinas.as_image(i, self.scores[self.retinas.pixels(i)] / self._scale)
        return np.stack([score, self.retinas.fields[i]], axis=-1).astype(float)

    def gray_levels(self, i: int) -> np.ndarray:
        """Return the green channel minus its local mean, in standard deviations in the field of view."""
        even = even_background(self.retinas.images[i, ..., 1].astype(float), self.retinas.fields[i])
        even = gaussian_filter(even, _BLUR)
        return even / max(even[self.retinas.fields[i]].std(), 1e-12)

    def labels(self, i: int) -> np.ndarray:
        """Return the ground truth: 1 for vessels."""
        return (self.retinas.first[i] & self.retinas.fields[i]).astype(int)

    def inside(self, i: int, labels: np.ndarray) -> np.ndarray:
        """Return whether an image of labels has a vessel at the pixels in the field of view."""
        return labels[self.retinas.fields[i]] == 1

    def draw_square(self, i: int, side: int, seed: int) -> Square:
        """Draw a square inside the field of view; the largest one there is if ``side`` is too large."""
        field = self.retinas.fields[i]
        # Largest distance (maximum of rows and columns) at which a square around a pixel is still inside.
        reach = distance_transform_cdt(np.pad(field, 1), metric="chessboard")[1:-1, 1:-1] - 1
        half = min(side // 2, int(reach.max()))
        rng = np.random.default_rng([seed, int(self.retinas.numbers[i])])
        rows, columns = np.nonzero(reach >= half)
        chosen = rng.integers(len(rows))
        row, column = int(rows[chosen]), int(columns[chosen])
        return slice(row - half, row + half + 1), slice(column - half, column + half + 1)
