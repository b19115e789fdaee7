"""Transformations on a line: the example of figure 4 and random relatives of it, to try lemma 1 on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.structured.vicinal import (
    lemma_bound,
    scaled_family,
    scaled_step_losses,
    step_family,
    vicinal_risk,
)

#: Centre, height and half-width of the two peaks of figure 4. The source does not give the widths.
FIGURE_PEAKS = ((-1.0, 0.5, 0.5), (1.5, 1.0, 0.5))
#: The variance of the Gaussian of figure 4 is 1/2.
FIGURE_DEVIATION = np.sqrt(0.5)


@dataclass(frozen=True, eq=False)
class LineCase:
    """Transformations on a grid of the line, with the loss and the probability of each."""

    transformations: NDArray[np.float64]
    losses: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    def bounds(self) -> dict[str, float]:
        """Return the vicinal risk and what is meant to bound it.

        ``plain`` is the supremum of the loss, ``step`` and ``square`` are lemma 1 with unit steps and with
        multiples of ``t^2``; ``scaled_step`` is not covered by the lemma.
        """
        t, losses, probabilities = self.transformations, self.losses, self.probabilities
        return {
            "risk": vicinal_risk(losses, probabilities),
            "plain": float(losses.max()),
            "step": lemma_bound(step_family(t), losses, probabilities),
            "square": lemma_bound(scaled_family(t**2, losses), losses, probabilities),
            "scaled_step": float(scaled_step_losses(t, losses, probabilities).max()),
        }


def figure_case(transformations: ArrayLike, deviation: float = FIGURE_DEVIATION) -> LineCase:
    """Return the example of figure 4: two triangular peaks under a centred Gaussian."""
    t = np.asarray(transformations, dtype=float)
    losses = triangular_peaks(t, *np.transpose(FIGURE_PEAKS))
    return LineCase(t, losses, gaussian_probabilities(t, deviation))


def random_line_case(rng: np.random.Generator, transformations: ArrayLike) -> LineCase:
    """Return one to four random peaks that leave the identity alone, under a Gaussian of random width."""
    t = np.asarray(transformations, dtype=float)
    peaks = int(rng.integers(1, 5))
    half_widths = rng.uniform(0.1, 1.0, peaks)
    centres = rng.choice([-1, 1], peaks) * (half_widths + rng.uniform(0, 2, peaks))
    losses = triangular_peaks(t, centres, rng.uniform(0.2, 1.0, peaks), half_widths)
    return LineCase(t, losses, gaussian_probabilities(t, rng.uniform(0.2, 1.5)))


def triangular_peaks(
    transformations: ArrayLike, centres: ArrayLike, heights: ArrayLike, half_widths: ArrayLike
) -> NDArray[np.float64]:
    """Return the upper envelope of triangular peaks."""
    t = np.asarray(transformations, dtype=float)[:, None]
    distance = np.abs(t - np.asarray(centres, dtype=float)) / np.asarray(half_widths, dtype=float)
    return (np.asarray(heights, dtype=float) * np.maximum(1 - distance, 0)).max(axis=1)


def gaussian_probabilities(transformations: ArrayLike, deviation: float) -> NDArray[np.float64]:
    """Return a centred Gaussian of the given standard deviation on a grid, summing to 1."""
    if not deviation > 0:
        raise ValueError(f"deviation is {deviation}: expected a number greater than 0")
    weights = np.exp(-0.5 * (np.asarray(transformations, dtype=float) / deviation) ** 2)
    return weights / weights.sum()


def random_ordered_family(
    rng: np.random.Generator, members: int, transformations: int
) -> NDArray[np.float64]:
    """Return random functions each nowhere below the one before; the last is at least 1 everywhere."""
    steps = rng.exponential(size=(members, transformations)) * (rng.random((members, transformations)) < 0.5)
    family = np.cumsum(steps, axis=0) / members
    family[-1] = np.maximum(family[-1], 1.0)
    return family


def random_members(
    rng: np.random.Generator, family: NDArray[np.float64], losses: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Return for each transformation any member that reaches its loss, not the smallest one."""
    reaches = family >= losses
    return (rng.random(family.shape) * reaches).argmax(axis=0)
