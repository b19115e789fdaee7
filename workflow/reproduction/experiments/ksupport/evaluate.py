"""Correlations, clusters and norms of section 4.2 (rule evaluate_ksupport).

`main` writes the results; the other public functions turn them into the tables of the notebook.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reproduction.claims.results import read_json, write_results
from reproduction.experiments.fmri_studies.maps import overlap, voxel_table
from reproduction.experiments.fmri_studies.studies import GROUP_STUDIES, GROUP_TITLES, Study
from reproduction.experiments.ksupport.dual_definitions import compare_norms, example_values
from reproduction.experiments.ksupport.protocol import (
    METHODS,
    best_rows,
    chosen_rows,
    mean_paths,
    standard_deviation,
)
from reproduction.experiments.ksupport.train_maps import MAP_METHODS
from reproduction.pipeline.job import Paths, run_stage

TITLES = {"lasso": "LASSO", "elastic_net": "elastic net", "ksupport": "k-support norm"}
STUDIES = {"film": "film", "haxby": "Haxby slice", "wager": "Wager maps"}
DATASETS = {"film": "movie_watching", "haxby": "haxby2001_slice", "wager": "wager2008_contrasts"}
#: Study and protocol to a title. Splits of subjects are fair in any order, so Wager needs no second protocol.
PROTOCOLS = {
    ("film", "fair"): "stretches of time",
    ("film", "permuted"): "volumes permuted, as published",
    ("haxby", "fair"): "whole runs",
    ("haxby", "permuted"): "volumes permuted",
    ("wager", "fair"): "subjects",
}
#: The study and the protocol of the claims.
MAIN = ("film", "fair")
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


def main(inputs: Paths, outputs: Paths, *, seed: int, vectors: int) -> None:
    """Write the correlations of all studies, the comparison of the norms, and the maps with their clusters.

    ``vectors`` is the number of random vectors for the comparison of the norms.
    """
    folder = Path(outputs["values"]).parent
    splits = {key: _joined(inputs[f"paths_{'_'.join(key)}"]) for key in PROTOCOLS}
    paths = {key: mean_paths(table) for key, table in splits.items()}
    chosen = {key: chosen_rows(table) for key, table in splits.items()}
    clusters = {name: pd.read_csv(inputs[f"clusters_{groups}"]) for name, groups in GROUP_STUDIES.items()}
    weights = {name: inputs[f"weights_{groups}"] for name, groups in GROUP_STUDIES.items()}
    differences = compare_norms(vectors, seed)
    best = best_rows(paths[MAIN])
    sizes = clusters["drug_stroop"].set_index("selection")["mean_size"]
    datasets = sorted({*DATASETS.values(), *GROUP_STUDIES})
    write_results(
        folder,
        {
            "norm_dual_difference_max": max(differences.values()),
            "norm_dual_difference": differences,
            "norm_examples": example_values(),
            "best_correlation": _best_correlations(paths[MAIN]),
            "nested_correlation": _nested_correlations(chosen[MAIN]),
            "best_nonzeros": {method: best[method]["nonzeros"] for method in ("lasso", "elastic_net")},
            "best_k": best["ksupport"]["shape"],
            "mean_cluster_size": {method: sizes[method] for method in MAP_METHODS},
            "correlations": {"_".join(key): summarize(paths[key], chosen[key]) for key in PROTOCOLS},
            "difference_of_nested": compare_nested(chosen[MAIN]),
            "reversed_best": {
                protocol: _best_correlations(mean_paths(_joined(inputs[f"paths_reversed_{protocol}"])))
                for protocol in ("fair", "permuted")
            },
            "studies": {name: _size(Study.read(inputs[f"study_{name}"])) for name in STUDIES},
            "maps": {name: _map_values(path) for name, path in weights.items()},
            "largest_gap": max(float(table["gap"].max()) for table in splits.values()),
        },
        datasets={name: read_json(inputs[f"receipt_{name}"])["kind"] for name in datasets},
    )
    labeled = {
        name: pd.concat([table.assign(study=key[0], protocol=key[1]) for key, table in tables.items()])
        for name, tables in (("paths", paths), ("chosen", chosen))
    }
    labeled["clusters"] = pd.concat([table.assign(dataset=name) for name, table in clusters.items()])
    for name, table in labeled.items():
        table.to_csv(outputs[name], index=False, lineterminator="\n")
    for name, path in weights.items():
        shutil.copyfile(path, outputs[f"maps_{name}"])


def _joined(paths: Sequence[str]) -> pd.DataFrame:
    return pd.concat(map(pd.read_csv, paths), ignore_index=True)


def _best_correlations(paths: pd.DataFrame) -> dict[str, float]:
    return {method: row["correlation"] for method, row in best_rows(paths).items()}


def _nested_correlations(chosen: pd.DataFrame) -> dict[str, float]:
    means = chosen.groupby("method")["correlation"].mean()
    return {method: float(means[method]) for method in METHODS}


def summarize(paths: pd.DataFrame, chosen: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return for each method the best model on the test parts and the nested choice, with their spread."""
    summary = {}
    for method, row in best_rows(paths).items():
        rows = chosen[chosen["method"] == method]
        strengths = paths[(paths["method"] == method) & (paths["shape"] == row["shape"])]["strength"]
        summary[method] = {
            "best": row["correlation"],
            "best_deviation": row["deviation"],
            "best_shape": row["shape"],
            "best_strength": row["strength"],
            "best_nonzeros": row["nonzeros"],
            "best_at_edge": bool(row["strength"] in (strengths.min(), strengths.max())),
            "nested": rows["correlation"].mean(),
            "nested_deviation": standard_deviation(rows["correlation"]),
            "nested_nonzeros": rows["nonzeros"].mean(),
            "splits": len(rows),
        }
    return summary


def compare_nested(chosen: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return the gain of nested k-support over each other method on the same splits, and the splits won."""
    wide = chosen.pivot(index="split", columns="method", values="correlation")
    gains = {method: wide["ksupport"] - wide[method] for method in ("lasso", "elastic_net")}
    return {
        method: {
            "mean": gain.mean(),
            "deviation": standard_deviation(gain),
            "better": int((gain > 0).sum()),
        }
        for method, gain in gains.items()
    }


def _size(study: Study) -> dict[str, Any]:
    return {"samples": len(study.y), "voxels": study.X.shape[1], "fair": study.fair}


def _map_values(path: str) -> dict[str, Any]:
    """Return the parameters chosen for the maps, and their overlap with the true region where it is known."""
    with np.load(path, allow_pickle=False) as content:
        values: dict[str, Any] = {
            "chosen": {
                method: dict(
                    zip(("shape", "strength", "correlation"), content[f"chosen_{method}"], strict=True)
                )
                for method in MAP_METHODS
            },
            "subjects": content["subjects"],
        }
        if content["region"].any():
            values["overlap"] = {
                method: overlap(content[method], content["region"]) for method in MAP_METHODS
            }
    return values


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
        control = values["reversed_best"][protocol]
        rows[f"{title}: target reversed"] = {name: control[method] for method, name in TITLES.items()}
    return pd.DataFrame(rows).T


def difference_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the gain of the k-support norm over each other method on the same splits."""
    rows = {f"over the {TITLES[method]}": row for method, row in values["difference_of_nested"].items()}
    return pd.DataFrame(rows).T[["mean", "deviation", "better"]].astype({"better": int})


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


if "snakemake" in globals():
    run_stage(main, snakemake)
