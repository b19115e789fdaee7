"""Correlations, chosen parameters and weight in target regions of section 4.1 (rule evaluate_laplacian_kcca).

`main` writes the results; the other public functions turn them into the tables of the notebook.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.fmri.weight_maps import target_share, threshold_weights
from reproduction.claims.results import read_json, repeated, write_results
from reproduction.datasets.movie_watching import SHARING
from reproduction.experiments.laplacian_kcca.movie_study import (
    HAXBY_SETS,
    PUBLISHED_EXPERIMENTS,
    SETS,
    TARGETS,
    VARIABLES,
)
from reproduction.experiments.laplacian_kcca.protocol import EXPERIMENTS, MATCHED
from reproduction.pipeline.job import Paths, run_stage

TITLES = {
    "exp1": "1: no Laplacian",
    MATCHED: "1 at the ε of 2",
    "exp2": "2: labeled volumes",
    "exp3": "3: all volumes",
    "exp3_centred": "3, centering matrix",
}
OUTPUT_TITLES = {
    "temporal_contrast": "temporal contrast",
    "human_body": "human body",
    "contrast_body_color": "motion energy, body, color",
    "motion_faces": "motion, faces",
    "motion_contrast_color_faces": "motion, motion energy, color, faces",
    "face_house": "face, house",
    "bottle_scissors_shoe": "bottle, scissors, shoe",
    "all": "all eight",
    "scrambledpix": "scrambled",
}
#: The numbers after ± in Tables 4.1 (and 4.2) and 4.3, experiments 1 to 3; the thesis does not define them.
PUBLISHED_SPREAD = {
    "motion": (0.081, 0.066, 0.074),
    "temporal_contrast": (0.065, 0.084, 0.101),
    "human_body": (0.086, 0.093, 0.043),
    "color": (0.069, 0.079, 0.089),
    "faces": (0.073, 0.075, 0.054),
    "language": (0.070, 0.074, 0.057),
    "contrast_body_color": (0.0807, 0.0879, 0.0716),
    "motion_faces": (0.0460, 0.0908, 0.0636),
    "motion_contrast_color_faces": (0.0785, 0.0827, 0.0579),
}
EDGES = ("eps at its least", "eps at its largest", "gamma at its least", "gamma at its largest")

#: Experiment to one `repeated` entry per output.
Correlations = Mapping[str, Sequence[Mapping[str, list[float]]]]


def main(
    inputs: Paths, outputs: Paths, *, scenarios: Mapping[str, Mapping[str, float]], sweep_seeds: int
) -> None:
    """Write correlations, chosen parameters and target shares over all seeds and scenarios."""
    folder = Path(outputs["values"]).parent
    rows = pd.concat([_read(path).assign(seed=seed) for seed, path in enumerate(inputs["tables"])])
    haxby = _read(inputs["haxby_table"]).assign(seed=0)
    arrays = [dict(np.load(path)) for path in inputs["maps"]]
    receipts = {"movie_watching": inputs["movie"], "haxby2001_slice": inputs["haxby"]}
    values = film_values(rows) | map_values(arrays) | {"haxby": haxby_values(haxby)}
    datasets = {name: read_json(path)["kind"] for name, path in receipts.items()}
    write_results(folder, values, datasets=datasets)
    runs = [(scenario, seed) for scenario in scenarios for seed in range(sweep_seeds)]
    others = [
        _read(path).assign(scenario=scenario, seed=seed)
        for path, (scenario, seed) in zip(inputs["sweep"], runs, strict=True)
    ]
    for name, table in (("tables", rows), ("haxby", haxby), ("sweep", sweep_rows(rows, others, scenarios))):
        table.to_csv(outputs[name], index=False, lineterminator="\n")
    with Path(outputs["maps"]).open("wb") as file:
        np.savez_compressed(file, **arrays[0])


def _read(path: str) -> pd.DataFrame:
    return pd.read_csv(path, keep_default_na=False)  # "no edge" is an empty text


def film_values(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the results of the films, from one row per seed, protocol and row of `run_study`."""
    fair, permuted = (rows[rows["protocol"] == name] for name in ("fair", "permuted"))
    return {
        "seeds": int(rows["seed"].nunique()),
        "correlation_cv": _correlations(fair, "folds", VARIABLES),
        "correlation_spectral": _correlations(fair, "spectrum", VARIABLES),
        "correlation_multivariate": _correlations(fair, "spectrum", SETS),
        "correlation_multivariate_cv": _correlations(fair, "folds", SETS),
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


def haxby_values(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the results of the Haxby slice."""
    fair, permuted = (rows[rows["protocol"] == name] for name in ("fair", "permuted"))
    categories = [name for name in fair["output"].unique() if name not in HAXBY_SETS]
    sets = [name for name in HAXBY_SETS if name in set(fair["output"])]
    return {
        "categories": categories,
        "sets": sets,
        "correlation_cv": _correlations(fair, "folds", categories),
        "correlation_spectral": _correlations(fair, "spectrum", categories),
        "correlation_multivariate": _correlations(fair, "spectrum", sets),
        "correlation_permuted": _correlations(permuted, "folds", categories),
        "at_edge": _at_edge(fair),
        "folds": int(fair["fold"].nunique()),
    }


def map_values(arrays: Sequence[Mapping[str, NDArray]]) -> dict[str, Any]:
    """Return the share of thresholded weight in each target, from the weight maps of each seed."""
    return {
        "target_share": {
            target: [
                repeated(
                    target_share(maps[f"{target}_{experiment}"], maps[f"{target}_target"]) for maps in arrays
                )
                for experiment in PUBLISHED_EXPERIMENTS
            ]
            for target in TARGETS
        },
        "target_chance": {target: float(arrays[0][f"{target}_target"].mean()) for target in TARGETS},
        "largest_motion": np.max([maps["motion"] for maps in arrays], axis=(0, 1)),
        "voxels": int(arrays[0]["mask"].sum()),
    }


def _correlations(rows: pd.DataFrame, criterion: str, outputs: Sequence[str]) -> dict[str, list]:
    """Return for each experiment and output the mean over the folds, seed by seed."""
    chosen = rows[rows["criterion"] == criterion]
    means = chosen.groupby(["experiment", "output", "seed"])["correlation"].mean()
    experiments = [name for name in EXPERIMENTS if name in set(chosen["experiment"])]
    return {
        experiment: [repeated(means[experiment, output]) for output in outputs] for experiment in experiments
    }


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


def correlation_table(
    ours: Correlations,
    outputs: Sequence[str],
    published: Mapping[str, Sequence[float]] | None = None,
    permuted: Correlations | None = None,
) -> pd.DataFrame:
    """Return one row per output: published values, ours with controls, and ours with permuted volumes."""
    columns = {}
    for i, experiment in enumerate(PUBLISHED_EXPERIMENTS if published else ()):
        columns["published", experiment[3:]] = [
            f"{value:.3f}\u00a0±\u00a0{PUBLISHED_SPREAD[output][i]:.2f}"
            for output, value in zip(outputs, published[experiment], strict=True)
        ]
    for experiment, title in TITLES.items():
        columns["ours", title] = [_mean_and_deviation(value) for value in ours[experiment]]
    for experiment in PUBLISHED_EXPERIMENTS if permuted else ():
        means = [np.mean(value["repeats"]) for value in permuted[experiment]]
        columns["permuted volumes", experiment[3:]] = [f"{mean:.3f}" for mean in means]
    table = pd.DataFrame(columns, index=[OUTPUT_TITLES.get(name, name) for name in outputs])
    table.columns = pd.MultiIndex.from_tuples(columns)
    return table


def exhibit_table(
    parts: Mapping[tuple[str, str], Correlations],
    outputs: Mapping[str, Sequence[str]],
    published: Mapping[str, Sequence[float]],
    spread_over_folds: Mapping[str, Mapping[str, float]],
) -> pd.DataFrame:
    """Return one row per number of an exhibit.

    Parameters
    ----------
    parts : mapping
        Data set and protocol to correlations.
    outputs : mapping
        Data set to the names of its outputs.
    published : mapping
        Experiment to the published values of the first data set.
    spread_over_folds : mapping
        Experiment and output to the standard deviation, for the first data set and its first protocol.
    """
    (movie, protocol), *_ = parts
    rows = []
    for (data, how), correlations in parts.items():
        for experiment, values in correlations.items():
            for i, (output, value) in enumerate(zip(outputs[data], values, strict=True)):
                given = data == movie and experiment in published
                number = PUBLISHED_EXPERIMENTS.index(experiment) if given else 0
                first = (data, how) == (movie, protocol)
                rows.append(
                    {
                        "data": data,
                        "protocol": how,
                        "output": output,
                        "experiment": experiment,
                        "correlation": np.mean(value["repeats"]),
                        "sd_over_seeds": deviation(value["repeats"]),
                        "sd_over_folds": spread_over_folds[experiment][output] if first else np.nan,
                        "published": published[experiment][i] if given else np.nan,
                        "published_spread": PUBLISHED_SPREAD[output][number] if given else np.nan,
                    }
                )
    return pd.DataFrame(rows)


def sweep_gains(sweep: pd.DataFrame) -> pd.DataFrame:
    """Return the mean gain over outputs of experiments 2 and 3 over experiment 1, seed by seed."""
    keys = ["scenario", "signal", "sharing", "seed"]
    means = sweep.groupby([*keys, "experiment"], sort=False)["correlation"].mean().unstack("experiment")
    gains = means[["exp2", "exp3"]].sub(means["exp1"], axis=0)
    return gains.stack().rename("gain").reset_index()


def sweep_table(sweep: pd.DataFrame) -> pd.DataFrame:
    """Return the mean correlation over outputs and seeds, one row per scenario."""
    rows = sweep.groupby(["scenario", "signal", "sharing", "experiment"], sort=False)["correlation"].mean()
    table = rows.unstack("experiment").reset_index().sort_values(["signal", "sharing"])
    seeds = sweep.groupby("scenario")["seed"].nunique()
    return table.rename(columns={name: TITLES[name] for name in PUBLISHED_EXPERIMENTS}).assign(
        scans=table["scenario"].map(seeds)
    )


def edge_table(at_edge: Mapping[str, Any]) -> pd.DataFrame:
    """Return the percentage of choices at an edge of the grid, one row per criterion and experiment."""
    rows = {
        (criterion, TITLES[experiment]): {name: f"{100 * share:.0f} %" for name, share in shares.items()}
        for criterion, experiments in at_edge.items()
        for experiment, shares in experiments.items()
        if experiment != MATCHED
    }
    return pd.DataFrame(rows).T


def share_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the percentage of thresholded weight in each target, and that of its voxels."""
    rows = {}
    for target, shares in values["target_share"].items():
        row = {
            TITLES[experiment]: _mean_and_deviation(share, 100, 1)
            for experiment, share in zip(PUBLISHED_EXPERIMENTS, shares, strict=True)
        }
        row["by chance"] = f"{100 * values['target_chance'][target]:.1f}"
        rows[OUTPUT_TITLES.get(target, target)] = row
    return pd.DataFrame(rows).T


def map_table(maps: Mapping[str, NDArray], target: str, values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the numbers behind a figure of maps, one row per experiment."""
    inside, rows = maps[f"{target}_target"], []
    for experiment, share in zip(PUBLISHED_EXPERIMENTS, values["target_share"][target], strict=True):
        weights = maps[f"{target}_{experiment}"].astype(np.float64)
        kept = threshold_weights(weights) != 0
        rows.append(
            {
                "experiment": experiment,
                "voxels_above_2_sd": int(kept.sum()),
                "of_them_in_target": int((kept & inside).sum()),
                "voxels_in_target": int(inside.sum()),
                "largest_in_target_sd": float(weights[inside].max() / weights.std()),
                "share_of_weight": share["repeats"][0],
                "share_mean_over_seeds": float(np.mean(share["repeats"])),
                "share_by_chance": values["target_chance"][target],
            }
        )
    return pd.DataFrame(rows)


def deviation(repeats: Sequence[float]) -> float:
    """Return the standard deviation of repetitions; NaN for a single one."""
    return float(np.std(repeats, ddof=1)) if len(repeats) > 1 else np.nan


def _mean_and_deviation(value: Mapping[str, list[float]], factor: float = 1.0, digits: int = 3) -> str:
    """Format mean and standard deviation over seeds; the mean alone for a single seed."""
    repeats = factor * np.asarray(value["repeats"])
    mean = f"{np.mean(repeats):.{digits}f}"
    return mean if len(repeats) < 2 else f"{mean}\u00a0±\u00a0{deviation(repeats):.{min(digits, 2)}f}"


if "snakemake" in globals():
    run_stage(main, snakemake)
