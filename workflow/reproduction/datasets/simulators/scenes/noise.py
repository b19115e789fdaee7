"""Random fields with the power-law spectra of natural images."""

from functools import lru_cache

import numpy as np
from scipy import fft

#: Fields repeat after this many pixels in both directions.
SIDE = 512
#: Exponent of the decay of the amplitude with frequency; about 1 for natural images.
_EXPONENTS = {"clouds": 1.9, "pink": 1.15, "fine": 0.55, "streaks": 1.0, "hairs": 0.75}
#: Ratio of length and width of the structures of a field.
_STRETCH = {"streaks": 7.0, "hairs": 2.5}


class Noise:
    """Five periodic fields of mean 0 and standard deviation 1.

    ``clouds`` is smooth, ``pink`` has structure of every size, ``fine`` is nearly white, ``streaks`` and
    the finer ``hairs`` are stretched along the rows. All come from one random spectrum; crops at random
    places are practically independent.
    """

    def __init__(self, rng: np.random.Generator):
        white = rng.standard_normal((SIDE, SIDE // 2 + 1, 2), dtype=np.float32).view(np.complex64)[..., 0]
        self._white = white
        self._fields: dict[str, np.ndarray] = {}

    def crop(
        self, name: str, shape: tuple[int, int], rng: np.random.Generator, *, upright: bool = False
    ) -> np.ndarray:
        """Return a random, randomly flipped window of a field; ``upright`` exchanges rows and columns."""
        field = self.field(name).T if upright else self.field(name)
        rows, columns = (_window(length, rng) for length in shape)
        return field.take(rows, 0, mode="wrap").take(columns, 1, mode="wrap")

    def at(self, name: str, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return a field at coordinates, which are rounded down."""
        return self.field(name)[rows.astype(np.int32) % SIDE, columns.astype(np.int32) % SIDE]

    def field(self, name: str) -> np.ndarray:
        """Return a field, computed on first use."""
        if name not in self._fields:
            field = fft.irfft2(self._white * _amplitude(name), s=(SIDE, SIDE))
            self._fields[name] = field / field.std()
        return self._fields[name]


def _window(length: int, rng: np.random.Generator) -> np.ndarray:
    steps = np.arange(length) + rng.integers(SIDE)
    return steps if rng.random() < 0.5 else steps[::-1]


@lru_cache
def _amplitude(name: str) -> np.ndarray:
    rows, columns = np.fft.fftfreq(SIDE)[:, None], np.fft.rfftfreq(SIDE)[None, :]
    frequency = np.hypot(rows, columns * _STRETCH.get(name, 1.0))
    frequency[0, 0] = np.inf
    return (frequency ** -_EXPONENTS[name]).astype(np.float32)
