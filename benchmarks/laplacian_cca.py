"""Laplacian KCCA of two wide views: a fit, and a choice among 10 x 10 parameters, against the Gram products.

Both views hold the same few latent series under noise. The peer is the least that any kernel method needs:
the two products ``X @ X.T``. Model selection is 5-fold, over 10 values of eps for both views and 10 of gamma
for X, and ends with a fit to all; fitting anew for each value and fold would take 501 fits. All run on one
thread, in CPU seconds. Prints one row per run and ratios of medians.
"""

import argparse
import statistics
import time

import numpy as np
from threadpoolctl import threadpool_limits

from ermlab.cca.laplacian_kcca import LaplacianKCCA
from ermlab.cca.selection import LaplacianKCCACV


def two_views(n, d, seed):
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, 3))
    return tuple(latent @ rng.normal(size=(3, d)) + 3 * rng.normal(size=(n, d)) for _ in range(2))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=350)
    parser.add_argument("--columns", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    X, Y = two_views(options.samples, options.columns, options.seed)
    runs = {
        "Gram products": lambda: (X @ X.T, Y @ Y.T),
        "LaplacianKCCA": lambda: LaplacianKCCA().fit(X, Y),
        "LaplacianKCCACV": lambda: LaplacianKCCACV().fit(X, Y),
    }
    seconds = {name: [] for name in runs}
    with threadpool_limits(1):
        for _ in range(options.repeats):
            for name, run in runs.items():
                began = time.process_time()
                run()
                seconds[name].append(time.process_time() - began)
                print(f"{name:16} {seconds[name][-1]:7.3f} s", flush=True)
    peer = seconds["Gram products"]
    for name in ("LaplacianKCCA", "LaplacianKCCACV"):
        ratio, least = (
            statistics.median(seconds[name]) / statistics.median(peer),
            min(seconds[name]) / min(peer),
        )
        print(f"{name} takes {ratio:.2f} times as long as the Gram products (least times: {least:.2f})")


if __name__ == "__main__":
    main()
