"""Accuracies and taxonomies of the flowers (rule evaluate_flowers_taxonomy)."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from ermlab.taxonomy.tree import Taxonomy, robinson_foulds, shuffled
from reproduction.claims.results import over_seeds, read_json, write_json, write_results
from reproduction.datasets.flowers17 import CLASSES, Flowers17, read_flowers17
from reproduction.experiments.flowers_taxonomy.protocol import METHODS
from reproduction.pipeline.job import job

#: Side of an example in pixels.
_SIDE = 72


def main(
    receipt: str,
    folder: Path,
    *,
    trials: Sequence[str],
    predictions: Sequence[str],
    trees: Sequence[str],
    timings: Sequence[str],
    seed: int,
    permutations: int,
) -> None:
    """Put the splits together; the files of the training rule come split by split."""
    source = read_json(receipt)
    tried, predicted = (pd.concat(map(pd.read_csv, paths)) for paths in (trials, predictions))
    newick = [read_json(path) for path in trees]
    learned = [Taxonomy.from_newick(some["learned"]) for some in newick]
    semantic = [Taxonomy.from_newick(some["semantic"]) for some in newick]
    chosen = tried[tried["chosen"]]
    ends = tried.groupby(["split", "run"])["C"].agg(["min", "max"])
    places = ends.join(chosen.set_index(["split", "run"])["C"])
    write_results(
        folder,
        {
            "accuracy": {method: over_seeds(_accuracies(predicted, method)) for method in METHODS},
            "validation": {
                method: over_seeds(
                    100 * chosen[chosen["method"] == method].groupby("split")["validation"].mean()
                )
                for method in METHODS
            },
            "topology_distance": over_seeds(
                robinson_foulds(one, other) for one, other in zip(semantic, learned, strict=True)
            ),
            "topology_distance_permuted": over_seeds(
                np.mean(
                    [robinson_foulds(one, tree) for tree in shuffled(other, permutations, [seed, number])]
                )
                for number, (one, other) in enumerate(zip(semantic, learned, strict=True))
            ),
            "topology_distance_splits": float(
                np.mean([robinson_foulds(*pair) for pair in combinations(learned, 2)] or [0.0])
            ),
            "price": {
                method: chosen[chosen["method"] == method].groupby("split")["C"].median().tolist()
                for method in METHODS
            },
            "price_inside": float(((places["min"] < places["C"]) & (places["C"] < places["max"])).mean()),
            "largest_gap": float(chosen["gap"].max()),
            "test_images": int(len(predicted[predicted["run"] == 0]) / len(newick)),
            "splits": len(newick),
        },
        datasets={"flowers17": source["kind"]},
        timings={
            f"{method}_seconds": float(np.mean([read_json(path)[method] for path in timings]))
            for method in METHODS
        },
    )
    tried.to_csv(folder / "prices.csv", index=False, lineterminator="\n")
    _by_class(predicted).to_csv(folder / "classes.csv", index=False, lineterminator="\n")
    write_json(folder / "trees.json", newick)
    with (folder / "examples.npz").open("wb") as file:
        np.savez_compressed(file, examples=_examples(read_flowers17(source["folder"])))


def _accuracies(predicted: pd.DataFrame, method: str) -> pd.Series:
    """Return the accuracy in percent of each split, the mean over the runs of a method."""
    rows = predicted[predicted["method"] == method]
    return 100 * (rows["label"] == rows["predicted"]).groupby(rows["split"]).mean()


def _by_class(predicted: pd.DataFrame) -> pd.DataFrame:
    """Return the share of each class that is recognised, over all splits, for each method."""
    right = (predicted["label"] == predicted["predicted"]).groupby([predicted["method"], predicted["label"]])
    table = right.mean().rename("accuracy").reset_index()
    return table.assign(flower=table["label"].map(dict(enumerate(CLASSES))))


def _examples(data: Flowers17) -> np.ndarray:
    """Return the middle of the first image of each class, small, (classes, side, side, 3)."""
    examples = []
    for label in range(len(CLASSES)):
        image = data.images[int(np.argmax(data.labels == label))]
        height, width = image.shape[:2]
        side = min(height, width)
        top, left = (height - side) // 2, (width - side) // 2
        square = Image.fromarray(image[top : top + side, left : left + side])
        examples.append(np.asarray(square.resize((_SIDE, _SIDE), Image.Resampling.BOX)))
    return np.stack(examples)


if "snakemake" in globals():
    with job(snakemake):
        inputs = dict(snakemake.input.items())
        main(
            inputs.pop("receipt"),
            Path(snakemake.output.values).parent,
            **snakemake.params.arguments,
            **inputs,
        )
