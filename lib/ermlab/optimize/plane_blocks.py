"""Dual variables and cached planes of each sample, for any mean over samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab.optimize._box import Box
from ermlab.optimize._box_qp import BoxQP
from ermlab.optimize.planes import Planes
from ermlab.optimize.qp import ascend_on_simplex

Vector = NDArray[np.float64]

if TYPE_CHECKING:
    from ermlab.optimize.blocks import BlockRisk

# The problem of a sample is solved to this fraction of its gap.
QP_PRECISION = 1e-3
# A plane is dropped after this many consecutive calls without weight.
MAX_IDLE = 10


class _Block:
    """The planes of one sample and the weights of their convex combination, initially the plane 0."""

    def __init__(self, dimension: int):
        self.planes = Planes(dimension)
        self.planes.add(np.zeros(dimension), 0.0)
        self.alpha = np.ones(1)
        self._idle = np.zeros(1, dtype=np.int64)

    def add(self, a: Vector, b: float) -> None:
        """Add a plane and drop those that have been idle for long."""
        self._idle = np.where(self.alpha > 0, 0, self._idle + 1)
        chosen = self._idle <= MAX_IDLE
        if not chosen.all():
            self.planes.keep(chosen)
            self.alpha, self._idle = self.alpha[chosen], self._idle[chosen]
        if self.planes.add(a, b):
            self.alpha, self._idle = np.append(self.alpha, 0.0), np.append(self._idle, 0)


class HighestPlanes:
    """The mean over samples of the highest plane, along a line through 0.

    Parameters
    ----------
    slopes, offsets : sequence of ndarray
        Slopes and offsets of the planes of each sample.
    """

    def __init__(self, slopes: Sequence[Vector], offsets: Sequence[Vector]):
        self._slopes, self._offsets = np.concatenate(slopes), np.concatenate(offsets)
        self._sizes = np.array([len(sample_slopes) for sample_slopes in slopes])
        self._starts = np.cumsum(self._sizes) - self._sizes

    def along(self, factor: float) -> tuple[float, float]:
        """Return the mean at a multiple of the point of the slopes, and its derivative."""
        heights = factor * self._slopes + self._offsets
        tops = np.maximum.reduceat(heights, self._starts)
        slopes = np.where(heights == np.repeat(tops, self._sizes), self._slopes, -np.inf)
        return float(tops.mean()), float(np.maximum.reduceat(slopes, self._starts).mean())


class PlaneBlocks:
    """An `ermlab.optimize.BlockDual` with planes as vectors; it uses `BlockRisk.plane` only."""

    def __init__(self, risk: BlockRisk, alpha: float | Vector):
        self._risk, self._strength = risk, alpha
        self._blocks = [_Block(risk.dimension) for _ in range(len(risk))]
        self.w = np.zeros(risk.dimension)

    @property
    def n_planes(self) -> int:
        """Number of planes of all samples."""
        return sum(len(block.planes) for block in self._blocks)

    def collect(self) -> tuple[float, Vector]:
        """Return risk and subgradient at ``w``; the plane of each sample is kept."""
        total, subgradient = 0.0, np.zeros_like(self.w)
        for block, (a, b) in zip(self._blocks, self._found(), strict=True):
            block.add(a, b)
            total += float(np.sum(a * self.w)) + b
            subgradient += a
        n = len(self._blocks)
        self._known = HighestPlanes(
            [block.planes.products(self.w) for block in self._blocks],
            [block.planes.b for block in self._blocks],
        )
        return total / n, subgradient / n

    def _found(self) -> Iterable[tuple[Vector, float]]:
        """Return the plane of each sample at ``w``."""
        if hasattr(self._risk, "planes_at"):
            return self._risk.planes_at(self.w)
        return (self._risk.plane(i, self.w) for i in range(len(self._blocks)))

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
        """Find the best combination for one sample, all others fixed; return its previous gap."""
        planes, alpha = block.planes, block.alpha
        heights = planes.A @ self.w + planes.b
        gap = max(float(heights.max() - np.sum(alpha * heights)), 0.0)
        if gap > precision:
            self._solve(block, heights, QP_PRECISION * gap)
        return gap

    def _solve(self, block: _Block, heights: Vector, tol: float) -> None:
        """Solve the problem of one sample and update ``w``."""
        planes, alpha = block.planes, block.alpha
        G = planes.gram / (self._strength * len(self._blocks))
        # Without the contribution of the sample itself to w.
        block.alpha = ascend_on_simplex(G, heights + G @ alpha, alpha, tol)
        # As `Planes.combine`, which would limit the threads of BLAS again.
        self.w += ((alpha - block.alpha) / (self._strength * len(self._blocks))) @ planes.A

    def aggregate(self) -> tuple[Vector, float]:
        """Return the mean of all combinations, and recompute ``w`` without accumulated rounding errors."""
        a, b = np.zeros_like(self.w), 0.0
        for block in self._blocks:
            a += block.planes.combine(block.alpha)
            b += float(np.sum(block.planes.b * block.alpha))
        n = len(self._blocks)
        self.w = -a / (self._strength * n)
        return a / n, b / n


class BoxPlaneBlocks(PlaneBlocks):
    """As `PlaneBlocks` with bounds on the weights: ``w`` is the one without bounds, clipped.

    Parameters
    ----------
    risk : BlockRisk
        The risk.
    strengths : ndarray
        The strength of the regularizer for each weight.
    box : Box
        The bounds.
    """

    def __init__(self, risk: BlockRisk, strengths: Vector, box: Box):
        super().__init__(risk, strengths)
        self._box, self._slope = box, np.zeros(risk.dimension)
        self.w = box.nearest.copy()

    def _solve(self, block: _Block, heights: Vector, tol: float) -> None:
        planes, strengths, box = block.planes, self._strength * len(self._blocks), self._box
        others = self._slope - planes.combine(block.alpha)
        flat = np.zeros_like(planes.gram)
        problem = BoxQP(flat, planes.b, planes.A, others, strengths, box.lower, box.upper)
        block.alpha = problem.solve(block.alpha, tol)
        self._slope = others + planes.combine(block.alpha)
        self.w = box.project(-self._slope / strengths)

    def aggregate(self) -> tuple[Vector, float]:
        """Return the mean of all combinations, and recompute ``w``."""
        a, b = super().aggregate()
        self._slope, self.w = a * len(self._blocks), self._box.project(self.w)
        return a, b
