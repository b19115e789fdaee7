"""Photographs, fields of view and marked vessels that all stages of the experiment share."""

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from ermlab._utils.files import broken
from reproduction.datasets.drive_vessels import DriveVessels

#: Number of folds of the training photographs; the last one is held out for the choice of hyperparameters.
N_FOLDS = 4


@dataclass(frozen=True)
class Retinas:
    """Training photographs, then test photographs; all arrays have one entry for each.

    Arrays of pixels list those inside the fields of view, photograph by photograph and row by row.
    """

    numbers: np.ndarray  #: numbers in the data set
    test: np.ndarray  #: whether it is a test photograph
    pathological: np.ndarray  #: whether it shows signs of disease
    images: np.ndarray  #: (n, height, width, 3)
    fields: np.ndarray  #: (n, height, width), fields of view
    first: np.ndarray  #: (n, height, width), vessels marked by the first observer
    second: np.ndarray  #: the same of the second observer; empty for training photographs

    @classmethod
    def select(cls, data: DriveVessels, n_images: int) -> Self:
        """Take the first ``n_images`` photographs of each part."""
        chosen = [
            (part, i) for part in (data.training, data.test) for i in range(min(n_images, len(part.images)))
        ]
        images = [part.images[i] for part, i in chosen]
        for (part, i), image in zip(chosen, images, strict=True):
            if image.shape != images[0].shape:
                raise broken(
                    part.images.paths[i], f"shape {image.shape}", f"{images[0].shape}, as the first one"
                )
        nothing = np.zeros(images[0].shape[:2], dtype=bool)
        return cls(
            numbers=np.array([part.numbers[i] for part, i in chosen]),
            test=np.array([part is data.test for part, _ in chosen]),
            pathological=np.array([part.pathological[i] for part, i in chosen]),
            images=np.stack(images),
            fields=np.stack([part.fields[i] for part, i in chosen]),
            first=np.stack([part.first[i] for part, i in chosen]),
            second=np.stack([part.second[i] if part is data.test else nothing for part, i in chosen]),
        )

    def write(self, path: str | Path) -> None:
        """Write the arrays into a file."""
        np.savez_compressed(path, **asdict(self))

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read what `write` wrote."""
        with np.load(path) as arrays:
            return cls(**arrays)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def training_indices(self) -> np.ndarray:
        """Photographs for training."""
        return np.flatnonzero(~self.test)

    @property
    def folds(self) -> list[np.ndarray]:
        """Folds of the training photographs."""
        return [self.training_indices[first::N_FOLDS] for first in range(N_FOLDS)]

    @property
    def validation_indices(self) -> np.ndarray:
        """Training photographs by which hyperparameters are chosen."""
        return self.folds[-1]

    @property
    def fitting_indices(self) -> np.ndarray:
        """Training photographs that are fitted while hyperparameters are chosen."""
        return np.setdiff1d(self.training_indices, self.validation_indices)

    @property
    def test_indices(self) -> np.ndarray:
        """Photographs for the test."""
        return np.flatnonzero(self.test)

    @cached_property
    def _starts(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self.fields.sum(axis=(1, 2)))])

    @property
    def n_pixels(self) -> int:
        """Number of pixels in all fields of view."""
        return int(self._starts[-1])

    def pixels(self, i: int) -> slice:
        """Return where the pixels of a photograph are in an array of pixels."""
        return slice(self._starts[i], self._starts[i + 1])

    def truth(self, i: int) -> np.ndarray:
        """Return whether the pixels of a photograph are vessels."""
        return self.first[i][self.fields[i]]

    def as_image(self, i: int, values: np.ndarray) -> np.ndarray:
        """Return an image with ``values`` at the pixels in the field of view and 0 elsewhere."""
        image = np.zeros(self.fields[i].shape, dtype=values.dtype)
        image[self.fields[i]] = values
        return image
