"""The regularisers that `ermlab.optimize.minimize` knows."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class _Scaled:
    """A regulariser with a positive factor ``lam``."""

    lam: float

    def __post_init__(self):
        if not (self.lam > 0 and math.isfinite(self.lam)):
            raise ValueError(f"{type(self).__name__}: lam is {self.lam}: expected a finite positive number")


class L2(_Scaled):
    """``lam / 2 |w|^2``."""

    def __call__(self, w: NDArray[np.float64]) -> float:
        """Return the value at ``w``."""
        return 0.5 * self.lam * float(np.sum(w * w))


class L1(_Scaled):
    """``lam |w|_1``."""

    def __call__(self, w: NDArray[np.float64]) -> float:
        """Return the value at ``w``."""
        return self.lam * float(np.sum(np.abs(w)))
