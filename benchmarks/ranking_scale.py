"""Training a ranking SVM on very many samples: passes, gap, seconds and peak memory.

Gaussian features, losses in [0, 1] that fall with a planted linear score plus noise of the same size; all
pairs of samples are to be ranked. The features are made a chunk at a time, the same in every run, and lie in
a memory-mapped file (``--memory`` keeps them in memory). Peak memory is that of the whole process, which
counts the pages of the mapped file that are in use.
"""

import argparse
import math
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from ermlab.ranking import RankingSVM
from reproduction.experiments.ranking_oracle.evaluate import fill_planted_problem


def train(X, losses, C, rescaling, tol):
    began = time.perf_counter()
    model = RankingSVM(C=C, rescaling=rescaling, tol=tol).fit(X, losses)
    seconds = time.perf_counter() - began
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{rescaling:6}  C {C:8g}  {model.n_iter_:3} passes  gap {model.gap_:.1e}  {seconds:7.1f} s  "
        f"peak so far {gigabytes:.2f} GiB",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=7)
    parser.add_argument("--C", type=float, nargs="+", default=[1e-1, 1e1, 1e3, 1e5])
    parser.add_argument("--rescaling", nargs="+", default=["slack", "margin"], choices=["slack", "margin"])
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--type", default="float64", choices=["float64", "float32"])
    parser.add_argument("--memory", action="store_true", help="no file: the features lie in memory")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    n, shape = options.samples, (options.samples, options.features)
    with tempfile.TemporaryDirectory() as folder:
        if options.memory:
            X = np.empty(shape, dtype=options.type)
        else:
            X = np.memmap(Path(folder) / "features", dtype=options.type, mode="w+", shape=shape)
        losses = np.empty(n)
        fill_planted_problem(X, losses, options.seed)
        RankingSVM().fit(X[:1000], losses[:1000])  # compile or load the kernels
        began = time.perf_counter()
        np.argsort(losses, kind="stable")
        seconds = time.perf_counter() - began
        print(f"n = {n}, n log2 n = {n * math.log2(n):.2e}; np.argsort of the losses takes {seconds:.1f} s")
        for rescaling in options.rescaling:
            for C in options.C:
                train(X, losses, C, rescaling, options.tol)


if __name__ == "__main__":
    main()
