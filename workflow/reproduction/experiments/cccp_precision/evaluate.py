"""CCCP with fixed and adaptive precision on functions of one variable (rule evaluate_cccp_precision)."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ermlab.optimize.concave_convex import CCCPResult, cccp
from ermlab.optimize.regularizers import L2
from ermlab.structured.bridge import BridgeRisk
from reproduction.claims.results import over_seeds, write_results
from reproduction.experiments.partial_bound.cases import planted_problem
from reproduction.pipeline.job import job

REGULARIZER = L2(0.05)
#: The figure draws one problem from this start; the others start anywhere in the range.
SHOWN_START, RANGE = -3.0, 4.0
DIMENSIONS = (1, 2, 4, 8, 16, 32)
#: A run has not reached the optimum if its objective is more than this share above it.
STUCK = 0.01
#: Stop when an iteration lowers the objective by at most this share of it.
ETA = 1e-3
VARIANTS = {
    "fixed": {"adaptive": False, "recycle": False},
    "adaptive": {"adaptive": True, "recycle": False},
    "fixed_recycled": {"adaptive": False, "recycle": True},
    "adaptive_recycled": {"adaptive": True, "recycle": True},
}


def main(folder: str | Path, seed: int, starts: int, repeats: int) -> None:
    """Run all variants on one problem for the figure, and on many problems and starts for the claims."""
    folder = Path(folder)
    one, more, shown = np.random.SeedSequence(seed).spawn(3)
    runs = pd.DataFrame([_one_weight(np.random.default_rng(child)) for child in one.spawn(starts)])
    dimensions = _over_dimensions(more, repeats)
    problem = planted_problem(np.random.default_rng(shown))
    away = runs["optimum"] + STUCK * runs["optimum"].abs()
    write_results(
        folder,
        {name: over_seeds(runs[name]) for name in runs.columns.drop("start")}
        | {f"stuck_{variant}": int((runs[f"objective_{variant}"] > away).sum()) for variant in VARIANTS}
        | {
            f"stuck_as_printed_{variant}": int((runs[f"printed_{variant}"] > away).sum())
            for variant in VARIANTS
        }
        | {
            "starts": starts,
            "bounds_ratio_reached": _ratio_where_all_arrive(runs, away),
            "bounds_ratio_by_dimension": dimensions.to_dict("list"),
        },
    )
    tables = {"starts": runs, "dimensions": dimensions, "curves": _curves(problem), "paths": _paths(problem)}
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")


def _one_weight(rng: np.random.Generator) -> dict[str, float]:
    """Return what every variant does on one random function of one variable from a random start."""
    risk, start = planted_problem(rng), rng.uniform(-RANGE, RANGE)
    return {"start": start, "optimum": _curves(risk)["objective"].min(), **_counts(risk, [start])}


def _ratio_where_all_arrive(runs: pd.DataFrame, away: pd.Series) -> dict[str, float]:
    """Return mean bounds, adaptive over fixed, of the starts from which every variant reaches the optimum."""
    objectives = runs[[f"objective_{variant}" for variant in VARIANTS]]
    mean = runs[objectives.le(away, axis=0).all(axis=1)].mean()
    if mean.isna().any():
        raise ValueError(f"none of {len(runs)} starts reaches the optimum in every variant: take more starts")
    return {
        "not_recycled": mean["bounds_adaptive"] / mean["bounds_fixed"],
        "recycled": mean["bounds_adaptive_recycled"] / mean["bounds_fixed_recycled"],
    }


def _over_dimensions(seeds: np.random.SeedSequence, repeats: int) -> pd.DataFrame:
    """Return the mean bounds of adaptive over those of fixed precision, for more and more weights."""
    rows = []
    for dimension, child in zip(DIMENSIONS, seeds.spawn(len(DIMENSIONS)), strict=True):
        rng = np.random.default_rng(child)
        counts = pd.DataFrame(
            _counts(planted_problem(rng, dimension), rng.uniform(-RANGE, RANGE, dimension))
            for _ in range(repeats)
        ).mean()
        rows.append(
            {
                "dimension": dimension,
                "not_recycled": counts["bounds_adaptive"] / counts["bounds_fixed"],
                "recycled": counts["bounds_adaptive_recycled"] / counts["bounds_fixed_recycled"],
                "both_over_neither": counts["bounds_adaptive_recycled"] / counts["bounds_fixed"],
            }
        )
    return pd.DataFrame(rows)


def _descend(risk: BridgeRisk, start: ArrayLike, variant: str) -> CCCPResult:
    """Run Algorithm 1.1 as printed: textbook cutting planes, no bound but those computed."""
    return cccp(
        risk.convex_part,
        risk.reward,
        REGULARIZER,
        w0=start,
        method="cutting-plane",
        nonnegative=False,
        eta=ETA,
        **VARIANTS[variant],
    )


def _counts(risk: BridgeRisk, start: ArrayLike) -> dict[str, float]:
    """Return bounds, outer iterations and final objective of each variant."""
    counts = {}
    for variant in VARIANTS:
        result = _descend(risk, start, variant)
        counts[f"bounds_{variant}"] = result.bounds
        counts[f"outer_{variant}"] = result.n_iter
        counts[f"objective_{variant}"] = result.value
        counts[f"printed_{variant}"] = _objective_of_printed_stop(result.history.objective)
    return counts


def _objective_of_printed_stop(objectives: list[float]) -> float:
    """Return the objective at which line 15 of Algorithm 1.1 stops, which does not wait for ``eps_min``."""
    for last, value in pairwise(objectives):
        if last - value <= ETA * abs(last):
            return value
    return objectives[-1]


def _curves(risk: BridgeRisk) -> pd.DataFrame:
    """Return the two convex functions and their difference on a fine grid."""
    grid = np.linspace(-RANGE, RANGE, 1601)
    convex = [risk.convex_part([w])[0] + REGULARIZER(np.array([w])) for w in grid]
    reward = [risk.reward([w])[0] for w in grid]
    return pd.DataFrame({"w": grid, "convex": convex, "reward": reward}).eval("objective = convex - reward")


def _paths(risk: BridgeRisk) -> pd.DataFrame:
    """Return the points that each variant passes from the start that the figure shows."""
    tables = []
    for variant in VARIANTS:
        history = _descend(risk, [SHOWN_START], variant).history
        w = np.concatenate(history.points)
        tables.append(
            pd.DataFrame(
                {
                    "variant": variant,
                    "iteration": range(len(w)),
                    "w": w,
                    "convex": [risk.convex_part([x])[0] + REGULARIZER(np.array([x])) for x in w],
                    "reward": [risk.reward([x])[0] for x in w],
                    "slope": [risk.reward([x])[1][0] for x in w],
                    "objective": history.objective,
                    # The start has one bound of its own.
                    "bounds": np.cumsum([1, *history.bounds]),
                }
            )
        )
    return pd.concat(tables)


if "snakemake" in globals():
    with job(snakemake):
        main(
            Path(snakemake.output.values).parent,
            snakemake.params.seed,
            snakemake.params.starts,
            snakemake.params.repeats,
        )
