"""Train taxonomic SVMs of the VOC classes for one order of the roles (rule train_voc_taxonomies)."""

from collections.abc import Sequence

import numpy as np

from ermlab.taxonomy import learn_taxonomy
from reproduction.claims.results import write_json
from reproduction.experiments.taxonomies import comparable, read_taxonomy
from reproduction.experiments.voc_taxonomy.protocol import (
    BagsOfImages,
    held_out_areas,
    roles,
    scores_of_test_images,
    taxonomies_of,
)
from reproduction.pipeline.job import Paths, run_stage

#: Methods of `learn_taxonomy` by their names in the results.
FITS = {
    "projection": "projection",
    "neighbour_joining": "neighbor_joining",
    "average_linkage": "average_linkage",
}


def main(inputs: Paths, outputs: Paths, *, order: int, seed: int, C: Sequence[float], tol: float) -> None:
    """Learn the trees, select the C of each SVM by cross-validation, and score the test images."""
    data = BagsOfImages.read(inputs["bags"])
    names = [str(name) for name in data.classes]
    semantic = read_taxonomy(inputs["taxonomy"]).restricted(names)
    part = roles(data, order)
    trees = taxonomies_of(part, semantic, np.random.default_rng([seed, order]))
    covariances = {name: comparable(tree.covariance()) for name, tree in trees.items()}
    covariances["multiclass"] = comparable(np.eye(len(names)))
    methods = {}
    for name, B in covariances.items():
        areas = held_out_areas(part, B, C, tol)
        # With two dozen images, as in tests, there may be no class with two images.
        best = max(areas, key=areas.get) if areas else C[len(C) // 2]
        scores, gap = scores_of_test_images(part, B, best, tol)
        methods[name] = {"C": best, "gap": gap, "scores": scores.tolist()}
    fits = {
        name: learn_taxonomy(part.K, part.Y.astype(int), names, fit).to_newick() for name, fit in FITS.items()
    }
    write_json(
        outputs["result"],
        {
            "classes": names,
            "train_images": len(part.Y),
            "grid": list(C),
            "trees": {name: tree.to_newick() for name, tree in trees.items()},
            "fits": fits,
            "methods": methods,
            "labels": part.Y_test.astype(int).tolist(),
        },
    )


if "snakemake" in globals():
    run_stage(main, snakemake)
