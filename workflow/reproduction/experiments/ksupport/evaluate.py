"""Correlations, clusters and norms of section 4.2 (rule evaluate_ksupport)."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.claims.results import read_json, write_results
from reproduction.experiments.fmri_studies.study import Study
from reproduction.experiments.ksupport.maps import SHOWN, overlap
from reproduction.experiments.ksupport.norm_check import compare_norms, example_values
from reproduction.experiments.ksupport.protocol import METHODS, best_rows, chosen_rows, mean_paths
from reproduction.pipeline.job import job

#: The study and the protocol that the claims speak of.
MAIN = ("film", "fair")
MAPS = {"drug_stroop": "stroop_groups", "wager2008_contrasts": "wager_groups"}


def main(
    receipts: Mapping[str, str],
    tables: Mapping[tuple[str, str], Sequence[str]],
    control: Mapping[str, Sequence[str]],
    studies: Mapping[str, str],
    maps: Mapping[str, Mapping[str, str]],
    timings: Sequence[str],
    folder: Path,
    *,
    vectors: int,
    seed: int,
) -> None:
    """Write the numbers of the experiment.

    Parameters
    ----------
    receipts
        Data set to its receipt.
    tables
        Study and protocol to the files of the training rule.
    control
        Protocol to these files for the film with its target reversed.
    studies
        Study to its file.
    maps
        Data set to the files of the rule for maps: weights, clusters and paths.
    vectors
        Random vectors that norms are compared on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    splits = {key: pd.concat(map(pd.read_csv, files), ignore_index=True) for key, files in tables.items()}
    paths = {key: mean_paths(table) for key, table in splits.items()}
    chosen = {key: chosen_rows(table) for key, table in splits.items()}
    best = best_rows(paths[MAIN])
    differences = compare_norms(vectors, seed)
    clusters = {name: pd.read_csv(files["clusters"]) for name, files in maps.items()}
    stroop = clusters["drug_stroop"].set_index("selection")["mean_size"]
    write_results(
        folder,
        {
            "norm_dual_difference_max": max(differences.values()),
            "norm_dual_difference": differences,
            "norm_examples": example_values(),
            "best_correlation": _best_correlations(paths[MAIN]),
            "nested_correlation": _nested(chosen[MAIN]),
            "best_nonzeros": {method: best[method]["nonzeros"] for method in ("lasso", "elastic_net")},
            "best_k": best["ksupport"]["shape"],
            "mean_cluster_size": {method: stroop[method] for method in SHOWN},
            "correlations": {
                f"{study}_{protocol}": _summary(paths[study, protocol], chosen[study, protocol])
                for study, protocol in tables
            },
            "difference_of_nested": _differences(chosen[MAIN]),
            "reversed_best": {
                protocol: _best_correlations(mean_paths(pd.concat(map(pd.read_csv, files))))
                for protocol, files in control.items()
            },
            "studies": {name: _size(Study.read(path)) for name, path in studies.items()},
            "maps": {name: _map_values(files) for name, files in maps.items()},
            "largest_gap": max(float(table["gap"].max()) for table in splits.values()),
        },
        datasets={name: read_json(path)["kind"] for name, path in receipts.items()},
        timings={Path(path).stem: read_json(path)["seconds_per_split"] for path in timings},
    )
    _labelled(paths).to_csv(folder / "paths.csv", index=False, lineterminator="\n")
    _labelled(chosen).to_csv(folder / "chosen.csv", index=False, lineterminator="\n")
    pd.concat([table.assign(dataset=name) for name, table in clusters.items()]).to_csv(
        folder / "clusters.csv", index=False, lineterminator="\n"
    )
    for name, files in maps.items():
        shutil.copyfile(files["weights"], folder / f"maps_{name}.npz")


def _best_correlations(paths: pd.DataFrame) -> dict[str, float]:
    return {method: row["correlation"] for method, row in best_rows(paths).items()}


def _nested(chosen: pd.DataFrame) -> dict[str, float]:
    means = chosen.groupby("method")["correlation"].mean()
    return {method: float(means[method]) for method in METHODS}


def _summary(paths: pd.DataFrame, chosen: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return for each method the best model of the path and the nested choice, with their spread."""
    found = {}
    for method, row in best_rows(paths).items():
        rows = chosen[chosen["method"] == method]
        strengths = paths[(paths["method"] == method) & (paths["shape"] == row["shape"])]["strength"]
        found[method] = {
            "best": row["correlation"],
            "best_deviation": row["deviation"],
            "best_shape": row["shape"],
            "best_strength": row["strength"],
            "best_nonzeros": row["nonzeros"],
            "best_at_edge": bool(row["strength"] in (strengths.min(), strengths.max())),
            "nested": rows["correlation"].mean(),
            "nested_deviation": rows["correlation"].std(ddof=1) if len(rows) > 1 else 0.0,
            "nested_nonzeros": rows["nonzeros"].mean(),
            "splits": len(rows),
        }
    return found


def _differences(chosen: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return by how much nested k-support is better than each peer on the same splits, and on how many."""
    wide = chosen.pivot(index="split", columns="method", values="correlation")
    found = {}
    for peer in ("lasso", "elastic_net"):
        some = wide["ksupport"] - wide[peer]
        deviation = float(some.std(ddof=1)) if len(some) > 1 else 0.0
        found[peer] = {"mean": some.mean(), "deviation": deviation, "better": int((some > 0).sum())}
    return found


def _size(study: Study) -> dict[str, Any]:
    return {"samples": len(study.y), "voxels": study.X.shape[1], "fair": study.fair}


def _map_values(files: Mapping[str, str]) -> dict[str, Any]:
    """Return what was chosen for the maps, and how they meet the true region where there is one."""
    with np.load(files["weights"], allow_pickle=False) as content:
        found: dict[str, Any] = {
            "chosen": {
                method: dict(
                    zip(("shape", "strength", "correlation"), content[f"chosen_{method}"], strict=True)
                )
                for method in SHOWN
            },
            "subjects": content["subjects"],
        }
        if content["region"].any():
            found["overlap"] = {method: overlap(content[method], content["region"]) for method in SHOWN}
    return found


def _labelled(tables: Mapping[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([table.assign(study=key[0], protocol=key[1]) for key, table in tables.items()])


if "snakemake" in globals():
    with job(snakemake):
        inputs = dict(snakemake.input.items())
        main(
            {name: inputs[f"receipt_{name}"] for name in snakemake.params.datasets},
            {key: inputs["_".join(("paths", *key))] for key in map(tuple, snakemake.params.protocols)},
            {protocol: inputs[f"paths_reversed_{protocol}"] for protocol in ("fair", "permuted")},
            {name: inputs[f"study_{name}"] for name in ("film", "haxby", "wager")},
            {
                name: {kind: inputs[f"{kind}_{study}"] for kind in ("weights", "clusters")}
                for name, study in MAPS.items()
            },
            inputs["timings"],
            Path(snakemake.output.values).parent,
            **snakemake.params.arguments,
        )
