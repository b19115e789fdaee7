"""Accuracies, tests and controls of section 4.3 (rule evaluate_graph_kernels).

`main` writes the results; the other public functions summarize scores, and turn results into the tables of
the notebook.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.metrics.resampling import corrected_t_test, permutation_result, wilcoxon_test
from reproduction.claims.results import read_json, write_results
from reproduction.experiments.fmri_studies.maps import overlap, voxel_table
from reproduction.experiments.fmri_studies.studies import GROUP_STUDIES, GROUP_TITLES, Study
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
    write_results(
        Path(outputs["values"]).parent,
        {
            "accuracy_by_height": [main_study["methods"][f"wl_{h}"]["mean"] for h in HEIGHTS],
            "accuracy": {method: main_study["methods"][method]["mean"] for method in METHODS},
            "wilcoxon_p": difference["wilcoxon_p"],
            "corrected_t_p": difference["corrected_t_p"],
            "counts": {name: main_study["sizes"][f"wl_{PUBLISHED_HEIGHT}"][name] for name in SIZES},
            "studies": results,
        },
        datasets={name: read_json(inputs[f"receipt_{name}"])["kind"] for name in GROUP_STUDIES},
    )
    for kind, by_dataset in tables.items():
        labeled = pd.concat([table.assign(dataset=name) for name, table in by_dataset.items()])
        labeled.to_csv(outputs[kind], index=False, lineterminator="\n")


def _joined(paths: Sequence[str]) -> pd.DataFrame:
    return pd.concat(map(pd.read_csv, paths), ignore_index=True)


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


if "snakemake" in globals():
    run_stage(main, snakemake)
