"""Time per cutting-plane iteration, two forms of the kernel (rule compare_constraint_times)."""

import runpy
from pathlib import Path

import numpy as np
import pandas as pd

from ermlab.taxonomy.cutting_planes import Constraints
from ermlab.taxonomy.problem import Problem
from ermlab.taxonomy.tree import Taxonomy
from reproduction.claims.results import read_json
from reproduction.datasets.newsgroups20 import read_groups
from reproduction.experiments.text_taxonomy.protocol import (
    TextBags,
    class_covariances,
    class_trees,
    kernels_of,
)
from reproduction.experiments.text_taxonomy.timing import iteration_times
from reproduction.pipeline.job import job


def main(
    bags: str,
    receipt: str,
    taxonomy: str,
    peer: str,
    times: str,
    *,
    seed: int,
    posts: int,
    iterations: int,
    repeats: int,
    C: float,
) -> None:
    """Run both forms on some of the training posts; they make the same iterations."""
    cached = runpy.run_path(peer)["CachedConstraints"]
    data = TextBags.read(bags)
    groups = read_groups(read_json(receipt)["folder"])
    semantic = Taxonomy.from_newick(Path(taxonomy).read_text(encoding="utf-8")).ordered(groups)
    K, y = kernels_of(data, ["train"])["train"], data.part("train")[1]
    B = class_covariances(class_trees(K, y, semantic, seed))["semantic_centred"]
    some = np.random.default_rng(seed).permutation(len(y))[:posts]
    problem = Problem.multiclass(K[np.ix_(some, some)], y[some], B, C, n_threads=1)
    rows = []
    for form, constraints, count in (("kronecker", Constraints, repeats), ("cached", cached, 1)):
        iteration_times(problem, constraints, 2, 1)  # compiles
        for number, seconds in enumerate(iteration_times(problem, constraints, iterations, count), start=1):
            rows.append({"form": form, "iteration": number, "seconds": seconds, "posts": len(some)})
    pd.DataFrame(rows).to_csv(times, index=False, lineterminator="\n")


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.bags,
            snakemake.input.receipt,
            snakemake.input.taxonomy,
            snakemake.input.peer,
            snakemake.output.times,
            **snakemake.params.arguments,
        )
