"""Tables of section 4.3 for the notebook, from the results of `evaluate`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reproduction.experiments.fmri_studies.maps import voxel_table
from reproduction.experiments.fmri_studies.studies import GROUP_TITLES
from reproduction.experiments.graph_kernels.evaluate import PAIRS, PUBLISHED_HEIGHT, SIZES, TITLES
from reproduction.experiments.graph_kernels.protocol import HEIGHTS


def study_title(name: str, datasets: Mapping[str, str]) -> str:
    """Return the title of a study, with the kind of its data."""
    return f"{GROUP_TITLES[name]} ({datasets[name]})"


def height_table(
    values: Mapping[str, Any], datasets: Mapping[str, str], published: Sequence[float]
) -> pd.DataFrame:
    """Return mean accuracy and standard error in percent, for each height and for the one chosen inside."""
    columns = {f"h = {h}": f"wl_{h}" for h in HEIGHTS} | {"h chosen inside": "wl_pyramid"}
    rows = [{"maps": "published", **{f"h = {h}": f"{published[h]:.2f}" for h in HEIGHTS}}]
    for name in GROUP_TITLES:
        methods = values["studies"][name]["methods"]
        cells = {
            column: f"{methods[method]['mean']:.1f} ± {methods[method]['standard_error']:.1f}"
            for column, method in columns.items()
        }
        rows.append({"maps": study_title(name, datasets), **cells})
    return pd.DataFrame(rows).fillna("")


def accuracy_table(values: Mapping[str, Any], datasets: Mapping[str, str]) -> pd.DataFrame:
    """Return the accuracies with true and permuted labels, and the p-value of the permutation test."""
    rows = []
    for name in GROUP_TITLES:
        study = values["studies"][name]
        for method, title in TITLES.items():
            scores, permuted = study["methods"][method], study["permuted"][method]
            rows.append(
                {
                    "maps": study_title(name, datasets),
                    "method": title,
                    "accuracy": scores["mean"],
                    "standard error": scores["standard_error"],
                    "first splits": permuted["accuracy"],
                    "permuted, honest": permuted["permuted"],
                    "p of permutations": permuted["p"],
                    "permuted, leak": permuted["leak"],
                }
            )
    return pd.DataFrame(rows)


def difference_table(values: Mapping[str, Any], datasets: Mapping[str, str]) -> pd.DataFrame:
    """Return the differences on the same splits, with both tests."""
    rows = []
    for name in GROUP_TITLES:
        for pair, title in PAIRS.items():
            difference = values["studies"][name]["differences"]["_".join(pair)]
            rows.append(
                {
                    "maps": study_title(name, datasets),
                    "compared": title,
                    "difference": difference["difference"],
                    "better / worse": f"{difference['better']} / {difference['worse']}",
                    "Wilcoxon p": difference["wilcoxon_p"],
                    "corrected t p": difference["corrected_t_p"],
                }
            )
    return pd.DataFrame(rows)


def size_table(
    values: Mapping[str, Any], datasets: Mapping[str, str], published: Mapping[str, float]
) -> pd.DataFrame:
    """Return the mean sizes for each height, below the published ones."""
    rows = [{"maps": "published", "patterns": f"h = {PUBLISHED_HEIGHT}", **published}]
    for name in GROUP_TITLES:
        sizes = values["studies"][name]["sizes"]
        rows += [
            {"maps": study_title(name, datasets), "patterns": f"h = {h}"}
            | {key: sizes[f"wl_{h}"][key] for key in SIZES}
            for h in HEIGHTS
        ]
    table = pd.DataFrame(rows)
    table["nonzero_share"] *= 100
    return table.rename(columns={"nonzero_share": "non-zero, %", "selected": "selected features"})


def study_table(values: Mapping[str, Any], datasets: Mapping[str, str]) -> pd.DataFrame:
    """Return the subjects of each study, and how often each height was chosen inside the training part."""
    rows = []
    for name in GROUP_TITLES:
        study = values["studies"][name]
        rows.append(
            {
                "maps": study_title(name, datasets),
                "people": " + ".join(map(str, study["people"])),
                "voxels": study["voxels"],
                "splits": study["splits"],
                "permutations": f"{study['permutations']} on {study['permuted_splits']} splits",
                "heights chosen": ", ".join(
                    f"{count} x h = {h}" for h, count in zip(HEIGHTS, study["heights_chosen"], strict=True)
                ),
            }
        )
    return pd.DataFrame(rows)


def map_table(maps: Mapping[str, Mapping[str, NDArray]]) -> pd.DataFrame:
    """Return every selected voxel with its place in millimeters and its values."""
    shown = {key: key for key in ("selection", "negative", "positive")}
    tables = []
    for name, arrays in maps.items():
        table = voxel_table(arrays, arrays["selection"] != 0, shown)
        table.insert(0, "dataset", name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def effect_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return mean and standard error over the drawn studies in percent, one row per effect."""
    effects = values["effects"]
    rows = [
        {"difference of the groups": f"{effect:g} %"}
        | {
            title: _mean_and_error(effects["accuracy"][method][i]["repeats"])
            for method, title in TITLES.items()
        }
        for i, effect in enumerate(effects["sizes"])
    ]
    return pd.DataFrame(rows)


def _mean_and_error(repeats: Sequence[float]) -> str:
    error = np.std(repeats, ddof=1) / np.sqrt(len(repeats)) if len(repeats) > 1 else 0.0
    return f"{np.mean(repeats):.1f} ± {error:.1f}"
