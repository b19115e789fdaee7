"""Figures of graph kernels: accuracies with controls, and maps of the learned functions."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from nibabel import Nifti1Image
from nibabel.affines import apply_affine

from ermlab._utils.palette import BLUE, GREEN, GREY, ORANGE, PINK
from ermlab.fmri.plotting import to_image, weight_map_figure
from reproduction.experiments.fmri_studies.studies import GROUP_TITLES
from reproduction.experiments.graph_kernels.evaluate import MAIN, TITLES
from reproduction.experiments.graph_kernels.tables import study_title
from reproduction.plotting.style import PUBLISHED

COLORS = {"gaussian_ridge": BLUE, "elastic_net": ORANGE, "wl_pyramid": GREEN, "combined": PINK}
#: Map to its title; positive weights speak for the positive group.
MAPS = {
    "selection": "voxels selected by the elastic net",
    "negative": "learned function, {negative}",
    "positive": "learned function, {positive}",
    "difference": "{positive} less {negative}",
}
GROUPS = {
    "drug_stroop": {"positive": "cocaine users", "negative": "controls"},
    "wager2008_contrasts": {"positive": "score above the median", "negative": "score below"},
}


def plot_accuracies(
    values: Mapping[str, Any], datasets: Mapping[str, str], published: Mapping[str, float]
) -> Figure:
    """Draw accuracy and standard error of each method, with those of permuted labels, one panel per study.

    ``published`` has the accuracies that the source states as numbers, for another study.
    """
    fig, axes = plt.subplots(1, len(GROUP_TITLES), figsize=(9.5, 4.2), sharey=True, squeeze=False)
    for ax, name in zip(axes[0], GROUP_TITLES, strict=True):
        study = values["studies"][name]
        for place, method in enumerate(TITLES):
            scores = study["methods"][method]
            ax.bar(
                place,
                scores["mean"],
                yerr=scores["standard_error"],
                width=0.62,
                color=COLORS[method],
                capsize=4,
            )
            permuted = study["permuted"][method]
            ax.errorbar(
                place + 0.16, permuted["permuted"], permuted["permuted_deviation"], **_marker("o", "white")
            )
            ax.errorbar(place - 0.16, permuted["leak"], permuted["leak_deviation"], **_marker("s", GREY))
            if name == MAIN and method in published:
                ax.plot([place - 0.4, place + 0.4], [published[method]] * 2, **PUBLISHED)
        ax.axhline(50, color="0.3", linewidth=1, linestyle="--")
        ax.set_xticks(
            range(len(TITLES)), [title.replace(" ", "\n", 1) for title in TITLES.values()], fontsize=8
        )
        ax.set_title(study_title(name, datasets), loc="left")
        ax.set_ylim(0, 100)
        ax.grid(visible=False, axis="x")
    axes[0, 0].set_ylabel("accuracy, percent")
    handles = [
        plt.Rectangle((0, 0), 1, 1, color="0.6", label="true labels, mean and standard error"),
        plt.Line2D([], [], linestyle="", **_marker("o", "white"), label="permuted labels, honest"),
        plt.Line2D(
            [], [], linestyle="", **_marker("s", GREY), label="permuted labels, LEAK: voxels chosen on all"
        ),
        plt.Line2D([], [], label="published", **PUBLISHED),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=8)
    return fig


def _marker(shape: str, face: str) -> dict[str, Any]:
    return {"marker": shape, "color": "black", "markerfacecolor": face, "markersize": 5, "linewidth": 1}


def plot_effects(values: Mapping[str, Any]) -> Figure:
    """Draw the accuracy of each method against the difference of the groups, over the drawn studies."""
    fig, ax = plt.subplots(figsize=(6.5, 3.6))
    effects = values["effects"]
    for method, title in TITLES.items():
        repeats = [row["repeats"] for row in effects["accuracy"][method]]
        errors = [np.std(row, ddof=1) / np.sqrt(len(row)) if len(row) > 1 else 0.0 for row in repeats]
        means = [np.mean(row) for row in repeats]
        ax.errorbar(
            effects["sizes"],
            means,
            errors,
            color=COLORS[method],
            marker="o",
            markersize=4,
            capsize=3,
            label=title,
        )
    ax.axhline(50, color="0.3", linewidth=1, linestyle="--")
    ax.set(
        xlabel="difference of the groups, percent of the signal", ylabel="accuracy, percent", ylim=(30, 102)
    )
    ax.legend(fontsize=8)
    return fig


def map_images(arrays: Mapping[str, np.ndarray]) -> dict[str, Nifti1Image]:
    """Return the maps of `MAPS` as images."""
    shown = {name: arrays[name] for name in ("selection", "negative", "positive")}
    shown["difference"] = arrays["positive"] - arrays["negative"]
    return {name: to_image(shown[name], arrays["mask"], arrays["affine"]) for name in MAPS}


def strongest_place(image: Nifti1Image) -> list[float]:
    """Return the coordinates in millimeters of the voxel with the largest absolute weight."""
    volume = np.abs(np.asarray(image.dataobj))
    return apply_affine(image.affine, np.unravel_index(volume.argmax(), volume.shape)).tolist()


def plot_graph_maps(
    arrays: Mapping[str, np.ndarray], name: str, datasets: Mapping[str, str], background: Nifti1Image
) -> Figure:
    """Draw all maps of a study, on axial slices around the largest weight of the selection."""
    images = map_images(arrays)
    height = round(strongest_place(images["selection"])[2])
    rows = {f"{study_title(name, datasets)}: {map_title(name, key)}": image for key, image in images.items()}
    cuts = sorted({height + step for step in (-24, -12, 0, 12, 24)})
    return weight_map_figure(rows, background, cuts, sd=0.0, display_mode="z")


def map_title(name: str, key: str) -> str:
    """Return the title of a map of a study."""
    return MAPS[key].format(**GROUPS[name])
