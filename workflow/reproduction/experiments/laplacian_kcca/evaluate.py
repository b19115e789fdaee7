"""Correlations, parameters and weight in target regions of section 4.1 (rule evaluate_laplacian_kcca)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.fmri.weight_maps import target_share
from reproduction.claims.results import read_json, repeated, write_results
from reproduction.datasets.movie_watching import SHARING
from reproduction.experiments.intervals import count_worse
from reproduction.experiments.laplacian_kcca.movie_study import (
    HAXBY_SETS,
    PUBLISHED_EXPERIMENTS,
    SETS,
    TARGETS,
    VARIABLES,
)
from reproduction.experiments.laplacian_kcca.protocol import EXPERIMENTS, OUTPUT_SIDE
from reproduction.experiments.laplacian_kcca.tables import Correlations
from reproduction.pipeline.job import Paths, run_stage

EDGES = ("eps at its least", "eps at its largest", "gamma at its least", "gamma at its largest")


def main(
    inputs: Paths, outputs: Paths, *, scenarios: Mapping[str, Mapping[str, float]], sweep_seeds: int
) -> None:
    """Write correlations, chosen parameters and target shares over all seeds and scenarios."""
    folder = Path(outputs["values"]).parent
    rows = pd.concat([_read(path).assign(seed=seed) for seed, path in enumerate(inputs["tables"])])
    haxby = _read(inputs["haxby_table"]).assign(seed=0)
    arrays = [dict(np.load(path)) for path in inputs["maps"]]
    receipts = {"movie_watching": inputs["movie"], "haxby2001_slice": inputs["haxby"]}
    runs = [(scenario, seed) for scenario in scenarios for seed in range(sweep_seeds)]
    others = [
        _read(path).assign(scenario=scenario, seed=seed)
        for path, (scenario, seed) in zip(inputs["sweep"], runs, strict=True)
    ]
    values = film_values(rows) | map_values(arrays) | {"haxby": haxby_values(haxby)}
    silent = [table for table in others if scenarios[table["scenario"].iloc[0]].get("signal") == 0]
    if silent:
        values["no_signal"] = no_signal_values(silent)
    datasets = {name: read_json(path)["kind"] for name, path in receipts.items()}
    write_results(folder, values, datasets=datasets)
    for name, table in (("tables", rows), ("haxby", haxby), ("sweep", sweep_rows(rows, others, scenarios))):
        table.to_csv(outputs[name], index=False, lineterminator="\n")
    with Path(outputs["maps"]).open("wb") as file:
        np.savez_compressed(file, **arrays[0])


def _read(path: str) -> pd.DataFrame:
    return pd.read_csv(path, keep_default_na=False)  # "no edge" is an empty text


def film_values(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the results of the films, from one row per seed, protocol and row of `run_study`."""
    fair, permuted, output_side = (
        rows[rows["protocol"] == name] for name in ("fair", "permuted", "output_side")
    )
    by_folds, by_spectrum = _correlations(fair, "folds", VARIABLES), _correlations(fair, "spectrum", SETS)
    return {
        "seeds": int(rows["seed"].nunique()),
        "correlation_cv": by_folds,
        "correlation_spectral": _correlations(fair, "spectrum", VARIABLES),
        "correlation_multivariate": by_spectrum,
        "correlation_multivariate_cv": _correlations(fair, "folds", SETS),
        "correlation_output_side": _correlations(output_side, "folds", SETS)[OUTPUT_SIDE],
        "worse": {
            "exp2": _count_worse(by_folds, "exp2", ["exp1"]),
            "exp3": _count_worse(by_folds, "exp3", ["exp1", "exp2"]),
            "sets": _count_worse(by_spectrum, "exp3", ["exp1", "exp2"]),
        },
        "correlation_permuted": _correlations(permuted, "folds", VARIABLES),
        "correlation_multivariate_permuted": _correlations(permuted, "folds", SETS),
        "fold_spread": {
            criterion: _fold_spread(fair, criterion, (*VARIABLES, *SETS))
            for criterion in ("folds", "spectrum")
        },
        "at_edge": _at_edge(fair),
        "median_eps": _medians(fair, "eps"),
        "median_gamma": _medians(fair, "gamma"),
    }


def no_signal_values(tables: Sequence[pd.DataFrame]) -> dict[str, Any]:
    """Return the mean correlation over labels in scans without a response to the films, by stretch."""
    rows = pd.concat(tables)
    means = rows.groupby(["experiment", "seed", "fold"])["correlation"].mean()
    overlap = 1 / (rows["fold"].nunique() - 1) / rows["seed"].nunique()  # only within a scan
    return {name: repeated(means[name], "stretch", overlap) for name in PUBLISHED_EXPERIMENTS}


def haxby_values(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the results of the Haxby slice, run by run."""
    fair, permuted = (rows[rows["protocol"] == name] for name in ("fair", "permuted"))
    categories = [name for name in fair["output"].unique() if name not in HAXBY_SETS]
    sets = [name for name in HAXBY_SETS if name in set(fair["output"])]
    by_folds = _correlations(fair, "folds", categories, "run")
    return {
        "categories": categories,
        "sets": sets,
        "correlation_cv": by_folds,
        "correlation_spectral": _correlations(fair, "spectrum", categories, "run"),
        "correlation_multivariate": _correlations(fair, "spectrum", sets, "run"),
        "correlation_permuted": _correlations(permuted, "folds", categories, "run"),
        "worse": {
            "exp2": _count_worse(by_folds, "exp2", ["exp1"]),
            "exp3": _count_worse(by_folds, "exp3", ["exp1", "exp2"]),
        },
        "at_edge": _at_edge(fair),
        "folds": int(fair["fold"].nunique()),
    }


def map_values(arrays: Sequence[Mapping[str, NDArray]]) -> dict[str, Any]:
    """Return the share of thresholded weight in each target, from the weight maps of each seed."""
    return {
        "target_share": {
            target: [
                repeated(
                    (
                        target_share(maps[f"{target}_{experiment}"], maps[f"{target}_target"])
                        for maps in arrays
                    ),
                    "scan",
                )
                for experiment in PUBLISHED_EXPERIMENTS
            ]
            for target in TARGETS
        },
        "target_chance": {target: float(arrays[0][f"{target}_target"].mean()) for target in TARGETS},
        "largest_motion": np.max([maps["motion"] for maps in arrays], axis=(0, 1)),
        "voxels": int(arrays[0]["mask"].sum()),
    }


def _correlations(
    rows: pd.DataFrame, criterion: str, outputs: Sequence[str], unit: str = "scan"
) -> dict[str, list[dict[str, Any]]]:
    """Return the correlations of each experiment and output, repeated over scans or over the runs of one."""
    chosen = rows[rows["criterion"] == criterion]
    column, overlap = ("seed", 0.0) if unit == "scan" else ("fold", 1 / (chosen["fold"].nunique() - 1))
    means = chosen.groupby(["experiment", "output", column])["correlation"].mean()
    experiments = [name for name in (*EXPERIMENTS, OUTPUT_SIDE) if name in set(chosen["experiment"])]
    return {
        experiment: [repeated(means[experiment, output], unit, overlap) for output in outputs]
        for experiment in experiments
    }


def _count_worse(correlations: Correlations, experiment: str, others: Sequence[str]) -> int:
    """Return for how many outputs an experiment is significantly worse than one of the others."""
    ours = [value["repeats"] for value in correlations[experiment]]
    overlap = correlations[experiment][0].get("test_over_train", 0.0)
    theirs = [[value["repeats"] for value in correlations[other]] for other in others]
    return count_worse(ours, theirs, overlap)


def _fold_spread(rows: pd.DataFrame, criterion: str, outputs: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the standard deviation over folds, averaged over seeds."""
    chosen = rows[rows["criterion"] == criterion]
    spread = chosen.groupby(["experiment", "output", "seed"])["correlation"].std()
    means = spread.groupby(level=["experiment", "output"]).mean()
    return {name: {output: float(means[name, output]) for output in outputs} for name in EXPERIMENTS}


def _at_edge(rows: pd.DataFrame) -> dict[str, dict[str, dict[str, float]]]:
    """Return the share of choices at each edge of the grid, by criterion and experiment."""
    return {
        criterion: {
            experiment: {edge: float(group["edge"].str.contains(edge).mean()) for edge in EDGES}
            for experiment, group in chosen.groupby("experiment")
        }
        for criterion, chosen in rows.groupby("criterion")
    }


def _medians(rows: pd.DataFrame, name: str) -> dict[str, dict[str, float]]:
    medians = rows.groupby(["criterion", "experiment"])[name].median()
    return {
        criterion: {experiment: float(medians[criterion, experiment]) for experiment in EXPERIMENTS}
        for criterion in ("folds", "spectrum")
    }


def sweep_rows(
    rows: pd.DataFrame, others: Sequence[pd.DataFrame], scenarios: Mapping[str, Mapping[str, float]]
) -> pd.DataFrame:
    """Return the mean correlation over folds in all scenarios, with their signal and sharing.

    Parameters
    ----------
    rows : DataFrame
        Results of the main scenario.
    others : sequence of DataFrame
        Results of the other scenarios, with the columns scenario and seed.
    scenarios : mapping
        Scenario to the settings in which it differs from the main one.
    """
    main_rows = rows[
        (rows["protocol"] == "fair") & (rows["criterion"] == "folds") & rows["output"].isin(VARIABLES)
    ].assign(scenario="main")
    table = pd.concat([main_rows, *others])
    table = table[table["experiment"].isin(PUBLISHED_EXPERIMENTS)].copy()
    for key, default in (("signal", 1.0), ("sharing", SHARING)):
        table[key] = [scenarios.get(scenario, {}).get(key, default) for scenario in table["scenario"]]
    columns = ["scenario", "signal", "sharing", "seed", "experiment", "output"]
    return table.groupby(columns, sort=False, as_index=False)["correlation"].mean()


if "snakemake" in globals():
    run_stage(main, snakemake)
