"""Tables of section 4.2 for the notebook, from the results of `evaluate`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reproduction.experiments.fmri_studies.maps import voxel_table
from reproduction.experiments.fmri_studies.studies import GROUP_TITLES
from reproduction.experiments.ksupport.evaluate import DATASETS, PROTOCOLS, STUDIES, TITLES
from reproduction.experiments.ksupport.protocol import standard_deviation
from reproduction.experiments.ksupport.train_maps import MAP_METHODS

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


def correlation_table(
    values: Mapping[str, Any], datasets: Mapping[str, str], published: Mapping[str, Sequence[float]]
) -> pd.DataFrame:
    """Return best and nested correlations, one row per study, protocol and method.

    ``published`` has for each method its place on the axis of Figure 4.6 and its correlation.
    """
    rows = []
    for (study, protocol), title in PROTOCOLS.items():
        for method, name in TITLES.items():
            row = values["correlations"][f"{study}_{protocol}"][method]
            rows.append(
                {
                    "study": f"{STUDIES[study]} ({datasets[DATASETS[study]]})",
                    "splits": f"{title} ({row['splits']})",
                    "method": name,
                    "published": f"{published[method][1]:.3f}" if study == "film" else "",
                    "best on test": _mean_and_deviation(row, "best"),
                    "at": _best_parameter(method, row),
                    "chosen inside": _mean_and_deviation(row, "nested"),
                    "voxels": f"{row['nested_nonzeros']:.0f}",
                }
            )
    return pd.DataFrame(rows)


def _mean_and_deviation(row: Mapping[str, Any], name: str) -> str:
    """Format mean and deviation over the splits; the mean alone for a single split."""
    deviation = f" ± {row[f'{name}_deviation']:.3f}" if row["splits"] > 1 else ""
    return f"{row[name]:.3f}{deviation}"


def _best_parameter(method: str, row: Mapping[str, Any]) -> str:
    """Format k or the number of voxels of the best model, and whether it is at an edge of the grid."""
    place = f"k = {row['best_shape']:.0f}" if method == "ksupport" else f"{row['best_nonzeros']:.0f} voxels"
    return place + (" (edge of the grid)" if row["best_at_edge"] else "")


def control_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the best correlations of the film with its target and with the target reversed."""
    rows = {}
    for protocol in ("fair", "permuted"):
        title = PROTOCOLS["film", protocol]
        film = values["correlations"][f"film_{protocol}"]
        rows[f"{title}: target"] = {name: film[method]["best"] for method, name in TITLES.items()}
        control = values[f"reversed_{protocol}"]
        rows[f"{title}: target reversed"] = {
            name: np.mean(control[method]["repeats"]) for method, name in TITLES.items()
        }
    return pd.DataFrame(rows).T


def difference_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the gain of the k-support norm over the other methods on the same splits, parameters nested."""
    rows = []
    for study, title in STUDIES.items():
        nested = values["nested_correlation"][study]
        others = {TITLES[method]: nested[method] for method in ("lasso", "elastic_net")}
        if study == "film":
            others["Laplacian KCCA"] = values["laplacian_correlation"]
        for name, other in others.items():
            gains = np.subtract(nested["ksupport"]["repeats"], other["repeats"])
            rows.append(
                {
                    "study": title,
                    "over": name,
                    "mean": gains.mean(),
                    "deviation": standard_deviation(pd.Series(gains)),
                    "better": f"{int((gains > 0).sum())} of {len(gains)}",
                }
            )
    return pd.DataFrame(rows)


def chosen_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the parameters chosen for the maps."""
    rows = {
        (title, TITLES[method]): row
        for name, title in GROUP_TITLES.items()
        for method, row in values["maps"][name]["chosen"].items()
    }
    table = pd.DataFrame(rows).T.rename(columns={"shape": "k", "strength": "regularization strength"})
    return table[["k", "regularization strength", "correlation"]]


def norm_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return formula and both values of an example, and the largest difference over random vectors."""
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


def map_table(maps: Mapping[str, Mapping[str, NDArray]]) -> pd.DataFrame:
    """Return every non-zero weight of the maps, with its place in millimeters."""
    tables = [
        voxel_table(arrays, arrays[method] != 0, {"weight": method}).assign(dataset=name, method=method)
        for name, arrays in maps.items()
        for method in MAP_METHODS
    ]
    return pd.concat(tables, ignore_index=True)[["dataset", "method", "x", "y", "z", "weight"]]


def cluster_summary(clusters: pd.DataFrame, datasets: Mapping[str, str]) -> pd.DataFrame:
    """Return the clusters of the maps, next to those of as many random voxels."""
    rows = clusters[clusters["selection"].isin(SELECTIONS)]
    return pd.DataFrame(
        {
            "maps": [f"{GROUP_TITLES[name]} ({datasets[name]})" for name in rows["dataset"]],
            "selected by": [SELECTIONS[name] for name in rows["selection"]],
            "voxels": rows["voxels"].to_numpy(),
            "clusters": rows["clusters"].to_numpy(),
            "mean size": rows["mean_size"].round(1).to_numpy(),
            "largest": rows["largest"].to_numpy(),
            "mean size by chance": rows["chance_mean_size"].round(1).to_numpy(),
        }
    )
