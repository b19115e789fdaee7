"""The dual of a structured risk with sparse joint features.

A plane of a sample is ``<feature of an output - feature of the true one, w> + loss``. Only the nonzero
entries of the features are kept; the feature of the true output is common to all planes of a sample.
"""

from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ermlab.optimize.plane_blocks import MAX_IDLE, QP_PRECISION, HighestPlanes
from reproduction.experiments.joint_kernel_support import _sparse_blocks_numba as kernels

Vector = NDArray[np.float64]
#: The true output of a sample, whose plane is 0.
RIGHT = -1


class SparseRow(NamedTuple):
    """The nonzero entries of a vector."""

    columns: NDArray[np.int32]
    values: Vector


class SparseRisk(Protocol):
    """The mean over samples i of ``max(0, max_z <feature(i, z) - feature(i, RIGHT), w> + loss(i, z))``.

    The outputs z of a sample are numbered from 0.
    """

    @property
    def dimension(self) -> int:
        """Length of ``w``."""

    def __len__(self) -> int:
        """Return the number of samples."""

    def most_violated(self, w: Vector) -> list[int]:
        """Return for each sample the output with the largest sum of score and loss."""

    def feature(self, i: int, z: int) -> SparseRow:
        """Return the joint feature of sample ``i`` and an output, or `RIGHT`."""

    def loss(self, i: int, z: int) -> float:
        """Return the loss of an output."""


class _Block:
    """The planes of one sample and the weights of their convex combination, initially the plane 0."""

    def __init__(self, right: SparseRow, dense: Vector):
        self.right = right
        self.rows = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0)
        self.outputs, self.b, self.gram = np.empty(0, dtype=np.int64), np.empty(0), np.empty((0, 0))
        self.alpha, self._idle = np.empty(0), np.empty(0, dtype=np.int64)
        self.add(RIGHT, right, 0.0, dense)
        self.alpha[0] = 1.0

    def __contains__(self, z: int) -> bool:
        return bool((self.outputs == z).any())

    def __getitem__(self, z: int) -> SparseRow:
        starts, columns, values = self.rows
        place = int(np.argmax(self.outputs == z))
        part = slice(starts[place], starts[place + 1])
        return SparseRow(columns[part], values[part])

    def add(self, z: int, row: SparseRow, loss: float, dense: Vector) -> None:
        """Add the plane of an output; ``dense`` holds zeros before and after."""
        starts, columns, values = self.rows
        self.rows = (
            np.append(starts, columns.size + row.columns.size),
            np.concatenate([columns, row.columns]),
            np.concatenate([values, row.values]),
        )
        products = kernels.products_with(row, self.rows, self.right, dense)
        gram = np.empty((products.size, products.size))
        gram[:-1, :-1], gram[-1], gram[:, -1] = self.gram, products, products
        self.outputs, self.b, self.gram = np.append(self.outputs, z), np.append(self.b, loss), gram
        self.alpha, self._idle = np.append(self.alpha, 0.0), np.append(self._idle, 0)

    def forget_idle(self) -> None:
        """Drop the planes that had no weight in many consecutive calls."""
        self._idle = np.where(self.alpha > 0, 0, self._idle + 1)
        chosen = self._idle <= MAX_IDLE
        if chosen.all():
            return
        starts, columns, values = self.rows
        lengths = np.diff(starts)
        entries = np.repeat(chosen, lengths)
        self.rows = np.append(0, np.cumsum(lengths[chosen])), columns[entries], values[entries]
        self.gram = self.gram[np.ix_(chosen, chosen)]
        self.outputs, self.b, self.alpha, self._idle = (
            values[chosen] for values in (self.outputs, self.b, self.alpha, self._idle)
        )

    def shrink(self, factor: float, dense: Vector) -> None:
        """Multiply all weights by ``factor``, at most 1, and add the rest to that of the plane 0."""
        if RIGHT not in self:
            self.add(RIGHT, self.right, 0.0, dense)
        self.alpha = factor * self.alpha
        self.alpha[self.outputs == RIGHT] += 1.0 - factor

    def slopes(self, w: Vector) -> Vector:
        """Return the products of the slopes of all planes with ``w``."""
        return kernels.slopes(self.rows, self.right, w)


def _checked(row: SparseRow, dimension: int, i: int, z: int) -> SparseRow:
    """Return a row that is safe for compiled loops, or raise a ValueError."""
    columns, values = np.asarray(row.columns), np.ascontiguousarray(row.values, dtype=np.float64)
    if columns.ndim != 1 or columns.shape != values.shape or columns.dtype.kind not in "iu":
        raise ValueError(
            f"the feature of sample {i} and output {z} has columns of shape {columns.shape} and type "
            f"{columns.dtype}, values of shape {values.shape}: expected whole numbers, and as many values"
        )
    if columns.size and not 0 <= columns.min() <= columns.max() < dimension:
        raise ValueError(
            f"the feature of sample {i} and output {z} has columns from {columns.min()} to {columns.max()}: "
            f"expected 0 to {dimension - 1}"
        )
    fits = dimension <= np.iinfo(np.int32).max
    return SparseRow(np.ascontiguousarray(columns, dtype=np.int32 if fits else np.int64), values)


class SparseBlocks:
    """An `ermlab.optimize.BlockDual` for a `SparseRisk`: cached planes and dual variables of each sample."""

    def __init__(self, risk: SparseRisk, alpha: float):
        self._risk, self._strength = risk, alpha
        self._dense = np.zeros(risk.dimension)
        self._blocks = [_Block(self._feature(i, RIGHT), self._dense) for i in range(len(risk))]
        self.w = np.zeros(risk.dimension)

    def _feature(self, i: int, z: int) -> SparseRow:
        """Return the checked joint feature of a sample and an output."""
        return _checked(self._risk.feature(i, z), self._risk.dimension, i, z)

    def at(self, alpha: float) -> Self:
        """Continue with another regularization strength and the same planes.

        With a lower one the combinations give the same ``w``; with a higher one a shorter ``w``.
        """
        if alpha < self._strength:
            for block in self._blocks:
                block.shrink(alpha / self._strength, self._dense)
        self._strength = alpha
        return self

    @property
    def n_planes(self) -> int:
        """Number of planes of all samples."""
        return sum(len(block.b) for block in self._blocks)

    @property
    def all_free(self) -> bool:
        """Whether the plane 0 has weight in the combinations of all samples.

        The weights of the other planes are then below their bound, and a lower regularization strength, which
        raises it, has the same solution.
        """
        return all((block.alpha[block.outputs == RIGHT] > 0).any() for block in self._blocks)

    def collect(self) -> tuple[float, Vector]:
        """Return risk and subgradient at ``w``; the plane of each sample is kept."""
        total, subgradient = 0.0, np.zeros_like(self.w)
        found = self._risk.most_violated(self.w)
        for i, (block, z) in enumerate(zip(self._blocks, found, strict=True)):
            block.forget_idle()
            row, loss = block[z] if z in block else self._feature(i, z), self._risk.loss(i, z)
            height = kernels.product(row, self.w) - kernels.product(block.right, self.w) + loss
            if height <= 0:
                z, row, loss, height = RIGHT, block.right, 0.0, 0.0
            if z not in block:
                block.add(z, row, loss, self._dense)
            total += height
            kernels.add_row(row, 1.0, subgradient)
            kernels.add_row(block.right, -1.0, subgradient)
        slopes = [block.slopes(self.w) for block in self._blocks]
        self._known = HighestPlanes(slopes, [block.b for block in self._blocks])
        n = len(self._blocks)
        return total / n, subgradient / n

    def along(self, factor: float) -> tuple[float, float]:
        """Return the mean of the highest known planes at ``factor * w``, and its derivative."""
        return self._known.along(factor)

    def ascend(self, order: NDArray[np.int64], precision: float) -> float:
        """Solve the simplex problem of one sample after the other."""
        total, scale = 0.0, self._strength * len(self._blocks)
        for i in order:
            block = self._blocks[i]
            planes = block.rows, block.right, block.b, block.gram
            total += kernels.ascend(*planes, block.alpha, self.w, scale, precision, QP_PRECISION)
        return total / len(self._blocks)

    def aggregate(self) -> tuple[Vector, float]:
        """Return the mean of all combinations, and recompute ``w`` without accumulated rounding errors."""
        a, b = np.zeros_like(self.w), 0.0
        for block in self._blocks:
            kernels.combine(block.rows, block.right, block.alpha, 1.0, a)
            b += float(np.sum(block.b * block.alpha))
        n = len(self._blocks)
        self.w = -a / (self._strength * n)
        return a / n, b / n
