"""Theorem 1.1 against simulated problems with exact expected risk (rule evaluate_partial_bound)."""

from pathlib import Path

import numpy as np
import pandas as pd

from ermlab.structured.bounds import fitted_rate, partial_annotation_bound
from reproduction.claims.results import write_results
from reproduction.experiments.partial_bound.cases import disc, extreme_problem, random_problem, sampled_excess
from reproduction.pipeline.job import job

SIZES = 10 ** np.arange(1, 9)
LABELS, INPUTS, RADIUS, CONFIDENCE = 2, 3, 1.0, 0.95


def main(folder: str | Path, seed: int, problems: int, draws: int) -> None:
    """Minimise the empirical bridge risk on many samples and hold the excess risk against the bounds."""
    weights = disc(RADIUS, rings=12, spokes=48)
    runs = []
    for problem_seed in np.random.SeedSequence(seed).spawn(problems):
        rng = np.random.default_rng(problem_seed)
        problem = random_problem(rng, LABELS, INPUTS, dimension=2)
        constants = {
            "mu": RADIUS,
            "feature_norm": problem.feature_norm,
            "largest_loss": problem.largest_loss,
            "annotations": problem.annotations,
            "outputs": problem.outputs,
            "confidence": CONFIDENCE,
        }
        for n in SIZES:
            excess, deviation = sampled_excess(rng, problem, weights, int(n), draws)
            published = float(partial_annotation_bound(n, **constants))
            runs.append(
                {
                    "n": n,
                    "published": published,
                    "repaired": float(partial_annotation_bound(n, **constants, repaired=True)),
                    "largest_possible": 2 * RADIUS * problem.feature_norm + problem.largest_loss,
                    "excess_quantile": np.quantile(excess, CONFIDENCE),
                    "excess_max": excess.max(),
                    "deviation_max": deviation.max(),
                    "violations": int((excess > published).sum()),
                }
            )
    curves = pd.DataFrame(runs).groupby("n", as_index=False).max()
    observed = curves[curves["excess_max"] > 0]
    extreme = extreme_problem()
    write_results(
        folder,
        {
            "rate": fitted_rate(curves["n"], curves["published"]),
            "deviation_rate": fitted_rate(curves["n"], curves["deviation_max"]),
            "monte_carlo_trials": problems * draws * len(SIZES),
            "monte_carlo_violations": sum(run["violations"] for run in runs),
            "bound_over_excess_min": (observed["published"] / observed["excess_max"]).min(),
            "repaired_over_excess_min": (observed["repaired"] / observed["excess_max"]).min(),
            "published_over_repaired": (curves["published"] / curves["repaired"]).max(),
            "informative_from": _informative_from(curves, "published"),
            "repaired_informative_from": _informative_from(curves, "repaired"),
            # mu = B = Delta_max = 1: the proof has 2 as the largest loss.
            "loss_over_printed_maximum": extreme([-1.0]) / 2,
        },
    )
    curves.drop(columns="violations").to_csv(Path(folder) / "curves.csv", index=False, lineterminator="\n")


def _informative_from(curves: pd.DataFrame, bound: str) -> int:
    """Return the sample size at which a bound that falls as 1/sqrt(n) passes the largest possible loss."""
    first = curves.iloc[0]
    return int(np.ceil(first["n"] * (first[bound] / first["largest_possible"]) ** 2))


if "snakemake" in globals():
    with job(snakemake):
        main(
            Path(snakemake.output.values).parent,
            snakemake.params.seed,
            snakemake.params.problems,
            snakemake.params.draws,
        )
