"""The numbers of section 4.1: correlations, and weight inside regions (rule evaluate_laplacian_kcca)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ermlab.fmri.weight_maps import target_share
from reproduction.claims.results import over_seeds, read_json, write_results
from reproduction.datasets.movie_watching import SHARING
from reproduction.experiments.laplacian_kcca.movie_study import (
    HAXBY_SETS,
    PUBLISHED_EXPERIMENTS,
    SETS,
    TARGETS,
    VARIABLES,
)
from reproduction.experiments.laplacian_kcca.protocol import EXPERIMENTS
from reproduction.pipeline.job import job


def main(
    folder: Path,
    *,
    movie: str,
    haxby: str,
    tables: Sequence[str],
    maps: Sequence[str],
    sweep: Sequence[str],
    haxby_table: str,
    scenarios: Mapping[str, Mapping[str, float]],
    sweep_of: Sequence[Mapping[str, Any]],
) -> None:
    """Gather what the seeds and scenarios have given; ``sweep_of`` names scenario and seed of each file."""
    rows = pd.concat([_read(path).assign(seed=seed) for seed, path in enumerate(tables)])
    haxby_rows = _read(haxby_table).assign(seed=0)
    fair, permuted = (rows[rows["protocol"] == name] for name in ("fair", "permuted"))
    fair_haxby, permuted_haxby = (haxby_rows[haxby_rows["protocol"] == name] for name in ("fair", "permuted"))
    categories = [name for name in fair_haxby["output"].unique() if name not in HAXBY_SETS]
    haxby_sets = [name for name in HAXBY_SETS if name in set(fair_haxby["output"])]
    arrays = [dict(np.load(path)) for path in maps]
    write_results(
        folder,
        {
            "correlation_cv": _correlations(fair, "folds", VARIABLES),
            "correlation_spectral": _correlations(fair, "spectrum", VARIABLES),
            "correlation_multivariate": _correlations(fair, "spectrum", tuple(SETS)),
            "correlation_multivariate_cv": _correlations(fair, "folds", tuple(SETS)),
            "correlation_permuted": _correlations(permuted, "folds", VARIABLES),
            "correlation_multivariate_permuted": _correlations(permuted, "folds", tuple(SETS)),
            "fold_spread": {
                criterion: _fold_spread(fair, criterion, (*VARIABLES, *SETS))
                for criterion in ("folds", "spectrum")
            },
            "haxby": {
                "categories": categories,
                "sets": haxby_sets,
                "correlation_cv": _correlations(fair_haxby, "folds", categories),
                "correlation_spectral": _correlations(fair_haxby, "spectrum", categories),
                "correlation_multivariate": _correlations(fair_haxby, "spectrum", haxby_sets),
                "correlation_permuted": _correlations(permuted_haxby, "folds", categories),
                "at_edge": _at_edge(fair_haxby),
                "folds": int(fair_haxby["fold"].nunique()),
            },
            "at_edge": _at_edge(fair),
            "median_eps": _medians(fair, "eps"),
            "median_gamma": _medians(fair, "gamma"),
            "target_share": {target: _shares(arrays, target) for target in TARGETS},
            "target_chance": {target: float(arrays[0][f"{target}_target"].mean()) for target in TARGETS},
            "largest_motion": np.max([some["motion"] for some in arrays], axis=(0, 1)),
            "seeds": len(tables),
            "voxels": int(arrays[0]["mask"].sum()),
        },
        datasets={"movie_watching": read_json(movie)["kind"], "haxby2001_slice": read_json(haxby)["kind"]},
    )
    rows.to_csv(folder / "main.csv", index=False, lineterminator="\n")
    haxby_rows.to_csv(folder / "haxby.csv", index=False, lineterminator="\n")
    _sweep(rows, sweep, sweep_of, scenarios).to_csv(folder / "sweep.csv", index=False, lineterminator="\n")
    with (folder / "maps.npz").open("wb") as file:
        np.savez_compressed(file, **arrays[0])


def _read(path: str) -> pd.DataFrame:
    return pd.read_csv(path, keep_default_na=False)  # "no edge" is an empty text


def _correlations(rows: pd.DataFrame, criterion: str, outputs: Sequence[str]) -> dict[str, list]:
    """Return for each experiment and output the mean over the folds, seed by seed."""
    chosen = rows[rows["criterion"] == criterion]
    means = chosen.groupby(["experiment", "output", "seed"])["correlation"].mean()
    experiments = [name for name in EXPERIMENTS if name in set(chosen["experiment"])]
    return {
        experiment: [over_seeds(means[experiment, output]) for output in outputs]
        for experiment in experiments
    }


def _fold_spread(rows: pd.DataFrame, criterion: str, outputs: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the standard deviation over folds, the mean over seeds."""
    chosen = rows[rows["criterion"] == criterion]
    spread = chosen.groupby(["experiment", "output", "seed"])["correlation"].std()
    means = spread.groupby(level=["experiment", "output"]).mean()
    return {name: {output: float(means[name, output]) for output in outputs} for name in EXPERIMENTS}


def _at_edge(rows: pd.DataFrame) -> dict[str, dict[str, dict[str, float]]]:
    """Return the share of choices of eps and of gamma at an edge of the grid, by criterion and experiment."""
    return {
        criterion: {
            experiment: {
                name: float(some["edge"].str.contains(name).mean())
                for name in (
                    "eps at its least",
                    "eps at its largest",
                    "gamma at its least",
                    "gamma at its largest",
                )
            }
            for experiment, some in chosen.groupby("experiment")
        }
        for criterion, chosen in rows.groupby("criterion")
    }


def _medians(rows: pd.DataFrame, name: str) -> dict[str, dict[str, float]]:
    medians = rows.groupby(["criterion", "experiment"])[name].median()
    return {
        criterion: {experiment: float(medians[criterion, experiment]) for experiment in EXPERIMENTS}
        for criterion in ("folds", "spectrum")
    }


def _shares(arrays: Sequence[Mapping[str, np.ndarray]], target: str) -> list:
    """Return for each experiment the share of the thresholded weight in the target, seed by seed."""
    return [
        over_seeds(target_share(some[f"{target}_{experiment}"], some[f"{target}_target"]) for some in arrays)
        for experiment in PUBLISHED_EXPERIMENTS
    ]


def _sweep(
    rows: pd.DataFrame,
    paths: Sequence[str],
    names: Sequence[Mapping[str, Any]],
    scenarios: Mapping[str, Mapping[str, float]],
) -> pd.DataFrame:
    """Return all scenarios in one table, the main one included, with what sets them apart."""
    main = rows[
        (rows["protocol"] == "fair") & (rows["criterion"] == "folds") & rows["output"].isin(VARIABLES)
    ].assign(scenario="main")
    others = [
        _read(path).assign(scenario=name["scenario"], seed=name["seed"])
        for path, name in zip(paths, names, strict=True)
    ]
    table = pd.concat([main[main["experiment"].isin(PUBLISHED_EXPERIMENTS)], *others])
    usual = {"signal": 1.0, "sharing": SHARING}
    for key, value in usual.items():
        table[key] = [scenarios.get(scenario, {}).get(key, value) for scenario in table["scenario"]]
    columns = ["scenario", "signal", "sharing", "seed", "experiment", "output"]
    table = table[table["experiment"].isin(PUBLISHED_EXPERIMENTS)]
    return table.groupby(columns, sort=False, as_index=False)["correlation"].mean()


if "snakemake" in globals():
    with job(snakemake):
        main(
            Path(snakemake.output.values).parent,
            **dict(snakemake.input.items()),
            scenarios=snakemake.params.scenarios,
            sweep_of=snakemake.params.sweep,
        )
