"""Compare classifiers of cells and fields on the test snakes (rule evaluate_snakes)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.claims.results import read_json, repeated, write_results
from reproduction.experiments.snake_fields.train import CLASSIFIERS, FIELDS
from reproduction.pipeline.job import Paths, run_stage

MODELS = (*CLASSIFIERS, *FIELDS)
TITLES = {
    "window_3": "linear SVM, 3 x 3 window",
    "window_7": "linear SVM, 7 x 7 window",
    "forest_7": "random forest, 7 x 7 window",
    "directions": "field, edges know their direction",
    "colors": "field, edges also know colors",
    "shuffled": "control: numbers shuffled in training",
}


def main(inputs: Paths, outputs: Paths) -> None:
    """Count right cells, snakes and images; the files are listed model by model."""
    found = {model: _read(path) for model, path in zip(MODELS, inputs["labels"], strict=True)}
    table = pd.concat(
        [
            image_table(model, arrays["found"], arrays["test_labels"], arrays["test_shapes"])
            for model, arrays in found.items()
        ]
    )
    write_results(
        Path(outputs["values"]).parent,
        {
            **accuracy_values(table),
            **certificate_values(found),
            "test_images": len(found["colors"]["test_shapes"]),
        },
        datasets={"snakes": read_json(inputs["receipt"])["kind"]},
    )
    table.to_csv(outputs["images"], index=False, lineterminator="\n")
    np.savez_compressed(
        outputs["labels"],
        **{f"found_{model}": arrays["found"] for model, arrays in found.items()},
        **{name: found["colors"][f"test_{name}"] for name in ("labels", "shapes", "colors")},
    )


def _read(path: str) -> dict[str, np.ndarray]:
    with np.load(path) as arrays:
        return dict(arrays)


def image_table(model: str, labels: np.ndarray, truth: np.ndarray, shapes: np.ndarray) -> pd.DataFrame:
    """Return for each image the number of cells, of cells of the snake, and how many of both are right."""
    image = np.repeat(np.arange(len(shapes)), shapes.prod(axis=1))
    right, snake = labels == truth, truth > 0
    count = len(shapes)
    return pd.DataFrame(
        {
            "model": model,
            "image": np.arange(count),
            "cells": np.bincount(image, minlength=count),
            "right": np.bincount(image[right], minlength=count),
            "snake_cells": np.bincount(image[snake], minlength=count),
            "snake_right": np.bincount(image[snake & right], minlength=count),
        }
    )


def accuracy_values(table: pd.DataFrame) -> dict[str, Any]:
    """Return the accuracies of all models, and the gain of the field over the best classifier of cells.

    All snakes have the same length, so that means over images are shares of cells.
    """
    sums = table.drop(columns="image").groupby("model", sort=False).sum()
    cells, snakes = sums["right"] / sums["cells"], sums["snake_right"] / sums["snake_cells"]
    whole = (table["right"] == table["cells"]).groupby(table["model"]).apply(np.array)
    shares = (table["snake_right"] / table["snake_cells"]).groupby(table["model"]).apply(np.array)
    best = max(CLASSIFIERS, key=lambda model: snakes[model])
    real = [model for model in MODELS if model != "shuffled"]
    return {
        "cell_accuracy": cells[real].to_dict(),
        "documented_accuracy": cells[["directions", "colors"]].to_dict(),
        "snake_accuracy": snakes[real].to_dict(),
        "whole_images": {model: repeated(whole[model], "image") for model in real},
        "snake_gain": repeated(shares["colors"] - shares[best], "image"),
        "best_classifier": best,
        "shuffled_accuracy": repeated(shares["shuffled"], "image"),
    }


def certificate_values(found: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, Any]:
    """Return how many labelings of each field are proven optimal, and how far from it others may be."""
    proven = {model: found[model]["bounds"] <= found[model]["scores"] for model in FIELDS}
    excess = {model: found[model]["bounds"] - found[model]["scores"] for model in FIELDS}
    return {
        "certified_share": float(proven["colors"].mean()),
        "certified_shares": {model: float(share.mean()) for model, share in proven.items()},
        "bound_excess_max": {model: float(values.max()) for model, values in excess.items()},
        "training_gap": {model: float(found[model]["gap"]) for model in FIELDS},
        "training_iterations": {model: int(found[model]["iterations"]) for model in FIELDS},
    }


def means_of(results: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return the means of repeated results."""
    return {name: float(np.mean(result["repeats"])) for name, result in results.items()}


def accuracy_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the accuracies of all models but the control."""
    names = {
        "cell_accuracy": "all cells",
        "snake_accuracy": "cells of snakes",
        "whole_images": "whole images",
    }
    # Files of results are sorted by name.
    order = [model for model in MODELS if model in values["cell_accuracy"]]
    columns = {**values, "whole_images": means_of(values["whole_images"])}
    table = pd.DataFrame({title: columns[name] for name, title in names.items()}).loc[order]
    return table.rename(index=TITLES).rename_axis("model").reset_index()


if "snakemake" in globals():
    run_stage(main, snakemake)
