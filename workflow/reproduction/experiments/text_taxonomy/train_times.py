"""Measure the time per cutting-plane iteration of two forms of the kernel (rule compare_constraint_times)."""

import runpy
import time

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.taxonomy.cutting_planes import Constraints, minimize_with_planes
from ermlab.taxonomy.problem import Problem
from reproduction.experiments.taxonomies import read_taxonomy
from reproduction.experiments.text_taxonomy.protocol import (
    TextBags,
    class_covariances,
    class_trees,
    kernels_of,
)
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths, outputs: Paths, *, seed: int, posts: int, iterations: int, repeats: int, C: float
) -> None:
    """Run both forms on a random subset of the training posts; they make the same iterations."""
    cached = runpy.run_path(inputs["peer"])["CachedConstraints"]
    bags = TextBags.read(inputs["bags"])
    semantic = read_taxonomy(inputs["taxonomy"]).ordered(bags.groups.tolist())
    K, y = kernels_of(bags, ["train"])["train"], bags.part("train")[1]
    B = class_covariances(class_trees(K, y, semantic, seed))["semantic_centred"]
    subset = np.random.default_rng(seed).permutation(len(y))[:posts]
    problem = Problem.multiclass(K[np.ix_(subset, subset)], y[subset], B, C, n_jobs=1)
    rows = []
    for form, constraints, n_runs in (("kronecker", Constraints, repeats), ("cached", cached, 1)):
        iteration_times(problem, constraints, 2, 1)  # compiles
        for number, seconds in enumerate(iteration_times(problem, constraints, iterations, n_runs), start=1):
            rows.append({"form": form, "iteration": number, "seconds": seconds, "posts": len(subset)})
    pd.DataFrame(rows).to_csv(outputs["times"], index=False, lineterminator="\n")


def iteration_times(
    problem: Problem, constraints: type[Constraints], max_iter: int, repeats: int
) -> NDArray[np.float64]:
    """Return the seconds of each iteration, the median over the repeats.

    They are CPU seconds of this thread, on which other work on the machine has the least influence.
    """
    runs = [
        minimize_with_planes(
            problem, 1e-9, max_iter, constraints=constraints(problem), clock=time.thread_time
        ).seconds
        for _ in range(repeats)
    ]
    return np.median(runs, axis=0)


if "snakemake" in globals():
    run_stage(main, snakemake)
