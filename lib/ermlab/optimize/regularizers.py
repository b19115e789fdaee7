"""The regularizers of `ermlab.optimize.minimize`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import real_array


class _Scaled:
    """A regularizer with a positive strength, common to all coordinates or one per coordinate.

    Parameters
    ----------
    alpha : float or array-like
        Strength: one number, or one per coordinate of ``w``. Multiplying a feature by ``s`` and its strength
        accordingly (by ``s`` for `L1`, by ``s**2`` for `L2`) changes nothing but the unit of its weight.
    """

    def __init__(self, alpha: ArrayLike):
        strengths = np.array(real_array(alpha, "alpha"))
        if strengths.ndim > 1 or strengths.size == 0 or not (np.isfinite(strengths) & (strengths > 0)).all():
            raise ValueError(f"alpha is {alpha}: expected a finite positive number, or one per weight")
        strengths.flags.writeable = False
        self.alpha: float | NDArray[np.float64] = strengths if strengths.ndim else float(strengths)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(alpha={self.alpha!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and np.array_equal(self.alpha, other.alpha)

    def __hash__(self) -> int:
        return hash((type(self), np.asarray(self.alpha).tobytes()))

    def strengths(self, dimension: int) -> NDArray[np.float64]:
        """Return the strength of each of ``dimension`` coordinates."""
        if np.size(self.alpha) not in (1, dimension):
            raise ValueError(f"{np.size(self.alpha)} strengths for {dimension} weights: expected one each")
        return np.broadcast_to(self.alpha, dimension).astype(np.float64)


class L2(_Scaled):
    """Squared norm ``1/2 sum_j alpha_j w_j^2``, that is ``alpha/2 |w|^2`` for a single ``alpha``."""

    def __call__(self, w: NDArray[np.float64]) -> float:
        """Return the value at ``w``."""
        with np.errstate(over="ignore"):  # the caller rejects infinity
            if isinstance(self.alpha, float):
                return 0.5 * self.alpha * float(np.sum(w * w))
            return 0.5 * float(np.sum((np.sqrt(self.alpha) * w) ** 2))


class L1(_Scaled):
    """Weighted 1-norm ``sum_j alpha_j |w_j|``, that is ``alpha |w|_1`` for a single ``alpha``."""

    def __call__(self, w: NDArray[np.float64]) -> float:
        """Return the value at ``w``."""
        if isinstance(self.alpha, float):
            return self.alpha * float(np.sum(np.abs(w)))
        return float(np.sum(self.alpha * np.abs(w)))
