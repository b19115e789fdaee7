"""Figures of Laplacian KCCA: correlations, gains over simulated scenarios, and weight maps."""

from collections.abc import Mapping, Sequence

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
from reproduction.experiments.laplacian_kcca.movie_study import PUBLISHED_EXPERIMENTS
from reproduction.experiments.laplacian_kcca.tables import (
    OUTPUT_TITLES,
    TITLES,
    Correlations,
    deviation,
    sweep_gains,
)

_STYLES = {
    "exp1": {"color": GREY, "marker": "o"},
    "exp1_matched": {"color": GREY, "marker": "o", "markerfacecolor": "white"},
    "exp2": {"color": BLUE, "marker": "s"},
    "exp3": {"color": GREEN, "marker": "D"},
    "exp3_centred": {"color": GREEN, "marker": "D", "markerfacecolor": "white"},
}


def plot_correlations(
    ours: Correlations, outputs: Sequence[str], published: Mapping[str, Sequence[float]], title: str
) -> Figure:
    """Draw the correlations of each output: ours with their spread over scans, published ones as crosses."""
    fig, ax = plt.subplots(figsize=(8, 3.4))
    positions = np.arange(len(outputs))
    shifts = np.linspace(-0.3, 0.3, len(TITLES))
    for shift, (experiment, name) in zip(shifts, TITLES.items(), strict=True):
        repeats = [item["repeats"] for item in ours[experiment]]
        ax.errorbar(
            positions + shift,
            np.array([np.mean(values) for values in repeats]),
            np.array([np.nan_to_num(deviation(values)) for values in repeats]),
            linestyle="",
            markersize=5,
            elinewidth=1,
            label=name,
            **_STYLES[experiment],
        )
        if experiment in published:
            ax.plot(positions + shift, published[experiment], "x", color="black", markersize=5)
    ax.plot([], [], "x", color="black", label="published")
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set_xticks(positions, [OUTPUT_TITLES.get(name, name) for name in outputs], fontsize=8)
    ax.set(ylabel="correlation on held-out volumes", title=title)
    fig.legend(loc="outside right center", fontsize=8)
    return fig


def plot_sweep(sweep: pd.DataFrame) -> Figure:
    """Draw the gain over experiment 1 against the signal, and against the patterns shared by the films."""
    fig, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True)
    usual = sweep[sweep["scenario"] == "main"].iloc[0]
    for ax, key, other in zip(axes, ("signal", "sharing"), ("sharing", "signal"), strict=True):
        gains = sweep_gains(sweep[np.isclose(sweep[other], usual[other])])
        _plot_gains(ax, gains, key)
    axes[0].set(xlabel="signal (1: usual, 0: none)", ylabel="gain over experiment 1")
    axes[1].set(xlabel="share of patterns common to both films")
    axes[0].legend(fontsize=8)
    return fig


def _plot_gains(ax: Axes, gains: pd.DataFrame, key: str) -> None:
    for experiment in ("exp2", "exp3"):
        rows, color = gains[gains["experiment"] == experiment], _STYLES[experiment]["color"]
        ax.plot(rows[key], rows["gain"], "o", color=color, alpha=0.35, markersize=4)
        means = rows.groupby(key)["gain"].mean()
        ax.plot(means.index, means, color=color, label=TITLES[experiment])
    ax.axhline(0, color="black", linewidth=0.8)


def map_figure(
    maps: Mapping[str, NDArray],
    target: str,
    background: Nifti1Image,
    cuts: Sequence[float],
    mode: str = "ortho",
) -> Figure:
    """Draw the maps of a target for experiments 3, 2 and 1, with the outline of the target in green."""
    images = {
        f"Experiment {TITLES[name]}": weights_image(maps, target, name)
        for name in PUBLISHED_EXPERIMENTS[::-1]
    }
    region = to_image(maps[f"{target}_target"].astype(np.float32), maps["mask"], maps["affine"])
    return weight_map_figure(images, background, cuts, mask=maps["mask"], display_mode=mode, target=region)


def weights_image(maps: Mapping[str, NDArray], target: str, experiment: str) -> Nifti1Image:
    """Return one map as an image."""
    return to_image(maps[f"{target}_{experiment}"], maps["mask"], maps["affine"])


def right_center(maps: Mapping[str, NDArray], target: str) -> tuple[float, float, float]:
    """Return the center of the largest right-hemisphere part of a target, in millimeters."""
    region = np.zeros(maps["mask"].shape, dtype=bool)
    region[maps["mask"]] = maps[f"{target}_target"]
    parts, count = label(region)
    places = [apply_affine(maps["affine"], np.argwhere(parts == part)) for part in range(1, count + 1)]
    right = [part for part in places if part[:, 0].mean() > 0] or places
    return tuple(float(value) for value in max(right, key=len).mean(axis=0))
