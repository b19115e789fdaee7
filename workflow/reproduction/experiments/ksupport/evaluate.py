"""Correlations, clusters and norms of section 4.2 (rule evaluate_ksupport)."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.claims.results import read_json, repeated, write_results
from reproduction.experiments.fmri_studies.maps import overlap
from reproduction.experiments.fmri_studies.studies import GROUP_STUDIES, TARGET, Study
from reproduction.experiments.ksupport.dual_definitions import (
    compare_norms,
    elastic_net_ratios,
    example_values,
)
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
#: What is held out in each study.
UNITS = {"film": "stretch", "haxby": "run split", "wager": "subject split"}
#: The same for the maps of two groups.
MAP_UNITS = {"drug_stroop": "Stroop split", "wager2008_contrasts": "Wager split"}
#: Study and protocol to a title. Splits of subjects are fair in any order, so Wager needs no second protocol.
PROTOCOLS = {
    ("film", "fair"): "stretches of time",
    ("film", "permuted"): "volumes permuted, as published",
    ("haxby", "fair"): "whole runs",
    ("haxby", "permuted"): "volumes permuted",
    ("wager", "fair"): "subjects",
}


def main(inputs: Paths, outputs: Paths, *, seed: int, vectors: int, scans: int, share: float) -> None:
    """Write the correlations of all studies, the comparison of the norms, and the maps with their clusters.

    Parameters
    ----------
    vectors : int
        Number of random vectors for the comparison of the norms.
    scans : int
        Number of scans of the film.
    share : float
        Share of the samples in the test part.
    """
    folder = Path(outputs["values"]).parent
    splits = {key: _joined(inputs[f"paths_{'_'.join(key)}"]) for key in PROTOCOLS}
    paths = {key: mean_paths(table) for key, table in splits.items()}
    chosen = {key: chosen_rows(table) for key, table in splits.items()}
    clusters, map_splits, weights = {}, {}, {}
    for name, groups in GROUP_STUDIES.items():
        clusters[name], map_splits[name] = (
            pd.read_csv(inputs[f"{kind}_{groups}"]) for kind in ("clusters", "splits")
        )
        weights[name] = inputs[f"weights_{groups}"]
    differences = compare_norms(vectors, seed)
    datasets = sorted({*DATASETS.values(), *GROUP_STUDIES})
    fair = {study: (splits[study, "fair"], chosen[study, "fair"]) for study in STUDIES}
    # Training parts overlap within a scan only.
    overlaps = {study: share / (1 - share) / (scans if study == "film" else 1) for study in STUDIES}
    write_results(
        folder,
        {
            "norm_dual_difference_max": max(differences.values()),
            "norm_dual_difference": differences,
            "norm_examples": example_values(),
            "elastic_net_ratio": elastic_net_ratios(vectors, seed),
            "best_correlation": {
                study: _best(table, overlaps[study], UNITS[study]) for study, (table, _) in fair.items()
            },
            **{
                f"nested_{column}": {
                    study: _by_split(rows, column, overlaps[study], UNITS[study])
                    for study, (_, rows) in fair.items()
                }
                for column in ("correlation", "nonzeros")
            },
            "laplacian_correlation": repeated(
                laplacian_correlations(chosen["film", "fair"], inputs["laplacian"]),
                UNITS["film"],
                overlaps["film"],
            ),
            "correlations": {"_".join(key): summarize(paths[key], chosen[key]) for key in PROTOCOLS},
            **{
                f"reversed_{protocol}": _best(
                    _joined(inputs[f"paths_reversed_{protocol}"]), share / (1 - share), unit
                )
                for protocol, unit in (("fair", UNITS["film"]), ("permuted", "permuted split"))
            },
            "studies": {name: _size(Study.read(inputs[f"study_{name}"])) for name in STUDIES},
            "maps": {
                name: _map_values(weights[name], map_splits[name], share / (1 - share), name)
                for name in GROUP_STUDIES
            },
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


def _by_split(rows: pd.DataFrame, column: str, test_over_train: float, unit: str) -> dict[str, Any]:
    """Return a column of the chosen model of each method, split by split."""
    wide = rows.pivot(index="split", columns="method", values=column)
    return {method: repeated(wide[method], unit, test_over_train) for method in METHODS}


def _best(table: pd.DataFrame, test_over_train: float, unit: str) -> dict[str, Any]:
    """Return the correlations of the model of each method with the best mean on the test parts."""
    found = {}
    for method, best in best_rows(mean_paths(table)).items():
        rows = table[
            (table["method"] == method)
            & (table["shape"] == best["shape"])
            & (table["strength"] == best["strength"])
        ]
        found[method] = repeated(rows.sort_values("split")["correlation"], unit, test_over_train)
    return {method: found[method] for method in METHODS}


def laplacian_correlations(chosen: pd.DataFrame, tables: Sequence[str]) -> list[float]:
    """Return the correlations of semi-supervised Laplacian KCCA on the stretches of the film's splits.

    Parameters
    ----------
    chosen : DataFrame
        Rows of `chosen_rows` for the film, whose splits are numbered scan by scan.
    tables : sequence of str
        Results of section 4.1 for each scan, with parameters chosen by cross-validation.
    """
    rows = pd.concat([pd.read_csv(path).assign(scan=scan) for scan, path in enumerate(tables)])
    rows = rows[
        (rows["protocol"] == "fair")
        & (rows["criterion"] == "folds")
        & (rows["experiment"] == "exp3")
        & (rows["output"] == TARGET)
    ]
    reached = rows.set_index(["scan", "fold"])["correlation"]
    stretches = rows["fold"].nunique()
    tested = chosen.groupby("split")["run"].first()
    return [float(reached[split // stretches, run]) for split, run in tested.items()]


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


def _size(study: Study) -> dict[str, Any]:
    return {"samples": len(study.y), "voxels": study.X.shape[1], "fair": study.fair}


def _map_values(path: str, splits: pd.DataFrame, test_over_train: float, name: str) -> dict[str, Any]:
    """Return the parameters chosen for the maps, and over the splits the clusters of the chosen models.

    Where the true region is known, the overlap with it is returned as well.
    """
    unit = MAP_UNITS[name]

    def by_split(column: str) -> dict[str, Any]:
        wide = splits.pivot(index="split", columns="method", values=column)
        return {method: repeated(wide[method], unit, test_over_train) for method in MAP_METHODS}

    values: dict[str, Any] = {
        column: by_split(column)
        for column in ("mean_size", "correlation", "weight_inside")
        if column in splits
    }
    with np.load(path, allow_pickle=False) as content:
        values |= {
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
            values["region_share"] = float(content["region"].mean())
    return values


if "snakemake" in globals():
    run_stage(main, snakemake)
