"""Figures and tables of the k-support norm: correlation against sparsity, maps of weights, clusters."""

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

TITLES = {"lasso": "LASSO", "elastic_net": "elastic net", "ksupport": "k-support norm"}
COLOURS = {"lasso": BLUE, "elastic_net": ORANGE, "ksupport": GREEN}
STUDIES = {"film": "film", "haxby": "Haxby slice", "wager": "Wager maps"}
DATASETS = {"film": "movie_watching", "haxby": "haxby2001_slice", "wager": "wager2008_contrasts"}
PROTOCOLS = {
    ("film", "fair"): "stretches of time",
    ("film", "permuted"): "volumes permuted, as published",
    ("haxby", "fair"): "whole runs",
    ("haxby", "permuted"): "volumes permuted",
    ("wager", "fair"): "subjects",
}
MAPS = {"drug_stroop": "drug Stroop", "wager2008_contrasts": "Wager maps, median split"}
SELECTIONS = {
    "lasso": "LASSO",
    "ksupport": "k-support norm",
    "ksupport_cut": "k-support norm, as many as the LASSO",
}
FORMULAS = {
    "lasso": "λ₁ ‖w‖₁",
    "elastic_net": "λ₁ ‖w‖₁ + λ₂ ‖w‖₂²",
    "ksupport": "λ ‖w‖ₖ, equation (4.13)",
}
_PUBLISHED = {"color": "black", "linestyle": "", "marker": "*", "markersize": 9}
_LEAST = 0.5  # where a mean of no non-zeros stands on a logarithmic axis


def plot_correlations(
    paths: pd.DataFrame,
    values: Mapping[str, Any],
    datasets: Mapping[str, str],
    published: Mapping[str, Sequence[float]],
) -> Figure:
    """Draw mean correlations with their deviation over the splits, a row a study and protocol.

    Left LASSO and elastic net against non-zeros, right the k-support norm against k. ``published`` has for
    each method its place on the axis and its correlation; they belong to the film.
    """
    fig, axes = plt.subplots(
        len(PROTOCOLS), 2, figsize=(9, 2.5 * len(PROTOCOLS)), sharey="row", sharex="col", squeeze=False
    )
    for row, (key, protocol) in zip(axes, PROTOCOLS.items(), strict=True):
        study = key[0]
        some = paths[(paths["study"] == study) & (paths["protocol"] == key[1])]
        summary = values["correlations"]["_".join(key)]
        shown = published if study == "film" else {}
        _plot_sparse(row[0], some, summary, shown)
        _plot_ksupport(row[1], some, summary, shown)
        splits = summary["lasso"]["splits"]
        told = f"{splits} splits" if splits > 1 else "one split"
        row[0].set_title(f"{STUDIES[study]} ({datasets[DATASETS[study]]}), {protocol}, {told}", loc="left")
        row[0].set_ylabel("mean correlation")
    axes[-1, 0].set_xlabel("voxels with a weight")
    axes[-1, 1].set_xlabel("k")
    handles = [
        plt.Line2D([], [], color=COLOURS[method], marker="o", label=TITLES[method]) for method in TITLES
    ]
    handles += [
        plt.Line2D([], [], color="0.3", linestyle="--", label="chosen inside the training part"),
        plt.Line2D([], [], label="published best", **_PUBLISHED),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=9)
    return fig


def _plot_sparse(ax: Axes, paths: pd.DataFrame, summary: Mapping, published: Mapping) -> None:
    """Plot LASSO and elastic net, whose other shares of the l1 norm are thin lines."""
    for method in ("lasso", "elastic_net"):
        for shape, path in paths[paths["method"] == method].groupby("shape", sort=False):
            best = shape == summary[method]["best_shape"]
            _plot_path(ax, path["nonzeros"].clip(lower=_LEAST), path, COLOURS[method], best)
        _finish(ax, method, summary, published)
    ax.set_xscale("log")


def _plot_ksupport(ax: Axes, paths: pd.DataFrame, summary: Mapping, published: Mapping) -> None:
    """Plot for each k the best price of the norm."""
    rows = paths[paths["method"] == "ksupport"]
    best = rows.loc[rows.groupby("shape")["correlation"].idxmax()].sort_values("shape")
    _plot_path(ax, best["shape"], best, COLOURS["ksupport"], True)
    _finish(ax, "ksupport", summary, published)
    ax.set_xscale("log")


def _plot_path(ax: Axes, x: pd.Series, path: pd.DataFrame, colour: str, bold: bool) -> None:
    if not bold:
        ax.plot(x, path["correlation"], color=colour, linewidth=0.8, alpha=0.6)
        return
    ax.errorbar(
        x,
        path["correlation"],
        path["deviation"],
        color=colour,
        marker="o",
        markersize=3.5,
        elinewidth=0.8,
        capsize=2,
    )


def _finish(ax: Axes, method: str, summary: Mapping, published: Mapping) -> None:
    ax.axhline(summary[method]["nested"], color=COLOURS[method], linestyle="--", linewidth=1.2)
    ax.axhline(0, color="0.6", linewidth=0.8)
    if method in published:
        place, correlation = published[method]
        ax.plot([place], [correlation], zorder=5, **_PUBLISHED | {"markeredgecolor": COLOURS[method]})


def correlation_table(
    values: Mapping[str, Any], datasets: Mapping[str, str], published: Mapping[str, Sequence[float]]
) -> pd.DataFrame:
    """Return best and nested correlations with their deviation, a row a study, protocol and method."""
    rows = []
    for key, protocol in PROTOCOLS.items():
        for method, title in TITLES.items():
            found = values["correlations"]["_".join(key)][method]
            rows.append(
                {
                    "study": f"{STUDIES[key[0]]} ({datasets[DATASETS[key[0]]]})",
                    "splits": f"{protocol} ({found['splits']})",
                    "method": title,
                    "published": f"{published[method][1]:.3f}" if key[0] == "film" else "",
                    "best on test": _told(found, "best"),
                    "at": _place(method, found),
                    "chosen inside": _told(found, "nested"),
                    "voxels": f"{found['nested_nonzeros']:.0f}",
                }
            )
    return pd.DataFrame(rows)


def _told(found: Mapping[str, Any], what: str) -> str:
    """Return mean and deviation over the splits; the mean alone of a single one."""
    deviation = f" ± {found[f'{what}_deviation']:.3f}" if found["splits"] > 1 else ""
    return f"{found[what]:.3f}{deviation}"


def control_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the best correlations of the film beside those with its target reversed, for both protocols."""
    rows = {}
    for protocol in ("fair", "permuted"):
        title = PROTOCOLS["film", protocol]
        film = values["correlations"][f"film_{protocol}"]
        rows[f"{title}: target"] = {TITLES[method]: film[method]["best"] for method in TITLES}
        reverse = values["reversed_best"][protocol]
        rows[f"{title}: target reversed"] = {TITLES[method]: reverse[method] for method in TITLES}
    return pd.DataFrame(rows).T


def difference_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return how the k-support norm compares with each peer on the same splits."""
    rows = {f"over the {TITLES[peer]}": row for peer, row in values["difference_of_nested"].items()}
    return pd.DataFrame(rows).T[["mean", "deviation", "better"]].astype({"better": int})


def chosen_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return what was chosen for the maps."""
    rows = {
        (MAPS[name], TITLES[method]): row
        for name in MAPS
        for method, row in values["maps"][name]["chosen"].items()
    }
    table = pd.DataFrame(rows).T.rename(columns={"shape": "k", "strength": "price"})
    return table[["k", "price", "correlation"]]


def _place(method: str, found: Mapping[str, Any]) -> str:
    """Tell where the best model is: k or its non-zeros, and whether the grid ends there."""
    place = (
        f"k = {found['best_shape']:.0f}" if method == "ksupport" else f"{found['best_nonzeros']:.0f} voxels"
    )
    return place + (" (edge of the grid)" if found["best_at_edge"] else "")


def norm_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return formula, both values for an example, and the largest difference over random vectors."""
    rows = [
        {
            "regulariser": TITLES[name],
            "formula": formula,
            "value of the example": values["norm_examples"][name]["formula"],
            "by the dual definition": values["norm_examples"][name]["dual"],
            "largest relative difference": values["norm_dual_difference"][name],
        }
        for name, formula in FORMULAS.items()
    ]
    return pd.DataFrame(rows)


def weight_images(arrays: Mapping[str, np.ndarray]) -> dict[str, Nifti1Image]:
    """Return the weights of both methods as images."""
    return {
        method: to_image(arrays[method], arrays["mask"], arrays["affine"]) for method in ("lasso", "ksupport")
    }


def heaviest_places(image: Nifti1Image) -> np.ndarray:
    """Return the millimetres of the slices with the largest sum of weights by size."""
    return apply_affine(image.affine, heaviest_slices(np.asarray(image.dataobj)))


def plot_maps(
    maps: Mapping[str, Mapping[str, np.ndarray]], datasets: Mapping[str, str], background: Nifti1Image
) -> Figure:
    """Draw every weight of both methods on the axial slices where one of the maps is heaviest.

    ``maps`` has for each data set the arrays of `weight_images`; a row's title names its own slice.
    """
    rows, heights = {}, []
    for name, arrays in maps.items():
        for method, image in weight_images(arrays).items():
            height = round(float(heaviest_places(image)[2]))
            heights.append(height)
            count = np.count_nonzero(arrays[method])
            title = (
                f"{TITLES[method]}, {MAPS[name]} ({datasets[name]}): {count} voxels, heaviest at z = {height}"
            )
            rows[title] = image
    return weight_map_figure(rows, background, sorted(set(heights)), sd=0.0, display_mode="z")


def map_table(maps: Mapping[str, Mapping[str, np.ndarray]]) -> pd.DataFrame:
    """Return every weight that is drawn with its place in millimetres."""
    tables = []
    for name, arrays in maps.items():
        places = apply_affine(arrays["affine"], np.argwhere(arrays["mask"]))
        for method in ("lasso", "ksupport"):
            used = np.flatnonzero(arrays[method])
            rows = dict(zip("xyz", places[used].T, strict=True)) | {"weight": arrays[method][used]}
            tables.append(pd.DataFrame({"dataset": name, "method": method, **rows}))
    return pd.concat(tables, ignore_index=True)


def cluster_summary(clusters: pd.DataFrame, datasets: Mapping[str, str]) -> pd.DataFrame:
    """Return the clusters of the maps beside those of as many voxels drawn at random."""
    rows = clusters[clusters["selection"].isin(SELECTIONS)]
    return pd.DataFrame(
        {
            "maps": [f"{MAPS[name]} ({datasets[name]})" for name in rows["dataset"]],
            "selected by": [SELECTIONS[name] for name in rows["selection"]],
            "voxels": rows["voxels"].to_numpy(),
            "clusters": rows["clusters"].to_numpy(),
            "mean size": rows["mean_size"].round(1).to_numpy(),
            "largest": rows["largest"].to_numpy(),
            "mean size by chance": rows["chance_mean_size"].round(1).to_numpy(),
        }
    )


def plot_cluster_sizes(clusters: pd.DataFrame, datasets: Mapping[str, str]) -> Figure:
    """Plot the mean cluster size against k, and that of as many voxels drawn at random."""
    fig, axes = plt.subplots(1, len(MAPS), figsize=(9, 3.2), squeeze=False, sharey=True)
    for ax, (name, title) in zip(axes[0], MAPS.items(), strict=True):
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


def overlap_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return in percent how the maps of the simulated study meet the true region."""
    rows = {
        TITLES[method]: {
            "weight inside": found["weight_inside"],
            "selected voxels inside": found["selected_inside"],
            "by chance": found["chance"],
            "part of the region found": found["region_found"],
        }
        for method, found in values["maps"]["drug_stroop"]["overlap"].items()
    }
    return 100 * pd.DataFrame(rows).T
