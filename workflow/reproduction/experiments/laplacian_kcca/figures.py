"""Tables and figures of Laplacian KCCA: correlations, what changes them, and where the weights are."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nibabel import Nifti1Image
from nibabel.affines import apply_affine
from numpy.typing import NDArray
from scipy.ndimage import label

from ermlab._utils.palette import BLUE, GREEN, GREY
from ermlab.fmri.plotting import to_image, weight_map_figure
from ermlab.fmri.weight_maps import thresholded

EXPERIMENTS = {
    "exp1": "1: no Laplacian",
    "exp1_matched": "1 at the ε of 2",
    "exp2": "2: labelled volumes",
    "exp3": "3: all volumes",
    "exp3_centred": "3, centring matrix",
}
PUBLISHED = ("exp1", "exp2", "exp3")
OUTPUTS = {
    "motion": "motion",
    "temporal_contrast": "temporal contrast",
    "human_body": "human body",
    "color": "colour",
    "faces": "faces",
    "language": "language",
    "contrast_body_color": "motion energy, body, colour",
    "motion_faces": "motion, faces",
    "motion_contrast_color_faces": "motion, motion energy, colour, faces",
    "face_house": "face, house",
    "bottle_scissors_shoe": "bottle, scissors, shoe",
    "all": "all eight",
    "scrambledpix": "scrambled",
}
#: The numbers behind +- of Tables 4.1 (and 4.2) and 4.3, experiments 1 to 3; the thesis does not say of what.
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
_STYLES = {
    "exp1": {"color": GREY, "marker": "o"},
    "exp1_matched": {"color": GREY, "marker": "o", "markerfacecolor": "white"},
    "exp2": {"color": BLUE, "marker": "s"},
    "exp3": {"color": GREEN, "marker": "D"},
    "exp3_centred": {"color": GREEN, "marker": "D", "markerfacecolor": "white"},
}
_SWEEP = {"exp2": BLUE, "exp3": GREEN}

Correlations = Mapping[str, Sequence[Mapping[str, list[float]]]]


def correlation_table(
    ours: Correlations,
    outputs: Sequence[str],
    published: Mapping[str, Sequence[float]] | None = None,
    permuted: Correlations | None = None,
) -> pd.DataFrame:
    """Return a row an output: published values, ours with controls, and ours with permuted volumes."""
    columns = {}
    for i, experiment in enumerate(PUBLISHED if published else ()):
        columns["published", experiment[3:]] = [
            f"{value:.3f}\u00a0±\u00a0{PUBLISHED_SPREAD[output][i]:.2f}"
            for output, value in zip(outputs, published[experiment], strict=True)
        ]
    for experiment, title in EXPERIMENTS.items():
        columns["ours", title] = [_told(value) for value in ours[experiment]]
    for experiment in PUBLISHED if permuted else ():
        means = [np.mean(value["per_seed"]) for value in permuted[experiment]]
        columns["permuted volumes", experiment[3:]] = [f"{mean:.3f}" for mean in means]
    table = pd.DataFrame(columns, index=[OUTPUTS.get(name, name) for name in outputs])
    table.columns = pd.MultiIndex.from_tuples(columns)
    return table


def exhibit_table(
    parts: Mapping[tuple[str, str], Correlations],
    outputs: Mapping[str, Sequence[str]],
    published: Mapping[str, Sequence[float]],
    spread_over_folds: Mapping[str, Mapping[str, float]],
) -> pd.DataFrame:
    """Return the exhibit's numbers, a row each.

    Parameters
    ----------
    parts
        Data set and protocol to correlations.
    outputs
        Names of each data set's outputs; published numbers are those of the first data set.
    spread_over_folds
        Of the first data set and its first protocol.
    """
    (movie, protocol), *_ = parts
    rows = []
    for (data, how), correlations in parts.items():
        for experiment, values in correlations.items():
            for i, (output, value) in enumerate(zip(outputs[data], values, strict=True)):
                given = data == movie and experiment in published
                first = (data, how) == (movie, protocol)
                rows.append(
                    {
                        "data": data,
                        "protocol": how,
                        "output": output,
                        "experiment": experiment,
                        "correlation": np.mean(value["per_seed"]),
                        "sd_over_seeds": _deviation(value["per_seed"]),
                        "sd_over_folds": spread_over_folds[experiment][output] if first else np.nan,
                        "published": published[experiment][i] if given else np.nan,
                        "published_spread": (
                            PUBLISHED_SPREAD[output][PUBLISHED.index(experiment)] if given else np.nan
                        ),
                    }
                )
    return pd.DataFrame(rows)


def plot_correlations(
    ours: Correlations, outputs: Sequence[str], published: Mapping[str, Sequence[float]], title: str
) -> Figure:
    """Draw each output's correlations: ours with their spread over seeds, published ones as crosses."""
    fig, ax = plt.subplots(figsize=(8, 3.4))
    places = np.arange(len(outputs))
    shifts = np.linspace(-0.3, 0.3, len(EXPERIMENTS))
    for shift, (experiment, name) in zip(shifts, EXPERIMENTS.items(), strict=True):
        values = [item["per_seed"] for item in ours[experiment]]
        ax.errorbar(
            places + shift,
            [np.mean(some) for some in values],
            [np.nan_to_num(_deviation(some)) for some in values],
            linestyle="",
            markersize=5,
            elinewidth=1,
            label=name,
            **_STYLES[experiment],
        )
        if experiment in published:
            ax.plot(places + shift, published[experiment], "x", color="black", markersize=5)
    ax.plot([], [], "x", color="black", label="published")
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set_xticks(places, [OUTPUTS.get(name, name) for name in outputs], fontsize=8)
    ax.set(ylabel="correlation on what is held out", title=title)
    fig.legend(loc="outside right center", fontsize=8)
    return fig


def plot_sweep(sweep: pd.DataFrame) -> Figure:
    """Draw what a Laplacian adds to experiment 1 over the signal, and over what the films share."""
    fig, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True)
    usual = sweep[sweep["scenario"] == "main"].iloc[0]
    for ax, key, other in zip(axes, ("signal", "sharing"), ("sharing", "signal"), strict=True):
        gains = sweep_gains(sweep[np.isclose(sweep[other], usual[other])])
        _plot_gains(ax, gains, key)
    axes[0].set(xlabel="signal (1: the usual one, 0: none)", ylabel="correlation over experiment 1's")
    axes[1].set(xlabel="patterns that the films share")
    axes[0].legend(fontsize=8)
    return fig


def _plot_gains(ax: Axes, gains: pd.DataFrame, key: str) -> None:
    for experiment, color in _SWEEP.items():
        rows = gains[gains["experiment"] == experiment]
        ax.plot(rows[key], rows["gain"], "o", color=color, alpha=0.35, markersize=4)
        means = rows.groupby(key)["gain"].mean()
        ax.plot(means.index, means, color=color, label=EXPERIMENTS[experiment])
    ax.axhline(0, color="black", linewidth=0.8)


def sweep_gains(sweep: pd.DataFrame) -> pd.DataFrame:
    """Return by how much experiments 2 and 3 exceed experiment 1, the mean over outputs, seed by seed."""
    keys = ["scenario", "signal", "sharing", "seed"]
    means = sweep.groupby([*keys, "experiment"], sort=False)["correlation"].mean().unstack("experiment")
    gains = means[["exp2", "exp3"]].sub(means["exp1"], axis=0)
    return gains.stack().rename("gain").reset_index()


def sweep_table(sweep: pd.DataFrame) -> pd.DataFrame:
    """Return the mean correlation over outputs and seeds: a row a scenario."""
    rows = sweep.groupby(["scenario", "signal", "sharing", "experiment"], sort=False)["correlation"].mean()
    table = rows.unstack("experiment").reset_index().sort_values(["signal", "sharing"])
    seeds = sweep.groupby("scenario")["seed"].nunique()
    return table.rename(columns={name: EXPERIMENTS[name] for name in PUBLISHED}).assign(
        scans=table["scenario"].map(seeds)
    )


def edge_table(at_edge: Mapping[str, Any]) -> pd.DataFrame:
    """Return the percentage of choices at an edge of the grid: a row a criterion and experiment."""
    rows = {
        (criterion, EXPERIMENTS[experiment]): {name: f"{100 * share:.0f} %" for name, share in shares.items()}
        for criterion, experiments in at_edge.items()
        for experiment, shares in experiments.items()
        if experiment != "exp1_matched"
    }
    return pd.DataFrame(rows).T


def share_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the percentage of the thresholded weight inside the target, and its voxels' percentage."""
    rows = {}
    for target, shares in values["target_share"].items():
        told = {
            EXPERIMENTS[experiment]: _told(share, 100, 1)
            for experiment, share in zip(PUBLISHED, shares, strict=True)
        }
        rows[OUTPUTS[target]] = told | {"by chance": f"{100 * values['target_chance'][target]:.1f}"}
    return pd.DataFrame(rows).T


def map_figure(
    maps: Mapping[str, NDArray],
    target: str,
    background: Nifti1Image,
    cuts: Sequence[float],
    mode: str = "ortho",
) -> Figure:
    """Draw the maps of a target for experiments 3, 2 and 1, the target's outline in green."""
    shown = {f"Experiment {EXPERIMENTS[name]}": weights_image(maps, target, name) for name in PUBLISHED[::-1]}
    region = to_image(maps[f"{target}_target"].astype(np.float32), maps["mask"], maps["affine"])
    return weight_map_figure(shown, background, cuts, mask=maps["mask"], display_mode=mode, target=region)


def weights_image(maps: Mapping[str, NDArray], target: str, experiment: str) -> Nifti1Image:
    """Return one map as an image."""
    return to_image(maps[f"{target}_{experiment}"], maps["mask"], maps["affine"])


def map_data(maps: Mapping[str, NDArray], target: str, values: Mapping[str, Any]) -> pd.DataFrame:
    """Return what a figure of maps shows in numbers: a row an experiment."""
    inside, rows = maps[f"{target}_target"], []
    for experiment, share in zip(PUBLISHED, values["target_share"][target], strict=True):
        weights = maps[f"{target}_{experiment}"].astype(np.float64)
        kept = thresholded(weights) != 0
        rows.append(
            {
                "experiment": experiment,
                "voxels_above_2_sd": int(kept.sum()),
                "of_them_in_target": int((kept & inside).sum()),
                "voxels_in_target": int(inside.sum()),
                "largest_in_target_sd": float(weights[inside].max() / weights.std()),
                "share_of_weight": share["per_seed"][0],
                "share_mean_over_seeds": float(np.mean(share["per_seed"])),
                "share_by_chance": values["target_chance"][target],
            }
        )
    return pd.DataFrame(rows)


def right_centre(maps: Mapping[str, NDArray], target: str) -> tuple[float, float, float]:
    """Return the middle of the target's largest part at the right, in millimetres, for a cut."""
    region = np.zeros(maps["mask"].shape, dtype=bool)
    region[maps["mask"]] = maps[f"{target}_target"]
    parts, count = label(region)
    places = [apply_affine(maps["affine"], np.argwhere(parts == part)) for part in range(1, count + 1)]
    right = [some for some in places if some[:, 0].mean() > 0] or places
    return tuple(float(value) for value in max(right, key=len).mean(axis=0))


def _told(value: Mapping[str, list[float]], factor: float = 1.0, digits: int = 3) -> str:
    """Return mean and standard deviation over seeds, on one line; the mean alone of a single one."""
    repeats = factor * np.asarray(value["per_seed"])
    mean = f"{np.mean(repeats):.{digits}f}"
    return mean if len(repeats) < 2 else f"{mean}\u00a0±\u00a0{np.std(repeats, ddof=1):.{min(digits, 2)}f}"


def _deviation(repeats: Sequence[float]) -> float:
    return float(np.std(repeats, ddof=1)) if len(repeats) > 1 else np.nan
