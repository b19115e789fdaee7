"""Tables of section 4.1 for the notebook, from the results of `evaluate`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.fmri.weight_maps import threshold_weights
from reproduction.experiments.laplacian_kcca.movie_study import PUBLISHED_EXPERIMENTS, SETS
from reproduction.experiments.laplacian_kcca.protocol import MATCHED

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
#: Experiment to one `repeated` entry per output.
Correlations = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class Published:
    """Published values and the numbers printed after ±, which the thesis does not define, by experiment."""

    values: Mapping[str, Sequence[float]]
    spreads: Mapping[str, Sequence[float]]


def correlation_table(
    ours: Correlations,
    outputs: Sequence[str],
    published: Published | None = None,
    permuted: Correlations | None = None,
) -> pd.DataFrame:
    """Return one row per output: published values, ours with controls, and ours with permuted volumes."""
    columns = {}
    for experiment in PUBLISHED_EXPERIMENTS if published else ():
        columns["published", experiment[3:]] = [
            f"{value:.3f}\u00a0±\u00a0{spread:.2f}"
            for value, spread in zip(published.values[experiment], published.spreads[experiment], strict=True)
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
    published: Published,
    spread_over_folds: Mapping[str, Mapping[str, float]],
) -> pd.DataFrame:
    """Return one row per number of an exhibit.

    Parameters
    ----------
    parts : mapping
        Data set and protocol to correlations.
    outputs : mapping
        Data set to the names of its outputs.
    published : Published
        Published values of the first data set.
    spread_over_folds : mapping
        Experiment and output to the standard deviation, for the first data set and its first protocol.
    """
    (movie, protocol), *_ = parts
    rows = []
    for (data, how), correlations in parts.items():
        for experiment, values in correlations.items():
            for i, (output, value) in enumerate(zip(outputs[data], values, strict=True)):
                given = data == movie and experiment in published.values
                first = (data, how) == (movie, protocol)
                rows.append(
                    {
                        "data": data,
                        "protocol": how,
                        "output": output,
                        "experiment": experiment,
                        "correlation": np.mean(value["repeats"]),
                        "repeated_over": value.get("unit", "seed"),
                        "deviation": deviation(value["repeats"]),
                        "sd_over_folds": spread_over_folds[experiment][output] if first else np.nan,
                        "published": published.values[experiment][i] if given else np.nan,
                        "published_spread": published.spreads[experiment][i] if given else np.nan,
                    }
                )
    return pd.DataFrame(rows)


def output_side_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the correlations of the sets in experiment 3 without and with a Laplacian of the outputs."""
    columns = {
        TITLES["exp3"]: values["correlation_multivariate_cv"]["exp3"],
        "3, also for the outputs": values["correlation_output_side"],
    }
    table = {title: [_mean_and_deviation(value) for value in column] for title, column in columns.items()}
    return pd.DataFrame(table, index=[OUTPUT_TITLES[name] for name in SETS])


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
    """Return the standard deviation of repeated measurements; NaN for a single one."""
    return float(np.std(repeats, ddof=1)) if len(repeats) > 1 else np.nan


def _mean_and_deviation(value: Mapping[str, list[float]], factor: float = 1.0, digits: int = 3) -> str:
    """Format mean and standard deviation of repeated measurements; the mean alone for a single one."""
    repeats = factor * np.asarray(value["repeats"])
    mean = f"{np.mean(repeats):.{digits}f}"
    return mean if len(repeats) < 2 else f"{mean}\u00a0±\u00a0{deviation(repeats):.{min(digits, 2)}f}"
