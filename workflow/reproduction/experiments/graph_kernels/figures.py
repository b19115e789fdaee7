"""Figures and tables of graph kernels: accuracies, controls, sizes, and maps of what was learnt."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from nibabel import Nifti1Image
from nibabel.affines import apply_affine

from ermlab._utils.palette import BLUE, GREEN, GREY, ORANGE, PINK
from ermlab.fmri.plotting import to_image, weight_map_figure
from reproduction.plotting.style import PUBLISHED

STUDIES = {"drug_stroop": "drug Stroop", "wager2008_contrasts": "Wager maps, median split"}
TITLES = {
    "gaussian_ridge": "Gaussian kernel ridge",
    "elastic_net": "elastic net, voxels",
    "wl_pyramid": "WL pyramid",
    "combined": "voxels and WL pyramid",
}
COLOURS = {"gaussian_ridge": BLUE, "elastic_net": ORANGE, "wl_pyramid": GREEN, "combined": PINK}
HEIGHTS = (0, 1, 2, 3)
PAIRS = {
    "wl_pyramid_elastic_net": "WL pyramid against elastic net",
    "wl_pyramid_gaussian_ridge": "WL pyramid against Gaussian kernel ridge",
    "wl_pyramid_combined": "WL pyramid against voxels and WL pyramid",
    "wl_2_wl_0": "h = 2 against h = 0",
}
#: Map to its title; positive weights speak for the first of the groups.
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


def _titled(name: str, datasets: Mapping[str, str]) -> str:
    return f"{STUDIES[name]} ({datasets[name]})"


def height_table(
    values: Mapping[str, Any], datasets: Mapping[str, str], published: Sequence[float]
) -> pd.DataFrame:
    """Return mean accuracy and standard error (per cent) for each height and for the one chosen inside."""
    rows = [
        {"maps": "published", **{f"h = {h}": f"{x:.2f}" for h, x in zip(HEIGHTS, published, strict=True)}}
    ]
    for name in STUDIES:
        methods = values["studies"][name]["methods"]
        row = {"maps": _titled(name, datasets)}
        for label, method in [*((f"h = {h}", f"wl_{h}") for h in HEIGHTS), ("h chosen inside", "wl_pyramid")]:
            row[label] = f"{methods[method]['mean']:.1f} ± {methods[method]['standard_error']:.1f}"
        rows.append(row)
    return pd.DataFrame(rows).fillna("")


def plot_accuracies(
    values: Mapping[str, Any], datasets: Mapping[str, str], published: Mapping[str, float]
) -> Figure:
    """Draw accuracy and standard error of each method, beside those of permuted labels, a panel a study.

    ``published`` has the accuracies that the source gives in numbers; they belong to another study.
    """
    fig, axes = plt.subplots(1, len(STUDIES), figsize=(9.5, 4.2), sharey=True, squeeze=False)
    for ax, name in zip(axes[0], STUDIES, strict=True):
        study = values["studies"][name]
        for place, method in enumerate(TITLES):
            found = study["methods"][method]
            ax.bar(
                place,
                found["mean"],
                yerr=found["standard_error"],
                width=0.62,
                color=COLOURS[method],
                capsize=4,
            )
            permuted = study["permuted"][method]
            ax.errorbar(
                place + 0.16, permuted["permuted"], permuted["permuted_deviation"], **_marker("o", "white")
            )
            ax.errorbar(place - 0.16, permuted["leak"], permuted["leak_deviation"], **_marker("s", GREY))
            if name == "drug_stroop" and method in published:
                ax.plot([place - 0.4, place + 0.4], [published[method]] * 2, **PUBLISHED)
        ax.axhline(50, color="0.3", linewidth=1, linestyle="--")
        ax.set_xticks(
            range(len(TITLES)), [title.replace(" ", "\n", 1) for title in TITLES.values()], fontsize=8
        )
        ax.set_title(_titled(name, datasets), loc="left")
        ax.set_ylim(0, 100)
        ax.grid(visible=False, axis="x")
    axes[0, 0].set_ylabel("accuracy, per cent")
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


def accuracy_table(values: Mapping[str, Any], datasets: Mapping[str, str]) -> pd.DataFrame:
    """Return the numbers of `plot_accuracies` with p of the label-permutation test."""
    rows = []
    for name in STUDIES:
        study = values["studies"][name]
        for method, title in TITLES.items():
            found, permuted = study["methods"][method], study["permuted"][method]
            rows.append(
                {
                    "maps": _titled(name, datasets),
                    "method": title,
                    "accuracy": found["mean"],
                    "standard error": found["standard_error"],
                    "first splits": permuted["accuracy"],
                    "permuted, honest": permuted["permuted"],
                    "p of permutations": permuted["p"],
                    "permuted, leak": permuted["leak"],
                }
            )
    return pd.DataFrame(rows)


def difference_table(values: Mapping[str, Any], datasets: Mapping[str, str]) -> pd.DataFrame:
    """Return differences on the same splits with both tests."""
    rows = []
    for name in STUDIES:
        for key, title in PAIRS.items():
            found = values["studies"][name]["differences"][key]
            rows.append(
                {
                    "maps": _titled(name, datasets),
                    "compared": title,
                    "difference": found["difference"],
                    "better / worse": f"{found['better']} / {found['worse']}",
                    "Wilcoxon p": found["wilcoxon_p"],
                    "corrected t p": found["corrected_t_p"],
                }
            )
    return pd.DataFrame(rows)


def size_table(
    values: Mapping[str, Any], datasets: Mapping[str, str], published: Mapping[str, float]
) -> pd.DataFrame:
    """Return the sizes met on the way for each height, means over splits, below the published ones."""
    rows = [{"maps": "published", "patterns": "h = 2", **published}]
    for name in STUDIES:
        sizes = values["studies"][name]["sizes"]
        rows += [
            {"maps": _titled(name, datasets), "patterns": f"h = {h}"}
            | {key: sizes[f"wl_{h}"][key] for key in ("voxels", "features", "nonzero_share", "selected")}
            for h in HEIGHTS
        ]
    table = pd.DataFrame(rows)
    table["nonzero_share"] *= 100
    return table.rename(columns={"nonzero_share": "non-zero, %", "selected": "selected features"})


def study_table(values: Mapping[str, Any], datasets: Mapping[str, str]) -> pd.DataFrame:
    """Return who takes part, and how often each height was chosen inside the training part."""
    rows = []
    for name in STUDIES:
        study = values["studies"][name]
        chosen = ", ".join(
            f"{count} x h = {h}" for h, count in zip(HEIGHTS, study["heights_chosen"], strict=True)
        )
        rows.append(
            {
                "maps": _titled(name, datasets),
                "people": " + ".join(map(str, study["people"])),
                "voxels": study["voxels"],
                "splits": study["splits"],
                "permutations": f"{study['permutations']} on {study['permuted_splits']} splits",
                "heights chosen": chosen,
            }
        )
    return pd.DataFrame(rows)


def map_images(arrays: Mapping[str, np.ndarray]) -> dict[str, Nifti1Image]:
    """Return the maps of `MAPS` as images."""
    shown = {name: arrays[name] for name in ("selection", "negative", "positive")}
    shown["difference"] = arrays["positive"] - arrays["negative"]
    return {name: to_image(shown[name], arrays["mask"], arrays["affine"]) for name in MAPS}


def strongest_place(image: Nifti1Image) -> list[float]:
    """Return the millimetres of the voxel with the largest weight by size."""
    volume = np.abs(np.asarray(image.dataobj))
    return apply_affine(image.affine, np.unravel_index(volume.argmax(), volume.shape)).tolist()


def plot_graph_maps(
    arrays: Mapping[str, np.ndarray], name: str, datasets: Mapping[str, str], background: Nifti1Image
) -> Figure:
    """Draw all maps of one study on axial slices about the largest weight of the selection."""
    images = map_images(arrays)
    height = round(strongest_place(images["selection"])[2])
    rows = {
        f"{STUDIES[name]} ({datasets[name]}): {title.format(**GROUPS[name])}": images[key]
        for key, title in MAPS.items()
    }
    cuts = sorted({height + step for step in (-24, -12, 0, 12, 24)})
    return weight_map_figure(rows, background, cuts, sd=0.0, display_mode="z")


def map_table(maps: Mapping[str, Mapping[str, np.ndarray]]) -> pd.DataFrame:
    """Return every voxel that is drawn with its place in millimetres and its values."""
    tables = []
    for name, arrays in maps.items():
        used = np.flatnonzero(arrays["selection"])
        places = apply_affine(arrays["affine"], np.argwhere(arrays["mask"]))[used]
        columns = {key: arrays[key][used] for key in ("selection", "negative", "positive")}
        tables.append(pd.DataFrame({"dataset": name, **dict(zip("xyz", places.T, strict=True)), **columns}))
    return pd.concat(tables, ignore_index=True)


def overlap_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return in per cent how the maps of the simulated study meet the true region."""
    found = values["studies"]["drug_stroop"]["maps"].get("overlap", {})
    rows = {
        MAPS[key].format(**GROUPS["drug_stroop"]): {
            "weight inside": row["weight_inside"],
            "selected voxels inside": row["selected_inside"],
            "by chance": row["chance"],
            "part of the region found": row["region_found"],
        }
        for key, row in found.items()
    }
    return 100 * pd.DataFrame(rows).T
