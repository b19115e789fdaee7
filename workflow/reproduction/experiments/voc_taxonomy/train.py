"""Taxonomies of the VOC classes and SVMs with them, for one order of roles (rule train_voc_taxonomies)."""

from pathlib import Path

import numpy as np

from ermlab.taxonomy.learning import learn_taxonomy
from ermlab.taxonomy.tree import Taxonomy
from reproduction.claims.results import write_json
from reproduction.experiments.voc_taxonomy.protocol import (
    BagsOfImages,
    comparable,
    held_out_areas,
    roles,
    scores_of_test_images,
    taxonomies_of,
)
from reproduction.pipeline.job import job

#: Methods that fit a tree, by their names in the result files.
FITS = {
    name: name.replace("neighbour", "neighbor")
    for name in ("projection", "neighbour_joining", "average_linkage")
}


def main(
    bags: str, taxonomy: str, result: str, order: int, seed: int, prices: list[float], tol: float
) -> None:
    """Learn the trees, choose the price of each SVM on training images, score the test images."""
    data = BagsOfImages.read(bags)
    names = [str(name) for name in data.classes]
    semantic = Taxonomy.from_newick(Path(taxonomy).read_text(encoding="utf-8")).restricted(names)
    part = roles(data, order)
    trees = taxonomies_of(part, semantic, np.random.default_rng([seed, order]))
    covariances = {name: comparable(tree.covariance()) for name, tree in trees.items()}
    covariances["multiclass"] = comparable(np.eye(len(names)))
    methods = {}
    for name, B in covariances.items():
        areas = held_out_areas(part, B, prices, tol)
        # Two dozen images, as in tests, may not have a class twice.
        best = max(areas, key=areas.get) if areas else prices[len(prices) // 2]
        scores, gap = scores_of_test_images(part, B, best, tol)
        held_out = [{"C": C, "auc": area} for C, area in areas.items()]
        methods[name] = {"C": best, "held_out": held_out, "gap": gap, "scores": scores.tolist()}
    fits = {
        fit: learn_taxonomy(part.K, part.Y.astype(int), names, method).to_newick()
        for fit, method in FITS.items()
    }
    write_json(
        result,
        {
            "order": order,
            "classes": names,
            "train_images": len(part.Y),
            "prices": prices,
            "trees": {name: tree.to_newick() for name, tree in trees.items()},
            "fits": fits,
            "methods": methods,
            "labels": part.Y_test.astype(int).tolist(),
        },
    )


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.bags,
            snakemake.input.taxonomy,
            snakemake.output.result,
            int(snakemake.wildcards.order),
            snakemake.params.seed,
            snakemake.params.prices,
            snakemake.params.tol,
        )
