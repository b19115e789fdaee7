"""Taxonomic SVM: time per iteration, chi-squared distances, and training on all newsgroups.

Needs the data set newsgroups20 (`--folder`, see `snakemake data/receipts/newsgroups20.json`). Prints
1. seconds and slope of the cutting-plane iterations in the Kronecker form and with cached kernel values, one
   thread, and the ratio of late iterations;
2. the time of chi-squared distances against scikit-learn's `additive_chi2_kernel`, which is dense;
3. the time and the peak memory of training on all 11,314 posts with 20 classes.
"""

import argparse
import resource
import time
from pathlib import Path

import numpy as np
from cached_kernel import CachedConstraints
from sklearn.metrics.pairwise import additive_chi2_kernel

from ermlab.kernels.sparse_histogram import generalized_gaussian, median_distance, sparse_chi2_distances
from ermlab.taxonomy import TaxonomicSVM
from ermlab.taxonomy.cutting_planes import Constraints
from ermlab.taxonomy.problem import Problem
from reproduction.datasets.newsgroups20 import read_newsgroups20
from reproduction.experiments.taxonomies import read_taxonomy
from reproduction.experiments.text_taxonomy.evaluate import late_ratio, relative_slope
from reproduction.experiments.text_taxonomy.protocol import class_covariances, class_trees, draw_bags
from reproduction.experiments.text_taxonomy.train_times import iteration_times

TAXONOMY = Path(__file__).parents[1] / "config/taxonomies/newsgroups20.nwk"


def compare_forms(K, y, B, C, iterations, cached_iterations):
    """Print the times of both forms, which make the same iterations; the slow cached form makes fewer."""
    problem = Problem.multiclass(K, y, B, C, n_jobs=1)
    small = Problem.multiclass(K[:50, :50], y[:50], B, C, n_jobs=1)
    seconds = {}
    for name, form, count, repeats in (
        ("Kronecker form", Constraints, iterations, 3),
        ("cached kernel values", CachedConstraints, cached_iterations, 1),
    ):
        iteration_times(small, form, 2, 1)  # compiles
        seconds[name] = iteration_times(problem, form, count, repeats)
        print(
            f"{name}: {1e3 * seconds[name][1]:.1f} ms in iteration 2, {1e3 * seconds[name][-1]:.1f} ms in "
            f"iteration {len(seconds[name])}, slope {100 * relative_slope(seconds[name]):.2f} % of the mean",
            flush=True,
        )
    own, peer = seconds.values()
    print(f"late iterations, cached over Kronecker: {late_ratio(peer, own):.0f}")


def compare_distances(X, posts):
    subset = X[:posts]
    dense = subset.toarray()
    sparse_chi2_distances(subset[:20])
    took = []
    for compute in (lambda: sparse_chi2_distances(subset, n_jobs=1), lambda: -additive_chi2_kernel(dense)):
        began = time.perf_counter()
        found = compute()
        took.append(time.perf_counter() - began)
    own, peer = took
    largest = np.abs(found - sparse_chi2_distances(subset)).max()
    print(
        f"chi-squared distances of {posts} posts, one thread: {own:.3f} s, scikit-learn {peer:.2f} s, ratio "
        f"{peer / own:.0f}; largest difference {largest:.1e}",
        flush=True,
    )


def train_on_all(X, y, semantic, C, solvers):
    began = time.perf_counter()
    distances = sparse_chi2_distances(X)
    K = generalized_gaussian(distances, median_distance(distances))
    del distances
    print(f"kernel of {len(y)} posts: {time.perf_counter() - began:.1f} s", flush=True)
    B = class_covariances(class_trees(K, y, semantic, 0))["learned"]
    for solver in solvers:
        began = time.perf_counter()
        model = TaxonomicSVM(B=B, C=C, solver=solver).fit(K, y)
        print(
            f"training on {len(y)} posts, {len(B)} classes, {solver}: {time.perf_counter() - began:.0f} s, "
            f"{model.n_iter_} iterations, relative gap {model.gap_:.1e}, objective {model.objective_:.6g}",
            flush=True,
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory {peak:.1f} GiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="data/raw/newsgroups20")
    parser.add_argument("--posts", type=int, default=2000, help="posts of the comparison of forms [2000]")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--cached-iterations", type=int, default=30)
    parser.add_argument("--chi2-posts", type=int, default=500)
    parser.add_argument("--C", type=float, default=3.0, help="about the value selected by validation [3]")
    parser.add_argument("--solvers", nargs="+", default=["blocks", "planes"])
    options = parser.parse_args()

    data = read_newsgroups20(options.folder)
    semantic = read_taxonomy(TAXONOMY).ordered(data.groups)
    everything = {"train": 1_000_000, "validation": 0, "test": 1}
    X, y = draw_bags(data, everything, 0, 2).part("train")
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    compare_distances(X, options.chi2_posts)
    distances = sparse_chi2_distances(X[: options.posts])
    K, labels = generalized_gaussian(distances, median_distance(distances)), y[: options.posts]
    B = class_covariances(class_trees(K, labels, semantic, 0))["semantic_centred"]
    compare_forms(K, labels, B, options.C, options.iterations, options.cached_iterations)
    train_on_all(X, y, semantic, options.C, options.solvers)


if __name__ == "__main__":
    main()
