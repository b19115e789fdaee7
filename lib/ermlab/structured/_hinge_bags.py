"""Hinge loss of the worst member of each bag of samples, and its dual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.parallel import over_ranges
from ermlab._utils.rows_numba import lowest_rows
from ermlab.structured import _hinge_bags_numba as kernels

# Smallest number of rows per thread.
GRAIN = 512
# A row is skipped after this many consecutive passes without weight in which it was not the worst.
MAX_IDLE = 10
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bags:
    """Virtual samples as rows of ``X``, in bags with one label and one weight each.

    ``rows[starts[b]:starts[b + 1]]`` are the rows of bag ``b``; ``bias`` is the constant feature, 0 for none.
    """

    X: NDArray
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    signs: Vector
    weights: Vector
    bias: float = 0.0

    def __len__(self) -> int:
        return len(self.signs)

    @property
    def dimension(self) -> int:
        """Length of ``w``."""
        return self.X.shape[1] + (self.bias != 0.0)

    @property
    def row_signs(self) -> Vector:
        """The label of each row."""
        signs = np.empty(len(self.X))
        signs[self.rows] = np.repeat(self.signs, np.diff(self.starts))
        return signs


class WorstHingeRisk:
    """``sum_b weights_b max_r hinge(1 - sign_b <w, x_r>)``, the maximum over the rows of bag ``b``.

    An `ermlab.optimize.BlockRisk`. ``chosen`` marks the rows that were the worst of their bag, with a hinge
    above 0, in any call; ``beta`` holds the dual weight of each row if `block_dual` was called.
    """

    def __init__(self, bags: Bags):
        self.bags, self.dimension = bags, bags.dimension
        self.row_signs = bags.row_signs
        self.norms = _squared_norms(bags)
        self.chosen = np.zeros(len(bags.X), dtype=np.bool_)
        self.beta = np.zeros(len(bags.X))

    def __len__(self) -> int:
        return len(self.bags)

    def __call__(self, w: Vector) -> tuple[float, Vector]:
        """Return the risk and a subgradient at ``w``."""
        return self.evaluate(w)[:2]

    def evaluate(self, w: Vector) -> tuple[float, Vector, Vector, NDArray[np.int64]]:
        """Return risk and subgradient at ``w``, the margin of each row, and the worst row of each bag."""
        bags, margins = self.bags, np.empty(len(self.bags.X))
        over_ranges(
            lambda start, stop: kernels.margins(bags.X, w, bags.bias, self.row_signs, margins, start, stop),
            len(margins),
            grain=GRAIN,
        )
        worst = np.empty(len(bags), dtype=np.int64)
        lowest_rows(margins, bags.rows, bags.starts, worst)
        self.chosen[worst[margins[worst] < 1.0]] = True
        value, subgradient = kernels.risk_and_subgradient(
            bags.X, bags.bias, margins, worst, bags.signs, bags.weights, self.dimension
        )
        return value, subgradient, margins, worst

    def plane(self, i: int, w: Vector) -> tuple[Vector, float]:
        """Return slope and offset of the worst hinge of bag ``i`` at ``w``, times the number of bags."""
        bags = self.bags
        members = bags.rows[bags.starts[i] : bags.starts[i + 1]]
        features = np.zeros((len(members), self.dimension))
        features[:, : bags.X.shape[1]] = bags.X[members]
        features[:, bags.X.shape[1] :] = bags.bias
        heights = 1.0 - bags.signs[i] * (features @ w)
        worst, weight = int(heights.argmax()), len(self) * bags.weights[i]
        if heights[worst] <= 0:
            return np.zeros(self.dimension), 0.0
        return -weight * bags.signs[i] * features[worst], weight

    def block_dual(self, alpha: float) -> WorstHingeDual:
        """Return the dual at 0 for the regularizer ``alpha/2 |w|^2``."""
        return WorstHingeDual(self, alpha)


class WorstHingeDual:
    """An `ermlab.optimize.BlockDual` whose planes are the rows themselves, never copied.

    A row is in the working set if it has weight, or had weight or was the worst of its bag in one of the last
    ``MAX_IDLE`` passes. If it left sooner, the same few rows would come back again and again.
    """

    def __init__(self, risk: WorstHingeRisk, alpha: float):
        self._risk, self._alpha = risk, alpha
        bags = risk.bags
        with np.errstate(over="ignore"):  # checked next
            self._limits = bags.weights / alpha
        if not np.isfinite(self._limits).all():
            b = int(np.argmax(self._limits))
            raise ValueError(f"bag {b} has weight {bags.weights[b]}, alpha is {alpha}: expected less")
        self._idle = np.full(len(bags.X), MAX_IDLE, dtype=np.int64)
        self._working = self._idle < MAX_IDLE
        self._beta = risk.beta
        self._beta[:] = 0.0
        self.w = np.zeros(risk.dimension)

    @property
    def n_planes(self) -> int:
        """Number of rows in the working set."""
        return int(self._working.sum())

    def collect(self) -> tuple[float, Vector]:
        """Return risk and subgradient at ``w``; the worst row of each bag joins the working set."""
        value, subgradient, margins, worst = self._risk.evaluate(self.w)
        self._idle += 1
        self._idle[self._beta > 0.0] = 0
        self._idle[worst[margins[worst] < 1.0]] = 0
        self._working = self._idle < MAX_IDLE
        bags = self._risk.bags
        ordered = margins[bags.rows]
        self._least = np.minimum.reduceat(ordered, bags.starts[:-1])
        self._most = np.maximum.reduceat(ordered, bags.starts[:-1])
        return value, subgradient

    def along(self, factor: float) -> tuple[float, float]:
        """Return the risk at ``factor * w`` and its derivative in the factor."""
        margins = self._least if factor >= 0 else self._most
        hinges, weights = 1.0 - factor * margins, self._risk.bags.weights
        above = hinges > 0
        return float(np.sum(weights * np.maximum(hinges, 0.0))), -float(np.sum((weights * margins)[above]))

    def ascend(self, order: NDArray[np.int64], precision: float) -> float:
        """Solve for the bags one by one, each over its rows in the working set."""
        bags = self._risk.bags
        # The kernel measures the gap of one bag in units of `beta`; here it is the mean over all bags.
        precision /= self._alpha * len(bags)
        rows = bags.X, self._risk.norms, bags.bias, bags.rows, bags.starts, bags.signs
        total = kernels.ascend(self.w, self._beta, self._working, *rows, self._limits, order, precision)
        return total * self._alpha

    def aggregate(self) -> tuple[Vector, float]:
        """Return the sum of all combinations, and recompute ``w`` without accumulated rounding errors."""
        bags = self._risk.bags
        self.w = kernels.combine(bags.X, bags.bias, self._risk.row_signs, self._beta, self._risk.dimension)
        return -self._alpha * self.w, self._alpha * float(self._beta.sum())


def _squared_norms(bags: Bags) -> Vector:
    """Return the squared norm of each row, or raise a ValueError for a row that is not finite or too long."""
    norms = np.empty(len(bags.X))
    over_ranges(
        lambda start, stop: kernels.squared_norms(bags.X, bags.bias, norms, start, stop),
        len(norms),
        grain=GRAIN,
    )
    # The squared distance of two rows must not overflow either.
    largest = np.finfo(np.float64).max / 4
    allowed = norms <= largest
    if not allowed.all():
        row = int(np.argmin(allowed))
        if not np.isfinite(bags.X[row]).all():
            raise ValueError(f"virtual sample {row} has NaN or infinite features: expected finite ones")
        raise ValueError(
            f"virtual sample {row} has the squared norm {norms[row]}, with its constant feature {bags.bias}: "
            f"expected at most {largest:.3g}"
        )
    return norms
