"""Evaluate lemma 1 on the example of figure 4 and on random cases (rule evaluate_vicinal_risk).

Transformations are points of a line here: 0 is the identity, and the loss grows in triangular peaks away from
it. Random ordered families check the lemma for arbitrary losses and distributions as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ermlab.structured.vicinal import (
    equivariant_losses,
    lemma_bound,
    scaled_family,
    scaled_step_losses,
    smallest_members,
    step_family,
    vicinal_risk,
)
from reproduction.claims.results import repeated, write_results
from reproduction.experiments.vicinal_risk.training import summarize_training, train_digits
from reproduction.pipeline.job import Paths, run_stage

#: Center, height and half-width of the two peaks of figure 4. The source does not give the widths.
FIGURE_PEAKS = ((-1.0, 0.5, 0.5), (1.5, 1.0, 0.5))
#: The variance of the Gaussian of figure 4 is 1/2.
FIGURE_DEVIATION = np.sqrt(0.5)
#: Fine enough for the narrowest random peak, and wide enough for the tails of P.
LINE = np.linspace(-4, 4, 401)
#: A bound may be this far below the risk by rounding alone.
ROUNDING = 1e-12
#: Bounds that lemma 1 covers, on the line and for random ordered families.
LINE_BOUNDS, FAMILY_BOUNDS = ("plain", "step", "square"), ("smallest", "any")
#: Random cases are averaged in so many groups.
BATCHES = 20


def main(inputs: Paths, outputs: Paths, *, seed: int, trials: int, training: Mapping[str, float]) -> None:
    """Evaluate the example, its bounds for growing spreads of P, and ``trials`` random cases of each kind.

    ``training`` has the numbers of splits and digits, and the tolerance, of the models that are trained.
    """
    example = figure_case(LINE)
    spreads = pd.DataFrame(
        {"deviation": deviation, **figure_case(LINE, deviation).bounds()}
        for deviation in np.geomspace(0.2, 1.6, 31)
    )
    rng = np.random.default_rng(seed)
    lines = pd.DataFrame([random_line_case(rng, LINE).bounds() for _ in range(trials)])
    families = pd.DataFrame([random_family_bounds(rng) for _ in range(trials)])
    digits = train_digits(seed, **training)
    write_results(
        Path(outputs["values"]).parent,
        {
            **summarize(lines, families),
            **summarize_training(digits),
            "example": {"deviation": FIGURE_DEVIATION, **example.bounds()},
        },
    )
    digits.to_csv(outputs["digits"], index=False, lineterminator="\n")
    example_curves(example).to_csv(outputs["example"], index=False, lineterminator="\n")
    spreads.to_csv(outputs["spreads"], index=False, lineterminator="\n")


@dataclass(frozen=True, eq=False)
class LineCase:
    """Transformations on a grid of the line, with the loss and the probability of each."""

    transformations: NDArray[np.float64]
    losses: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    def bounds(self) -> dict[str, float]:
        """Return the vicinal risk and its candidate bounds.

        ``plain`` is the supremum of the loss; ``step`` and ``square`` are lemma 1 with unit steps and with
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
    """Return the example of figure 4: two triangular peaks under a centered Gaussian."""
    t = np.asarray(transformations, dtype=float)
    losses = triangular_peaks(t, *np.transpose(FIGURE_PEAKS))
    return LineCase(t, losses, gaussian_probabilities(t, deviation))


def random_line_case(rng: np.random.Generator, transformations: ArrayLike) -> LineCase:
    """Return one to four random peaks, zero at the identity, under a Gaussian of random width."""
    t = np.asarray(transformations, dtype=float)
    n_peaks = int(rng.integers(1, 5))
    half_widths = rng.uniform(0.1, 1.0, n_peaks)
    centers = rng.choice([-1, 1], n_peaks) * (half_widths + rng.uniform(0, 2, n_peaks))
    losses = triangular_peaks(t, centers, rng.uniform(0.2, 1.0, n_peaks), half_widths)
    return LineCase(t, losses, gaussian_probabilities(t, rng.uniform(0.2, 1.5)))


def triangular_peaks(
    transformations: ArrayLike, centers: ArrayLike, heights: ArrayLike, half_widths: ArrayLike
) -> NDArray[np.float64]:
    """Return the upper envelope of triangular peaks."""
    t = np.asarray(transformations, dtype=float)[:, None]
    distance = np.abs(t - np.asarray(centers, dtype=float)) / np.asarray(half_widths, dtype=float)
    return (np.asarray(heights, dtype=float) * np.maximum(1 - distance, 0)).max(axis=1)


def gaussian_probabilities(transformations: ArrayLike, deviation: float) -> NDArray[np.float64]:
    """Return a centered Gaussian of the given standard deviation on a grid, normalized to sum 1."""
    if not deviation > 0:
        raise ValueError(f"deviation is {deviation}: expected a number greater than 0")
    weights = np.exp(-0.5 * (np.asarray(transformations, dtype=float) / deviation) ** 2)
    return weights / weights.sum()


def random_ordered_family(
    rng: np.random.Generator, n_members: int, n_transformations: int
) -> NDArray[np.float64]:
    """Return random functions, each nowhere below the previous one; the last is at least 1 everywhere."""
    shape = (n_members, n_transformations)
    steps = rng.exponential(size=shape) * (rng.random(shape) < 0.5)
    family = np.cumsum(steps, axis=0) / n_members
    family[-1] = np.maximum(family[-1], 1.0)
    return family


def random_members(
    rng: np.random.Generator, family: NDArray[np.float64], losses: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Return for each transformation a random member that reaches its loss, not necessarily the smallest."""
    reaches = family >= losses
    return (rng.random(family.shape) * reaches).argmax(axis=0)


def random_family_bounds(rng: np.random.Generator) -> dict[str, float]:
    """Return risk and bounds for a random ordered family, with the smallest and with random members."""
    size = int(rng.integers(2, 13))
    losses, probabilities = rng.random(size), rng.dirichlet(np.full(size, 0.5))
    family = random_ordered_family(rng, int(rng.integers(2, 9)), size)
    members = random_members(rng, family, losses)
    return {
        "risk": vicinal_risk(losses, probabilities),
        "smallest": lemma_bound(family, losses, probabilities),
        "any": equivariant_losses(family, members, probabilities).max(),
    }


def summarize(lines: pd.DataFrame, families: pd.DataFrame) -> dict[str, float]:
    """Count the violations of the bounds, and average how tight they are; one row per random case."""
    violations = [_count_below_risk(lines, LINE_BOUNDS), _count_below_risk(families, FAMILY_BOUNDS)]
    ratios = lines[["step", "square"]].div(lines["plain"], axis=0)
    return {
        "trials": len(lines),
        "lemma_violations": sum(violations),
        "lemma_checks": len(LINE_BOUNDS) * len(lines) + len(FAMILY_BOUNDS) * len(families),
        "unordered_violations": _count_below_risk(lines, ("scaled_step",)),
        # The step family is that of figure 4; the other one shows the cost of an unfavorable choice.
        "bound_over_plain": _by_batch(ratios["step"]),
        "square_over_plain": _by_batch(ratios["square"]),
    }


def _by_batch(ratios: pd.Series) -> dict:
    """Return the means of batches of random cases."""
    batches = np.array_split(ratios.to_numpy(), min(BATCHES, len(ratios)))
    return repeated([batch.mean() for batch in batches], unit="group")


def _count_below_risk(cases: pd.DataFrame, bounds: tuple[str, ...]) -> int:
    return int(cases[list(bounds)].lt(cases["risk"] - ROUNDING, axis=0).to_numpy().sum())


def example_curves(case: LineCase) -> pd.DataFrame:
    """Return loss, eq. 11 for each family, and the member that attains each bound, one row per ``t``."""
    t, losses, probabilities = case.transformations, case.losses, case.probabilities
    curves = {
        "t": t,
        "density": probabilities / (t[1] - t[0]),
        "loss": losses,
        "scaled_step": scaled_step_losses(t, losses, probabilities),
    }
    for name, family in (("step", step_family(t)), ("square", scaled_family(t**2, losses))):
        members = smallest_members(family, losses)
        curves[name] = equivariant_losses(family, members, probabilities)
        curves[f"{name}_member"] = family[members[curves[name].argmax()]]
    return pd.DataFrame(curves)


if "snakemake" in globals():
    run_stage(main, snakemake)
