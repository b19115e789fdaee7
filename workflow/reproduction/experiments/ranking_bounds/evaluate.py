"""Evaluate the ranking bounds 3.25 and 3.26; measure stability and risks (rule evaluate_ranking_bounds)."""

from pathlib import Path

import numpy as np
import pandas as pd

from ermlab.structured.bounds import ranking_excess
from reproduction.claims.results import write_results
from reproduction.experiments.ranking_bounds.monte_carlo import SIGMAS, simulate
from reproduction.experiments.ranking_bounds.stability import (
    loss_change_ratio,
    random_exchange,
    score_change_ratio,
    worst_exchange,
)
from reproduction.pipeline.job import Paths, run_stage

SIZES = np.geomspace(10, 1e8, 57)
REGULARIZATIONS = np.geomspace(1e-4, 10, 21)
RESCALINGS = ("slack", "margin")
#: Regularization strength of the curves in the figure.
SHOWN = 0.01


def main(inputs: Paths, outputs: Paths, *, seed: int, trials: int, problems: int, draws: int) -> None:
    """Compare the bounds on a grid, exchange one example, and measure risks on ``problems`` distributions."""
    rng = np.random.default_rng(seed)
    n, regularization = np.meshgrid(SIZES, REGULARIZATIONS)
    slack_minus_margin = {
        sigma: ranking_excess(n, regularization, sigma, "slack")
        - ranking_excess(n, regularization, sigma, "margin")
        for sigma in SIGMAS
    }
    tables = {
        "changes": pd.DataFrame(trained_changes(rng, trials)),
        "excess": excess_curves(),
        "ratios": ratio_curves(),
    }
    # After the others, whose random numbers do not depend on it.
    changes_of_losses = loss_changes(rng, trials)
    tables["measured"] = pd.DataFrame(simulate(rng, problems, draws))
    largest_ratios = tables["changes"].groupby("rescaling")["ratio"].max()
    write_results(
        Path(outputs["values"]).parent,
        {
            "slack_minus_margin_sigma_half_max": slack_minus_margin[0.5].max(),
            "slack_minus_margin_sigma_one_abs_max": np.abs(slack_minus_margin[1.0]).max(),
            "slack_minus_margin_sigma_two_min": slack_minus_margin[2.0].min(),
            **summarize_measured(tables["measured"]),
            "measured_samples": len(tables["measured"]) * draws,
            "trials": trials,
            # The worst cases attain the bounds, so the digits that depend on rounding are dropped.
            "stability_ratio_max": round(max(changes_of_losses), 9),
            "trained_stability_ratio_max": round(largest_ratios.max(), 9),
            "trained_stability_ratio_slack_max": round(largest_ratios["slack"], 9),
            "trained_stability_ratio_margin_max": round(largest_ratios["margin"], 9),
            "tight_crossing": tight_crossing(tables["ratios"]),
            "informative_from": informative_from(tables["excess"]),
        },
    )
    for name, table in tables.items():
        table.to_csv(outputs[name], index=False, lineterminator="\n")


def loss_changes(rng: np.random.Generator, trials: int) -> list[float]:
    """Return the change of losses over the bound of theorem 3.2.3 for random scores and losses."""
    ratios = []
    for _ in range(trials):
        size, sigma = int(rng.integers(2, 12)), rng.choice(SIGMAS)
        losses = rng.uniform(0, sigma, size)
        # Two examples with extreme losses and opposite changes of score attain the bound.
        losses[:2] = 0, sigma
        scores = rng.normal(size=size)
        nu = rng.exponential()
        moved = scores + nu * np.append([1, -1], rng.uniform(-1, 1, size - 2))
        ratios += [loss_change_ratio(scores, moved, losses, sigma, rescaling) for rescaling in RESCALINGS]
    return ratios


def trained_changes(rng: np.random.Generator, trials: int) -> list[dict]:
    """Return the change of trained scores over its bound; every tenth exchange is the worst possible."""
    changes = []
    for trial in range(trials):
        size, sigma = int(rng.integers(3, 13)), rng.choice(SIGMAS)
        exchange = "random" if trial % 10 else "worst"
        # In the worst exchange every pair must have a positive hinge loss: lambda of 10 is enough here.
        regularization = 10 ** (rng.uniform(-2, 2) if exchange == "random" else rng.uniform(1, 2))
        random_samples = random_exchange(rng, size, 2, sigma)
        for rescaling in RESCALINGS:
            samples = random_samples if exchange == "random" else worst_exchange(size, sigma, rescaling)
            changes.append(
                {
                    "rescaling": rescaling,
                    "exchange": exchange,
                    "n": size,
                    "sigma": sigma,
                    "regularization": regularization,
                    "ratio": score_change_ratio(*samples, regularization, sigma, rescaling),
                }
            )
    return changes


def summarize_measured(measured: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return the largest shares of violated bounds, and of the bound that the quantile takes."""
    ratios = measured["quantile"] / measured["bound"]
    groups = measured.assign(ratio=ratios).groupby("rescaling")
    return {
        "violation_share_max": groups["violations"].max().to_dict(),
        "quantile_over_bound_max": groups["ratio"].max().to_dict(),
    }


def excess_curves() -> pd.DataFrame:
    """Return both bounds, less the empirical risk, for each sigma and sample size."""
    return pd.concat(
        pd.DataFrame(
            {"n": SIZES, "sigma": sigma}
            | {rescaling: ranking_excess(SIZES, SHOWN, sigma, rescaling) for rescaling in RESCALINGS}
        )
        for sigma in SIGMAS
    )


def ratio_curves() -> pd.DataFrame:
    """Return slack bound over margin bound for a large sample, over sigma."""
    sigmas = np.geomspace(0.25, 4, 81)
    ratios = {}
    for name, tight in (("published", False), ("tight", True)):
        slack, margin = (ranking_excess(1e6, SHOWN, sigmas, kind, tight=tight) for kind in RESCALINGS)
        ratios[name] = slack / margin
    return pd.DataFrame({"sigma": sigmas, **ratios})


def tight_crossing(ratios: pd.DataFrame) -> float:
    """Return the sigma at which the bounds with tight stability are equal."""
    return float(np.exp(np.interp(0, np.log(ratios["tight"]), np.log(ratios["sigma"]))))


def informative_from(excess: pd.DataFrame) -> int:
    """Return the first sample size at which the slack bound for sigma = 1 is below 1, the largest risk."""
    return int(excess.loc[(excess["sigma"] == 1) & (excess["slack"] < 1), "n"].min())


if "snakemake" in globals():
    run_stage(main, snakemake)
