"""Dual variables and cached planes of each sample, for any risk that is a mean over samples."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab.optimize.planes import Planes
from ermlab.optimize.qp import solve_simplex_qp

if TYPE_CHECKING:
    from ermlab.optimize.blocks import BlockRisk

# The problem of a sample is solved to this share of its gap.
QP_PRECISION = 1e-3
# A plane is forgotten when it had no weight at this many calls in a row.
MAX_IDLE = 10


class _Block:
    """The planes of one sample and the weights of their convex combination, which begins as the plane 0."""

    def __init__(self, dimension: int):
        self.planes = Planes(dimension)
        self.planes.add(np.zeros(dimension), 0.0)
        self.alpha = np.ones(1)
        self._idle = np.zeros(1, dtype=np.int64)

    def add(self, a: NDArray[np.float64], b: float) -> None:
        """Take in a plane and forget those that are idle for long."""
        self._idle = np.where(self.alpha > 0, 0, self._idle + 1)
        chosen = self._idle <= MAX_IDLE
        if not chosen.all():
            self.planes.keep(chosen)
            self.alpha, self._idle = self.alpha[chosen], self._idle[chosen]
        if self.planes.add(a, b):
            self.alpha, self._idle = np.append(self.alpha, 0.0), np.append(self._idle, 0)


class HighestPlanes:
    """The mean over samples of the highest of some planes, along a line through 0.

    Parameters
    ----------
    slopes, offsets
        Of the planes of each sample.
    """

    def __init__(self, slopes: Sequence[NDArray[np.float64]], offsets: Sequence[NDArray[np.float64]]):
        self._slopes, self._offsets = np.concatenate(slopes), np.concatenate(offsets)
        self._sizes = np.array([len(some) for some in slopes])
        self._starts = np.cumsum(self._sizes) - self._sizes

    def along(self, factor: float) -> tuple[float, float]:
        """Return the mean at a multiple of where the slopes were taken, and its derivative."""
        heights = factor * self._slopes + self._offsets
        tops = np.maximum.reduceat(heights, self._starts)
        slopes = np.where(heights == np.repeat(tops, self._sizes), self._slopes, -np.inf)
        return float(tops.mean()), float(np.maximum.reduceat(slopes, self._starts).mean())


class PlaneBlocks:
    """An `ermlab.optimize.BlockDual` with planes as vectors; needs no more than `BlockRisk.plane`."""

    def __init__(self, risk: "BlockRisk", alpha: float):
        self._risk, self._strength = risk, alpha
        self._blocks = [_Block(risk.dimension) for _ in range(len(risk))]
        self.w = np.zeros(risk.dimension)

    @property
    def n_planes(self) -> int:
        """Number of planes of all samples."""
        return sum(len(block.planes) for block in self._blocks)

    def collect(self) -> tuple[float, NDArray[np.float64]]:
        """Return risk and subgradient at ``w``; each sample keeps its plane."""
        total, subgradient = 0.0, np.zeros_like(self.w)
        for i, block in enumerate(self._blocks):
            a, b = self._risk.plane(i, self.w)
            block.add(a, b)
            total += float(np.sum(a * self.w)) + b
            subgradient += a
        n = len(self._blocks)
        self._known = HighestPlanes(
            [block.planes.products(self.w) for block in self._blocks],
            [block.planes.b for block in self._blocks],
        )
        return total / n, subgradient / n

    def along(self, factor: float) -> tuple[float, float]:
        """Return the mean of the highest known planes at ``factor * w``, and its derivative."""
        return self._known.along(factor)

    def ascend(self, order: NDArray[np.int64], precision: float) -> float:
        """Solve the simplex problem of one sample after the other."""
        total = 0.0
        with one_blas_thread():
            for i in order:
                total += self._ascend_in(self._blocks[i], precision)
        return total / len(self._blocks)

    def _ascend_in(self, block: _Block, precision: float) -> float:
        """Find the best combination for one sample, all others fixed; return its gap before."""
        planes, alpha = block.planes, block.alpha
        heights = planes.A @ self.w + planes.b
        gap = max(float(heights.max() - np.sum(alpha * heights)), 0.0)
        if gap > precision:
            G = planes.gram / (self._strength * len(self._blocks))
            # `heights` and the sample's own share in w: the linear term without the sample.
            block.alpha = solve_simplex_qp(G, heights + G @ alpha, alpha, QP_PRECISION * gap).alpha
            planes.add_to(self.w, (alpha - block.alpha) / (self._strength * len(self._blocks)))
        return gap

    def aggregate(self) -> tuple[NDArray[np.float64], float]:
        """Return the mean of all combinations, and free ``w`` of the rounding errors of its updates."""
        a, b = np.zeros_like(self.w), 0.0
        for block in self._blocks:
            a += block.planes.combine(block.alpha)
            b += float(np.sum(block.planes.b * block.alpha))
        n = len(self._blocks)
        self.w = -a / (self._strength * n)
        return a / n, b / n
