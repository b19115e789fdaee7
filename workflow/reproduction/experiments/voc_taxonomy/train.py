"""Train taxonomic SVMs of the VOC classes for one order of the roles (rule train_voc_taxonomies)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ermlab.taxonomy import learn_taxonomy
from reproduction.claims.results import write_json
from reproduction.experiments.taxonomies import Trial, comparable, read_taxonomy, search_C
from reproduction.experiments.voc_taxonomy.protocol import (
    BagsOfImages,
    Roles,
    held_out_area,
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


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    order: int,
    seed: int,
    C: Sequence[float],
    C_limits: Sequence[float],
    tol: float,
) -> None:
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
        best = choose_C(part, B, C, C_limits, tol)
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
            "description": part.description,
            "grid": list(C),
            "trees": {name: tree.to_newick() for name, tree in trees.items()},
            "fits": fits,
            "methods": methods,
            "labels": part.Y_test.astype(int).tolist(),
        },
    )


def choose_C(
    part: Roles, B: NDArray[np.float64], grid: Sequence[float], limits: Sequence[float], tol: float
) -> float:
    """Return the C with the largest area on held-out training images, by a grid that grows.

    With two dozen images, as in tests, there may be no class with two images; then it is the middle of the
    grid.
    """
    if held_out_area(part, B, grid[0], tol) is None:
        return grid[len(grid) // 2]
    best, _ = search_C(lambda C: Trial(C, held_out_area(part, B, C, tol), 0.0, 0, None), grid, limits)
    return best.C


if "snakemake" in globals():
    run_stage(main, snakemake)
