"""The ranking oracle (complete graph, slack rescaling, all sorting included) against numpy's argsort.

Losses and scores are random and all different. Also printed: time for each n log2 n, the thesis's recursion
(a plain merge, level by level, one thread), one thread against all, a bipartite graph, and peak memory.
"""

import argparse
import math
import resource

import numba
import numpy as np

from ermlab.ranking import most_violated
from reproduction.experiments.ranking_oracle.algorithms import complete_constraint
from reproduction.experiments.ranking_oracle.cost import best_seconds, random_losses_and_scores


def one_thread(action):
    """Run with one thread."""
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    action()
    numba.set_num_threads(threads)


def compare(n, repeats):
    losses, scores = random_losses_and_scores(n, seed=0)
    actions = {
        "oracle": lambda: most_violated(losses, scores),
        "argsort": lambda: np.argsort(scores, kind="stable"),
        "one thread": lambda: one_thread(lambda: most_violated(losses, scores)),
        "bipartite": lambda: most_violated(losses, scores, graph="bipartite", threshold=0.5),
    }
    if n <= 10**7:
        actions["recursion"] = lambda: complete_constraint(losses, scores)
    seconds = dict(zip(actions, best_seconds(repeats, *actions.values()), strict=True))
    ratios = "  ".join(
        f"{name} {seconds[name] / seconds['argsort']:5.2f}" for name in actions if name != "argsort"
    )
    per = seconds["oracle"] / (n * math.log2(n)) * 1e9
    print(
        f"n = {n:.0e}  {seconds['oracle']:8.3f} s  {per:5.2f} ns per n log2 n; times argsort: {ratios}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=float, nargs="+", default=[1e5, 1e6, 1e7, 5e7])
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    losses, scores = random_losses_and_scores(300_000, seed=1)
    most_violated(losses, scores)  # compile or load the kernels
    complete_constraint(losses[:100], scores[:100])
    for n in map(int, options.samples):
        compare(n, max(1, min(options.repeats, 10**8 // n)))
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory {gigabytes:.2f} GiB, losses and scores included")


if __name__ == "__main__":
    main()
