"""Lemma 1 on the example of figure 4 and on random cases (rule evaluate_vicinal_risk)."""

from pathlib import Path

import numpy as np
import pandas as pd

from ermlab.structured.vicinal import (
    equivariant_losses,
    lemma_bound,
    scaled_family,
    scaled_step_losses,
    smallest_members,
    step_family,
    vicinal_risk,
)
from reproduction.claims.results import write_results
from reproduction.experiments.vicinal_risk.cases import (
    FIGURE_DEVIATION,
    LineCase,
    figure_case,
    random_line_case,
    random_members,
    random_ordered_family,
)
from reproduction.pipeline.job import job

#: Fine enough for the narrowest random peak and for the tails of P to be those of the line.
LINE = np.linspace(-4, 4, 401)
ROUNDING = 1e-12


def main(folder: str | Path, seed: int, trials: int) -> None:
    """Evaluate the example, how its bounds change with the spread of P, and random cases."""
    folder = Path(folder)
    example = figure_case(LINE)
    spreads = pd.DataFrame(
        {"deviation": deviation, **figure_case(LINE, deviation).bounds()}
        for deviation in np.geomspace(0.2, 1.6, 31)
    )
    rng = np.random.default_rng(seed)
    lines = pd.DataFrame([random_line_case(rng, LINE).bounds() for _ in range(trials)])
    abstract = pd.DataFrame([_abstract_case(rng) for _ in range(trials)])
    violations = sum(
        int((case[bound] < case["risk"] - ROUNDING).sum())
        for case, bounds in ((lines, ("plain", "step", "square")), (abstract, ("smallest", "any")))
        for bound in bounds
    )
    ratios = lines[["step", "square"]].div(lines["plain"], axis=0)
    write_results(
        folder,
        {
            "trials": trials,
            "lemma_violations": violations,
            "lemma_checks": 5 * trials,
            "unordered_violations": int((lines["scaled_step"] < lines["risk"] - ROUNDING).sum()),
            # The step family is figure 4's own; the other shows what an unlucky choice costs.
            "bound_over_plain_mean": ratios["step"].mean(),
            "square_over_plain_mean": ratios["square"].mean(),
            "example": {"deviation": FIGURE_DEVIATION, **example.bounds()},
        },
    )
    _example_curves(example).to_csv(folder / "example.csv", index=False, lineterminator="\n")
    spreads.to_csv(folder / "spreads.csv", index=False, lineterminator="\n")


def _example_curves(case: LineCase) -> pd.DataFrame:
    """Return the losses of the example, (11) for each family, and the member that decides each bound."""
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


def _abstract_case(rng: np.random.Generator) -> dict[str, float]:
    """Return lemma 1 for arbitrary P, losses and ordered family, with the smallest and with any members."""
    size = int(rng.integers(2, 13))
    losses, probabilities = rng.random(size), rng.dirichlet(np.full(size, 0.5))
    family = random_ordered_family(rng, int(rng.integers(2, 9)), size)
    chosen = random_members(rng, family, losses)
    return {
        "risk": vicinal_risk(losses, probabilities),
        "smallest": lemma_bound(family, losses, probabilities),
        "any": equivariant_losses(family, chosen, probabilities).max(),
    }


if "snakemake" in globals():
    with job(snakemake):
        main(Path(snakemake.output.values).parent, snakemake.params.seed, snakemake.params.trials)
