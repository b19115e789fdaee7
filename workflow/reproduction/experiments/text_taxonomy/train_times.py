"""Compare two forms of the kernel: time per iteration, iterations, memory (rule compare_constraint_times)."""

import runpy
import time
import tracemalloc
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.taxonomy.cutting_planes import Constraints, minimize_with_planes
from ermlab.taxonomy.problem import Problem
from reproduction.claims.results import write_json
from reproduction.experiments.taxonomies import read_taxonomy
from reproduction.experiments.text_taxonomy.protocol import (
    TextBags,
    class_covariances,
    class_trees,
    kernels_of,
)
from reproduction.pipeline.job import Paths, run_stage

#: Relative gap at which iterations are counted, and the number of posts.
COUNTED_GAP, COUNTED_POSTS = 0.01, 100
#: Numbers of posts for which memory is measured.
MEASURED_POSTS = (60, 120, 240)
#: Bytes of a number.
N_BYTES = 8


def main(
    inputs: Paths, outputs: Paths, *, seed: int, posts: int, iterations: int, repeats: int, C: float
) -> None:
    """Run both forms on a random subset of the training posts; they make the same iterations."""
    cached = runpy.run_path(inputs["peer"])["CachedConstraints"]
    bags = TextBags.read(inputs["bags"])
    semantic = read_taxonomy(inputs["taxonomy"]).ordered(bags.groups.tolist())
    K, y = kernels_of(bags, ["train"])["train"], bags.part("train")[1]
    B = class_covariances(class_trees(K, y, semantic, seed))["semantic_centred"]
    order = np.random.default_rng(seed).permutation(len(y))

    def problem_of(n_posts: int) -> Problem:
        subset = order[:n_posts]
        return Problem.multiclass(K[np.ix_(subset, subset)], y[subset], B, C, n_jobs=1)

    problem = problem_of(posts)
    rows = []
    for form, constraints, n_runs in (("kronecker", Constraints, repeats), ("cached", cached, 1)):
        iteration_times(problem, constraints, 2, 1)  # compiles
        for number, seconds in enumerate(iteration_times(problem, constraints, iterations, n_runs), start=1):
            rows.append({"form": form, "iteration": number, "seconds": seconds, "posts": len(order[:posts])})
    pd.DataFrame(rows).to_csv(outputs["times"], index=False, lineterminator="\n")
    counted = problem_of(COUNTED_POSTS)
    write_json(
        outputs["forms"],
        {
            "iterations_to_gap": {
                "kronecker": iterations_to_gap(counted, Constraints),
                "cached": iterations_to_gap(counted, cached),
            },
            "memory": memory_of_forms([problem_of(n) for n in MEASURED_POSTS], iterations),
        },
    )


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


def iterations_to_gap(problem: Problem, constraints: type[Constraints]) -> int:
    """Return the number of iterations until the relative gap is at most `COUNTED_GAP`."""
    return len(minimize_with_planes(problem, COUNTED_GAP, 10_000, constraints=constraints(problem)).seconds)


def memory_of_forms(problems: Sequence[Problem], max_iter: int) -> dict[str, list[float]]:
    """Return the memory that the Kronecker form uses, for problems of increasing size.

    Returns
    -------
    dict
        ``posts``; ``over_order``, the largest memory of the solver, with the kernel matrix, over that of
        n^2 + k^2 + nk numbers; ``over_joint_kernel``, the same over that of the n^2 k^2 values of the joint
        kernel.
    """
    rows: dict[str, list[float]] = {"posts": [], "over_order": [], "over_joint_kernel": []}
    for problem in problems:
        n, k = problem.kernel.shape
        minimize_with_planes(problem, 1e-9, 2)  # compiles
        tracemalloc.start()
        minimize_with_planes(problem, 1e-9, max_iter)
        peak = tracemalloc.get_traced_memory()[1] + N_BYTES * (n * n + k * k)
        tracemalloc.stop()
        rows["posts"].append(n)
        rows["over_order"].append(peak / (N_BYTES * (n * n + k * k + n * k)))
        rows["over_joint_kernel"].append(peak / (N_BYTES * (n * k) ** 2))
    return rows


if "snakemake" in globals():
    run_stage(main, snakemake)
