"""ROC curves and distances of the taxonomies of the VOC classes (rule evaluate_voc_taxonomy)."""

from pathlib import Path

import numpy as np
import pandas as pd

from ermlab.taxonomy.tree import Taxonomy
from reproduction.claims.results import over_seeds, read_json, write_results
from reproduction.experiments.voc_taxonomy.measures import mean_roc_curve, topology_distances
from reproduction.experiments.voc_taxonomy.protocol import areas_under_roc
from reproduction.pipeline.job import job


def main(folder: str | Path, receipt: str, runs: list[str], seed: int, permutations: int) -> None:
    """Average over the orders of the roles."""
    folder, results = Path(folder), [read_json(run) for run in runs]
    classes, methods = results[0]["classes"], list(results[0]["methods"])
    labels = [np.array(result["labels"], dtype=bool) for result in results]
    scores = {name: [np.array(result["methods"][name]["scores"]) for result in results] for name in methods}
    areas = {
        name: np.array([areas_under_roc(Y, S) for Y, S in zip(labels, scores[name], strict=True)])
        for name in methods
    }
    rng = np.random.default_rng(seed)
    semantic = [Taxonomy.from_newick(result["trees"]["semantic"]) for result in results]
    distances = {}
    for fit in results[0]["fits"]:
        learned = [Taxonomy.from_newick(result["fits"][fit]) for result in results]
        pairs = [topology_distances(*pair, permutations, rng) for pair in zip(semantic, learned, strict=True)]
        distances[fit] = {
            "distance": np.mean([distance for distance, _ in pairs]),
            "permuted": np.mean([shuffled.mean() for _, shuffled in pairs]),
            "permuted_as_close": np.mean([(null <= one).mean() for one, null in pairs]),
        }
    write_results(
        folder,
        {
            "classes": classes,
            "orders": len(results),
            "train_images": [result["train_images"] for result in results],
            "auc": {name: area.mean(axis=0) for name, area in areas.items()},
            "mean_auc": {name: over_seeds(area.mean(axis=1)) for name, area in areas.items()},
            "topology_distance": distances["projection"]["distance"],
            "topology_distance_permuted": distances["projection"]["permuted"],
            "topology_by_fit": distances,
            "C": {name: [result["methods"][name]["C"] for result in results] for name in methods},
            "prices": results[0]["prices"],
            "largest_gap": max(result["methods"][name]["gap"] for result in results for name in methods),
            "trees": results[0]["trees"],
        },
        datasets={"voc2007_sample": read_json(receipt)["kind"]},
    )
    _areas_table(areas, classes).to_csv(folder / "areas.csv", index=False, lineterminator="\n")
    _curves_table(labels, scores, classes).to_csv(folder / "curves.csv", index=False, lineterminator="\n")


def _areas_table(areas: dict[str, np.ndarray], classes: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {"method": name, "order": order, "class": label, "auc": value}
        for name, area in areas.items()
        for order, row in enumerate(area)
        for label, value in zip(classes, row, strict=True)
    )


def _curves_table(
    labels: list[np.ndarray], scores: dict[str, list[np.ndarray]], classes: list[str]
) -> pd.DataFrame:
    parts = []
    for name, some in scores.items():
        curves = [
            mean_roc_curve([Y[:, c] for Y in labels], [S[:, c] for S in some]) for c in range(len(classes))
        ]
        mean = pd.concat(curves).groupby("false_positives", as_index=False).mean()
        for label, curve in zip([*classes, "all classes"], [*curves, mean], strict=True):
            parts.append(curve.assign(**{"method": name, "class": label}))
    return pd.concat(parts)[["method", "class", "false_positives", "true_positives"]]


if "snakemake" in globals():
    with job(snakemake):
        main(
            Path(snakemake.output.values).parent,
            snakemake.input.receipt,
            snakemake.input.runs,
            snakemake.params.seed,
            snakemake.params.permutations,
        )
