"""Invariant ranking SVM: a growing set of virtual samples against passes over all of them.

Two classes of Gaussian samples, each with versions around it. The peer is the same cutting-plane method with
the risk over all virtual samples at every step. Both stop at a relative gap of 1e-3 and run on one thread, in
turns. Prints seconds, passes over all virtual samples, and the ratio of the best times.
"""

import argparse
import time

import numba
import numpy as np

from ermlab.optimize import L2, minimize
from ermlab.risk.invariant_ranking import InvariantRankingRisk, InvariantRankingSVM

GAP = 1e-3


def noisy_versions(n, versions, d, seed):
    """Return (n, versions, d) versions, a tenth of them of positives, and the labels."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 10 == 0, 1, -1)
    centres = rng.normal(size=(n, d)) + 0.15 * y[:, None]
    bags = centres[:, None] + 0.3 * rng.normal(size=(n, versions, d))
    bags[:, 0] = centres
    return (bags / np.sqrt(d)).astype(np.float32), y


def grow(bags, y, C):
    """Return objective and full passes of the estimator."""
    svm = InvariantRankingSVM(C, tol=GAP).fit(bags, y)
    return svm.objective_, svm.n_passes_


def pass_over_all(bags, y, C):
    """Return objective and full passes of plain cutting planes."""
    n, versions, d = bags.shape
    risk = InvariantRankingRisk(bags.reshape(-1, d), np.repeat(np.arange(n), versions), y.astype(float))
    result = minimize(risk, L2(1 / C), tol=GAP)
    return C * result.value, result.calls


def main() -> None:
    """Run both in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=3000)
    parser.add_argument("--versions", type=int, default=18)
    parser.add_argument("--dimension", type=int, default=300)
    parser.add_argument("--C", type=float, default=3000.0)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    numba.set_num_threads(1)
    bags, y = noisy_versions(arguments.samples, arguments.versions, arguments.dimension, seed=0)
    grow(bags[:50], y[:50], 1.0)  # compile
    seconds = {grow: [], pass_over_all: []}
    for _ in range(arguments.repeats):
        for solve, times in seconds.items():
            began = time.perf_counter()
            objective, passes = solve(bags, y, arguments.C)
            times.append(time.perf_counter() - began)
            print(f"{solve.__name__:14} {times[-1]:6.2f} s {passes:5d} passes  objective {objective:.4f}")
    print(f"ratio {min(seconds[pass_over_all]) / min(seconds[grow]):.1f}")


if __name__ == "__main__":
    main()
