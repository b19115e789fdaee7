"""Accuracies, tests and controls of section 4.3 (rule evaluate_graph_kernels)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ermlab.metrics.resampling import corrected_t_test, permutation_result, wilcoxon_test
from reproduction.claims.results import read_json, repeated, write_results
from reproduction.experiments.fmri_studies.maps import overlap
from reproduction.experiments.fmri_studies.studies import GROUP_STUDIES, Study
from reproduction.experiments.graph_kernels.protocol import HEIGHTS, METHODS
from reproduction.experiments.graph_kernels.train_maps import GraphMaps
from reproduction.pipeline.job import Paths, run_stage

#: The study of the claims, and the height of the published sizes.
MAIN, PUBLISHED_HEIGHT = "drug_stroop", 2
TITLES = {
    "gaussian_ridge": "Gaussian kernel ridge",
    "elastic_net": "elastic net, voxels",
    "wl_pyramid": "WL pyramid",
    "combined": "voxels and WL pyramid",
}
#: Pairs of methods that are compared, and their titles.
PAIRS = {
    ("wl_pyramid", "elastic_net"): "WL pyramid against elastic net",
    ("wl_pyramid", "gaussian_ridge"): "WL pyramid against Gaussian kernel ridge",
    ("wl_pyramid", "combined"): "WL pyramid against voxels and WL pyramid",
    ("wl_2", "wl_0"): "h = 2 against h = 0",
}
SIZES = ("voxels", "features", "nonzero_share", "selected")


def main(inputs: Paths, outputs: Paths, *, share: float, permuted_splits: int) -> None:
    """Write the accuracies, tests, controls, sizes and maps of both studies."""
    tables = {
        kind: {name: _joined(inputs[f"{kind}_{groups}"]) for name, groups in GROUP_STUDIES.items()}
        for kind in ("splits", "permuted")
    }
    results = {}
    for name, groups in GROUP_STUDIES.items():
        study, maps = Study.read(inputs[f"study_{groups}"]), GraphMaps.read(inputs[f"maps_{groups}"])
        splits, permuted = tables["splits"][name], tables["permuted"][name]
        results[name] = {
            "people": [int((study.y > 0).sum()), int((study.y < 0).sum())],
            "voxels": study.X.shape[1],
            "splits": int(splits["split"].nunique()),
            "permutations": int(permuted["permutation"].nunique()),
            "permuted_splits": permuted_splits,
            "methods": accuracy_summary(splits),
            "differences": {"_".join(pair): compare_methods(splits, *pair, share) for pair in PAIRS},
            "permuted": compare_with_permuted(splits, permuted, METHODS, permuted_splits),
            "sizes": mean_sizes(splits),
            "heights_chosen": heights_chosen(splits),
            "largest_gap": float(splits["gap"].max()),
            "maps": _map_values(maps, study),
        }
        _write_maps(outputs[f"maps_{name}"], maps, study)
    main_study = results[MAIN]
    difference = main_study["differences"]["wl_pyramid_elastic_net"]
    splits, permuted = (tables[kind][MAIN] for kind in ("splits", "permuted"))
    effects = pd.read_csv(inputs["effects"])
    write_results(
        Path(outputs["values"]).parent,
        {
            "accuracy_by_height": [by_split(splits, f"wl_{h}", "accuracy", share, 100) for h in HEIGHTS],
            "accuracy": {method: by_split(splits, method, "accuracy", share, 100) for method in METHODS},
            "wilcoxon_p": difference["wilcoxon_p"],
            "corrected_t_p": difference["corrected_t_p"],
            "counts": {name: by_split(splits, f"wl_{PUBLISHED_HEIGHT}", name, share) for name in SIZES},
            "rostral_acc": _region_values(splits, Study.read(inputs[f"study_{GROUP_STUDIES[MAIN]}"]), share),
            "permuted": by_permutation(permuted, "inside"),
            "leak": by_permutation(permuted, "beforehand"),
            "effects": by_effect(effects),
            "studies": results,
        },
        datasets={name: read_json(inputs[f"receipt_{name}"])["kind"] for name in GROUP_STUDIES},
    )
    for kind, by_dataset in tables.items():
        labeled = pd.concat([table.assign(dataset=name) for name, table in by_dataset.items()])
        labeled.to_csv(outputs[kind], index=False, lineterminator="\n")


def _joined(paths: Sequence[str]) -> pd.DataFrame:
    return pd.concat(map(pd.read_csv, paths), ignore_index=True)


def by_split(
    splits: pd.DataFrame, method: str, column: str, share: float, factor: float = 1.0
) -> dict[str, Any]:
    """Return a column of a method, split by split; the training parts overlap."""
    rows = splits[splits["method"] == method].sort_values("split")
    return repeated(factor * rows[column], "split", share / (1 - share))


def by_permutation(permuted: pd.DataFrame, selection: str) -> dict[str, Any]:
    """Return the mean accuracy of each method in percent, permutation by permutation."""
    rows = permuted[permuted["selection"] == selection]
    means = 100 * rows.groupby(["method", "permutation"])["accuracy"].mean()
    return {method: repeated(means[method], "permutation") for method in METHODS}


def by_effect(effects: pd.DataFrame) -> dict[str, Any]:
    """Return the accuracies in percent for each effect, repeated over the drawn studies."""
    means = 100 * effects.groupby(["method", "effect", "study"])["accuracy"].mean()
    sizes = sorted(set(effects["effect"]))
    return {
        "sizes": sizes,
        "accuracy": {
            method: [repeated(means[method, effect], "drawn study") for effect in sizes] for method in METHODS
        },
    }


def _region_values(splits: pd.DataFrame, study: Study, share: float) -> dict[str, Any]:
    """Return the share of the voxels selected by the elastic net in the true region, and of all voxels."""
    if not study.region.any():
        return {}
    inside = by_split(splits, "elastic_net", "inside", share)
    return {"selected_inside": inside, "chance": float(study.region.mean())}


def accuracy_summary(splits: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return mean accuracy and standard error of each method, in percent.

    The standard error is the deviation over the square root of the number of splits, as published. It is too
    small, because the splits overlap.
    """
    summary = {}
    for method, rows in splits.groupby("method", sort=False):
        values = 100 * rows["accuracy"]
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        summary[method] = {"mean": float(values.mean()), "standard_error": float(error)}
    return summary


def compare_methods(splits: pd.DataFrame, method: str, other: str, share: float) -> dict[str, float]:
    """Compare two methods on the same splits: mean difference in percent, and p-values of two tests.

    ``share`` is the share of the subjects in the test part, for the corrected t-test.
    """
    wide = splits.pivot(index="split", columns="method", values="accuracy")
    for name in (method, other):
        if name not in wide:
            raise ValueError(f"method {name!r} has no scores: expected one of {', '.join(wide)}")
    return {
        "difference": float(100 * (wide[method] - wide[other]).mean()),
        "better": int((wide[method] > wide[other]).sum()),
        "worse": int((wide[method] < wide[other]).sum()),
        "wilcoxon_p": wilcoxon_test(wide[method], wide[other]).p,
        "corrected_t_p": corrected_t_test(wide[method], wide[other], share).p,
    }


def compare_with_permuted(
    splits: pd.DataFrame, permuted: pd.DataFrame, methods: Sequence[str], count: int
) -> dict[str, dict[str, Any]]:
    """Return mean accuracies with true and with permuted labels in percent, and the p-value.

    All are means over the first ``count`` splits; ``leak`` is the mean with permuted labels and voxels
    selected beforehand by the labels of all subjects.
    """
    first = splits[splits["split"] < count]
    if sorted(set(first["split"])) != sorted(set(permuted["split"])):
        raise ValueError(
            f"permuted labels were scored on splits {sorted(set(permuted['split']))}: "
            f"expected the first {count}"
        )
    comparison = {}
    for method in methods:
        truth = 100 * first[first["method"] == method]["accuracy"].mean()
        rows = permuted[permuted["method"] == method]
        scores = 100 * rows.groupby(["selection", "permutation"])["accuracy"].mean()
        comparison[method] = {
            "accuracy": truth,
            "p": permutation_result(truth, scores["inside"].to_numpy()).p,
            "permuted": float(scores["inside"].mean()),
            "permuted_deviation": float(scores["inside"].std(ddof=0)),
            "leak": float(scores["beforehand"].mean()),
            "leak_deviation": float(scores["beforehand"].std(ddof=0)),
        }
    return comparison


def mean_sizes(splits: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return the mean sizes over splits for each method with an elastic net."""
    means = splits.groupby("method")[list(SIZES)].mean()
    methods = ["elastic_net", *(f"wl_{h}" for h in HEIGHTS), "wl_pyramid", "combined"]
    sizes = {method: means.loc[method].to_dict() for method in methods}
    voxels = splits[splits["method"] == "elastic_net"]["voxels"]
    sizes["elastic_net"] |= {"least_voxels": voxels.min(), "most_voxels": voxels.max()}
    return sizes


def heights_chosen(splits: pd.DataFrame) -> list[int]:
    """Return how often each height was chosen inside the training part."""
    chosen = splits[splits["method"] == "wl_pyramid"]["height"]
    return [int((chosen == h).sum()) for h in HEIGHTS]


def _map_values(maps: GraphMaps, study: Study) -> dict[str, Any]:
    """Return the parameters chosen for the maps, and their overlap with the true region where it is known."""
    values: dict[str, Any] = {
        "voxels": int(np.count_nonzero(maps.selection)),
        "height": maps.height,
        "selected": maps.selected,
        "strengths": maps.strengths,
        "shapes": maps.shapes,
        "accuracies": 100 * maps.accuracies,
    }
    if study.region.any():
        shown = {"selection": maps.selection, "difference": maps.positive - maps.negative}
        values["overlap"] = {name: overlap(weights, study.region) for name, weights in shown.items()}
    return values


def _write_maps(path: str, maps: GraphMaps, study: Study) -> None:
    with Path(path).open("wb") as file:
        np.savez(
            file,
            selection=maps.selection,
            positive=maps.positive,
            negative=maps.negative,
            mask=study.mask,
            affine=study.affine,
        )


if "snakemake" in globals():
    run_stage(main, snakemake)
