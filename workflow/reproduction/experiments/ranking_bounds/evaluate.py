"""The ranking bounds 3.25 and 3.26, and measured stability against them (rule evaluate_ranking_bounds)."""

from pathlib import Path

import numpy as np
import pandas as pd

from ermlab.structured.bounds import fitted_rate, ranking_excess
from reproduction.claims.results import write_results
from reproduction.experiments.ranking_bounds.stability import (
    loss_change_ratio,
    random_exchange,
    score_change_ratio,
    worst_exchange,
)
from reproduction.pipeline.job import job

SIGMAS = (0.5, 1.0, 2.0)
SIZES = np.geomspace(10, 1e8, 57)
REGULARIZATIONS = np.geomspace(1e-4, 10, 21)
RESCALINGS = ("slack", "margin")
#: The regularisation that the figure shows.
SHOWN = 0.01


def main(folder: str | Path, seed: int, trials: int) -> None:
    """Compare the bounds on a grid; exchange one example in random and in the worst problems."""
    folder = Path(folder)
    rng = np.random.default_rng(seed)
    n, regularization = np.meshgrid(SIZES, REGULARIZATIONS)
    slack_minus_margin = {
        sigma: ranking_excess(n, regularization, sigma, "slack")
        - ranking_excess(n, regularization, sigma, "margin")
        for sigma in SIGMAS
    }
    changes = pd.DataFrame(_trained_changes(rng, trials))
    slack, margin = (changes[changes["rescaling"] == rescaling] for rescaling in RESCALINGS)
    large = SIZES[SIZES >= 1e4]
    write_results(
        folder,
        {
            "slack_minus_margin_sigma_half_max": slack_minus_margin[0.5].max(),
            "slack_minus_margin_sigma_one_abs_max": np.abs(slack_minus_margin[1.0]).max(),
            "slack_minus_margin_sigma_two_min": slack_minus_margin[2.0].min(),
            "rate": fitted_rate(large, ranking_excess(large, SHOWN, 1.0, "slack")),
            "trials": trials,
            # The worst cases attain the bounds, so the digits that rounding disturbs are left off.
            "stability_ratio_max": round(max(_loss_changes(rng, trials)), 9),
            "trained_stability_ratio_max": round(changes["ratio"].max(), 9),
            "trained_stability_ratio_slack_max": round(slack["ratio"].max(), 9),
            "trained_stability_ratio_margin_max": round(margin["ratio"].max(), 9),
            "tight_crossing": _tight_crossing(),
            "informative_from": _informative_from(),
        },
    )
    changes.to_csv(folder / "changes.csv", index=False, lineterminator="\n")
    _excess_curves().to_csv(folder / "excess.csv", index=False, lineterminator="\n")
    _ratio_curves().to_csv(folder / "ratios.csv", index=False, lineterminator="\n")


def _loss_changes(rng: np.random.Generator, trials: int) -> list[float]:
    """Return the change of losses over the bound of theorem 3.2.3 for arbitrary scores and losses."""
    ratios = []
    for _ in range(trials):
        size, sigma = int(rng.integers(2, 12)), rng.choice(SIGMAS)
        losses = rng.uniform(0, sigma, size)
        # The extreme losses and opposite changes of two scores are what the theorem must withstand.
        losses[:2] = 0, sigma
        scores = rng.normal(size=size)
        nu = rng.exponential()
        moved = scores + nu * np.append([1, -1], rng.uniform(-1, 1, size - 2))
        ratios += [loss_change_ratio(scores, moved, losses, sigma, rescaling) for rescaling in RESCALINGS]
    return ratios


def _trained_changes(rng: np.random.Generator, trials: int) -> list[dict]:
    """Return the change of trained scores over its bound; every tenth exchange is the worst possible."""
    changes = []
    for trial in range(trials):
        size, sigma = int(rng.integers(3, 13)), rng.choice(SIGMAS)
        exchange = "random" if trial % 10 else "worst"
        # The worst exchange moves the scores most if every pair keeps a loss: lambda of 10 is enough here.
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


def _excess_curves() -> pd.DataFrame:
    return pd.concat(
        pd.DataFrame(
            {"n": SIZES, "sigma": sigma}
            | {rescaling: ranking_excess(SIZES, SHOWN, sigma, rescaling) for rescaling in RESCALINGS}
        )
        for sigma in SIGMAS
    )


def _ratio_curves() -> pd.DataFrame:
    """Return slack bound over margin bound for a large sample, over sigma."""
    sigmas = np.geomspace(0.25, 4, 81)
    bounds = {
        (rescaling, tight): ranking_excess(1e6, SHOWN, sigmas, rescaling, tight=tight)
        for rescaling in RESCALINGS
        for tight in (False, True)
    }
    return pd.DataFrame(
        {
            "sigma": sigmas,
            "published": bounds["slack", False] / bounds["margin", False],
            "tight": bounds["slack", True] / bounds["margin", True],
        }
    )


def _tight_crossing() -> float:
    """Return the sigma at which the two bounds meet when each has its tight stability."""
    curves = _ratio_curves()
    return float(np.exp(np.interp(0, np.log(curves["tight"]), np.log(curves["sigma"]))))


def _informative_from() -> int:
    """Return the first sample size of the grid at which the bound is below sigma = 1, the largest risk."""
    return int(SIZES[ranking_excess(SIZES, SHOWN, 1.0, "slack") < 1].min())


if "snakemake" in globals():
    with job(snakemake):
        main(Path(snakemake.output.values).parent, snakemake.params.seed, snakemake.params.trials)
