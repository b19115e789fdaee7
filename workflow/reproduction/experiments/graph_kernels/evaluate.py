"""Accuracies, tests and controls of section 4.3 (rule evaluate_graph_kernels)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.claims.results import read_json, write_results
from reproduction.experiments.fmri_studies.study import Study
from reproduction.experiments.graph_kernels.maps import GraphMaps
from reproduction.experiments.graph_kernels.measures import (
    accuracy_summary,
    compare_methods,
    compare_with_permuted,
)
from reproduction.experiments.graph_kernels.protocol import HEIGHTS, METHODS
from reproduction.experiments.ksupport.maps import overlap
from reproduction.pipeline.job import job

#: The study that the claims speak of, and the height of the published sizes.
MAIN, PUBLISHED_HEIGHT = "drug_stroop", 2
PAIRS = {
    "wl_pyramid_elastic_net": ("wl_pyramid", "elastic_net"),
    "wl_pyramid_gaussian_ridge": ("wl_pyramid", "gaussian_ridge"),
    "wl_pyramid_combined": ("wl_pyramid", "combined"),
    "wl_2_wl_0": ("wl_2", "wl_0"),
}
SIZES = ("voxels", "features", "nonzero_share", "selected")


def main(
    studies: Mapping[str, Mapping[str, Any]],
    timings: Sequence[str],
    folder: Path,
    *,
    share: float,
    permuted_splits: int,
) -> None:
    """Write the numbers of the experiment.

    Parameters
    ----------
    studies
        Data set to its files: receipt, study, maps, and lists splits and permuted.
    share
        Part of the people that is tested on.
    permuted_splits
        Splits that permuted labels are scored on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    splits, permuted = (
        {name: pd.concat(map(pd.read_csv, files[kind]), ignore_index=True) for name, files in studies.items()}
        for kind in ("splits", "permuted")
    )
    found = {}
    for name, files in studies.items():
        study, maps = Study.read(files["study"]), GraphMaps.read(files["maps"])
        found[name] = {
            "people": [int((study.y > 0).sum()), int((study.y < 0).sum())],
            "voxels": study.X.shape[1],
            "splits": int(splits[name]["split"].nunique()),
            "permutations": int(permuted[name]["permutation"].nunique()),
            "permuted_splits": permuted_splits,
            "methods": accuracy_summary(splits[name]),
            "differences": {key: compare_methods(splits[name], *pair, share) for key, pair in PAIRS.items()},
            "permuted": compare_with_permuted(splits[name], permuted[name], METHODS, permuted_splits),
            "sizes": _sizes(splits[name]),
            "heights_chosen": _heights_chosen(splits[name]),
            "largest_gap": float(splits[name]["gap"].max()),
            "maps": _map_values(maps, study),
        }
        _write_maps(folder / f"maps_{name}.npz", maps, study)
    main_study = found[MAIN]
    difference = main_study["differences"]["wl_pyramid_elastic_net"]
    write_results(
        folder,
        {
            "accuracy_by_height": [main_study["methods"][f"wl_{h}"]["mean"] for h in HEIGHTS],
            "accuracy": {method: main_study["methods"][method]["mean"] for method in METHODS},
            "wilcoxon_p": difference["wilcoxon_p"],
            "corrected_t_p": difference["corrected_t_p"],
            "counts": {name: main_study["sizes"][f"wl_{PUBLISHED_HEIGHT}"][name] for name in SIZES},
            "studies": found,
        },
        datasets={name: read_json(files["receipt"])["kind"] for name, files in studies.items()},
        timings={Path(path).stem: read_json(path)["seconds_per_split"] for path in timings},
    )
    for kind, tables in (("splits", splits), ("permuted", permuted)):
        labelled = pd.concat([table.assign(dataset=name) for name, table in tables.items()])
        labelled.to_csv(folder / f"{kind}.csv", index=False, lineterminator="\n")


def _sizes(splits: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return for each height and each use of the elastic net the sizes met on the way, means over splits."""
    means = splits.groupby("method")[list(SIZES)].mean()
    wanted = ["elastic_net", *(f"wl_{h}" for h in HEIGHTS), "wl_pyramid", "combined"]
    found = {method: means.loc[method].to_dict() for method in wanted}
    voxels = splits[splits["method"] == "elastic_net"]["voxels"]
    found["elastic_net"] |= {"least_voxels": voxels.min(), "most_voxels": voxels.max()}
    return found


def _heights_chosen(splits: pd.DataFrame) -> list[int]:
    """Return how often each height was chosen inside the training part."""
    chosen = splits[splits["method"] == "wl_pyramid"]["height"]
    return [int((chosen == h).sum()) for h in HEIGHTS]


def _map_values(maps: GraphMaps, study: Study) -> dict[str, Any]:
    """Return what was chosen for the maps, and how they meet the true region where there is one."""
    found: dict[str, Any] = {
        "voxels": int(np.count_nonzero(maps.selection)),
        "height": maps.height,
        "selected": maps.selected,
        "strengths": maps.strengths,
        "shapes": maps.shapes,
        "accuracies": 100 * maps.accuracies,
    }
    if study.region.any():
        shown = {"selection": maps.selection, "difference": maps.positive - maps.negative}
        found["overlap"] = {name: overlap(values, study.region) for name, values in shown.items()}
    return found


def _write_maps(path: Path, maps: GraphMaps, study: Study) -> None:
    with path.open("wb") as file:
        np.savez(
            file,
            selection=maps.selection,
            positive=maps.positive,
            negative=maps.negative,
            mask=study.mask,
            affine=study.affine,
        )


if "snakemake" in globals():
    with job(snakemake):
        inputs = dict(snakemake.input.items())
        main(
            {
                name: {"receipt": inputs[f"receipt_{name}"]}
                | {kind: inputs[f"{kind}_{groups}"] for kind in ("study", "maps", "splits", "permuted")}
                for name, groups in snakemake.params.studies.items()
            },
            inputs["timings"],
            Path(snakemake.output.values).parent,
            share=snakemake.params.share,
            permuted_splits=snakemake.params.permuted_splits,
        )
