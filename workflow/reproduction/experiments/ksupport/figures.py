"""Figures of the k-support norm: correlation against sparsity, weight maps, and cluster sizes."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nibabel import Nifti1Image
from nibabel.affines import apply_affine

from ermlab._utils.palette import BLUE, GREEN, ORANGE
from ermlab.fmri.clusters import heaviest_slices
from ermlab.fmri.plotting import to_image, weight_map_figure
from reproduction.experiments.fmri_studies.studies import GROUP_TITLES
from reproduction.experiments.ksupport.evaluate import DATASETS, PROTOCOLS, STUDIES, TITLES
from reproduction.experiments.ksupport.train_maps import MAP_METHODS

COLORS = {"lasso": BLUE, "elastic_net": ORANGE, "ksupport": GREEN}
_PUBLISHED = {"color": "black", "linestyle": "", "marker": "*", "markersize": 9}
_LEAST = 0.5  # place of 0 non-zeros on a logarithmic axis


def plot_correlations(
    paths: pd.DataFrame,
    values: Mapping[str, Any],
    datasets: Mapping[str, str],
    published: Mapping[str, Sequence[float]],
) -> Figure:
    """Draw mean correlations with their deviation over the splits, one row per study and protocol.

    LASSO and elastic net are drawn against non-zeros (left), the k-support norm against k (right).
    ``published`` has for each method its place on the axis and its correlation, for the film.
    """
    fig, axes = plt.subplots(
        len(PROTOCOLS), 2, figsize=(9, 2.5 * len(PROTOCOLS)), sharey="row", sharex="col", squeeze=False
    )
    for row, ((study, protocol), title) in zip(axes, PROTOCOLS.items(), strict=True):
        rows = paths[(paths["study"] == study) & (paths["protocol"] == protocol)]
        summary = values["correlations"][f"{study}_{protocol}"]
        shown = published if study == "film" else {}
        _plot_sparse(row[0], rows, summary, shown)
        _plot_ksupport(row[1], rows, summary, shown)
        splits = summary["lasso"]["splits"]
        count = f"{splits} splits" if splits > 1 else "one split"
        row[0].set_title(f"{STUDIES[study]} ({datasets[DATASETS[study]]}), {title}, {count}", loc="left")
        row[0].set_ylabel("mean correlation")
    axes[-1, 0].set_xlabel("voxels with a weight")
    axes[-1, 1].set_xlabel("k")
    handles = [
        plt.Line2D([], [], color=COLORS[method], marker="o", label=TITLES[method]) for method in TITLES
    ]
    handles += [
        plt.Line2D([], [], color="0.3", linestyle="--", label="chosen inside the training part"),
        plt.Line2D([], [], label="published best", **_PUBLISHED),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=9)
    return fig


def _plot_sparse(ax: Axes, paths: pd.DataFrame, summary: Mapping, published: Mapping) -> None:
    """Plot LASSO and elastic net; other l1 ratios than the best one are thin lines."""
    for method in ("lasso", "elastic_net"):
        for shape, path in paths[paths["method"] == method].groupby("shape", sort=False):
            best = shape == summary[method]["best_shape"]
            _plot_path(ax, path["nonzeros"].clip(lower=_LEAST), path, COLORS[method], best)
        _finish(ax, method, summary, published)
    ax.set_xscale("log")


def _plot_ksupport(ax: Axes, paths: pd.DataFrame, summary: Mapping, published: Mapping) -> None:
    """Plot for each k the best regularization strength."""
    rows = paths[paths["method"] == "ksupport"]
    best = rows.loc[rows.groupby("shape")["correlation"].idxmax()].sort_values("shape")
    _plot_path(ax, best["shape"], best, COLORS["ksupport"], True)
    _finish(ax, "ksupport", summary, published)
    ax.set_xscale("log")


def _plot_path(ax: Axes, x: pd.Series, path: pd.DataFrame, color: str, bold: bool) -> None:
    if not bold:
        ax.plot(x, path["correlation"], color=color, linewidth=0.8, alpha=0.6)
        return
    ax.errorbar(
        x,
        path["correlation"],
        path["deviation"],
        color=color,
        marker="o",
        markersize=3.5,
        elinewidth=0.8,
        capsize=2,
    )


def _finish(ax: Axes, method: str, summary: Mapping, published: Mapping) -> None:
    ax.axhline(summary[method]["nested"], color=COLORS[method], linestyle="--", linewidth=1.2)
    ax.axhline(0, color="0.6", linewidth=0.8)
    if method in published:
        place, correlation = published[method]
        ax.plot([place], [correlation], zorder=5, **_PUBLISHED | {"markeredgecolor": COLORS[method]})


def weight_images(arrays: Mapping[str, np.ndarray]) -> dict[str, Nifti1Image]:
    """Return the weights of both methods as images."""
    return {method: to_image(arrays[method], arrays["mask"], arrays["affine"]) for method in MAP_METHODS}


def heaviest_places(image: Nifti1Image) -> np.ndarray:
    """Return the coordinates in millimeters of the slices with the largest sum of absolute weights."""
    return apply_affine(image.affine, heaviest_slices(np.asarray(image.dataobj)))


def plot_maps(
    maps: Mapping[str, Mapping[str, np.ndarray]], datasets: Mapping[str, str], background: Nifti1Image
) -> Figure:
    """Draw every weight of both methods, on the axial slices with the largest weight of each map.

    ``maps`` has for each data set the arrays of `weight_images`.
    """
    rows, heights = {}, []
    for name, arrays in maps.items():
        for method, image in weight_images(arrays).items():
            height = round(float(heaviest_places(image)[2]))
            heights.append(height)
            count = np.count_nonzero(arrays[method])
            study = f"{GROUP_TITLES[name]} ({datasets[name]})"
            rows[f"{TITLES[method]}, {study}: {count} voxels, heaviest at z = {height}"] = image
    return weight_map_figure(rows, background, sorted(set(heights)), sd=0.0, display_mode="z")


def plot_cluster_sizes(clusters: pd.DataFrame, datasets: Mapping[str, str]) -> Figure:
    """Plot the mean cluster size against k, and that of as many random voxels."""
    fig, axes = plt.subplots(1, len(GROUP_TITLES), figsize=(9, 3.2), squeeze=False, sharey=True)
    for ax, (name, title) in zip(axes[0], GROUP_TITLES.items(), strict=True):
        rows = clusters[clusters["dataset"] == name].set_index("selection")
        by_k = rows[rows.index.str.startswith("k = ")]
        ks = [int(selection.removeprefix("k = ")) for selection in by_k.index]
        ax.plot(ks, by_k["mean_size"], color=GREEN, marker="o", label="k-support norm")
        ax.plot(ks, by_k["chance_mean_size"], color="0.4", linestyle="--", label="drawn at random")
        ax.axhline(rows.loc["lasso", "mean_size"], color=BLUE, linestyle="-.", label="LASSO")
        ax.set(xscale="log", yscale="log", xlabel="k", title=f"{title} ({datasets[name]})")
    axes[0, 0].set_ylabel("mean cluster size, voxels")
    axes[0, 0].legend(fontsize=9)
    return fig
