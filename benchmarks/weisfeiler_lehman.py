"""Subtree patterns of random graphs, and of MUTAG and ENZYMES, against grakel: seconds and kernel matrices.

The kernel matrix is also compared with scipy's sparse product, and graphs of networkx with sparse matrices.

grakel is no dependency of this project: install it beside to run the comparison. Its graph objects are made
before the clock starts; it is given one thread, as we are. Memory is measured in processes of their own.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path

import networkx as nx
import numpy as np
from scipy.sparse import coo_array

from ermlab.kernels.sparse_product import linear_kernel
from ermlab.kernels.weisfeiler_lehman import WeisfeilerLehman, subtree_features
from reproduction.acquire.registry import MIRROR_VARIABLE, acquire, load_registry
from reproduction.datasets.graphs_tu import read_graphs_tu

ROOT = Path(__file__).parents[1]


def random_graphs(n_graphs, n_nodes, degree, n_labels, seed):
    """Return random graphs of so many edges a node, and labels drawn evenly."""
    rng = np.random.default_rng(seed)
    graphs, labels = [], []
    for _ in range(n_graphs):
        ends = rng.integers(0, n_nodes, size=(n_nodes * degree // 2, 2))
        ends = ends[ends[:, 0] != ends[:, 1]]
        ends = np.concatenate([ends, ends[:, ::-1]])
        matrix = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes)).tocsr()
        matrix.sum_duplicates()
        graphs.append(matrix)
        labels.append(rng.integers(0, n_labels, size=n_nodes))
    return graphs, labels


def for_grakel(graphs, labels):
    from grakel import Graph

    made = []
    for matrix, values in zip(graphs, labels, strict=True):
        neighbours = np.split(matrix.indices, matrix.indptr[1:-1])
        edges = {v: dict.fromkeys(some.tolist(), 1.0) for v, some in enumerate(neighbours)}
        made.append(Graph(edges, dict(enumerate(values.tolist()))))
    return made


def compare(name, graphs, labels, h, repeats):
    """Take the seconds of CPU of our features, of these with the kernel matrix, and of grakel, by turns."""
    from grakel import WeisfeilerLehman

    theirs = for_grakel(graphs, labels)
    subtree_features(graphs, labels, h, 1)  # compiled, or loaded from the cache
    runs = {
        "features": lambda: subtree_features(graphs, labels, h, 1),
        "features and kernel": lambda: linear_kernel(subtree_features(graphs, labels, h, 1)),
        "grakel": lambda: WeisfeilerLehman(n_iter=h, normalize=False).fit_transform(theirs),
    }
    seconds, results = {key: [] for key in runs}, {}
    for _ in range(repeats):
        for key, run in runs.items():
            began = time.process_time()
            results[key] = run()
            seconds[key].append(time.process_time() - began)
    same = np.array_equal(results["features and kernel"], results["grakel"])
    medians = {key: statistics.median(values) for key, values in seconds.items()}
    print(f"{name}: " + ", ".join(f"{key} {value:.4f} s" for key, value in medians.items()))
    for key in ("features", "features and kernel"):
        ratio, least = medians["grakel"] / medians[key], min(seconds["grakel"]) / min(seconds[key])
        print(f"  grakel takes {ratio:.1f} times as long as {key} (least times: {least:.1f})")
    print(f"  kernel matrices {'are equal' if same else 'DIFFER'}", flush=True)


def compare_product(options):
    """Take the seconds of CPU of the kernel matrix of many graphs, ours and by scipy, and of its features."""
    graphs, labels = random_graphs(options.many, options.nodes, options.degree, options.labels, options.seed)
    features = subtree_features(graphs, labels, options.height, 1)
    lengths = np.sqrt(features.multiply(features).sum(axis=1))
    normalized = features.multiply(1 / lengths[:, None]).tocsr()
    runs = {
        "features": lambda: subtree_features(graphs, labels, options.height, 1),
        "kernel": lambda: linear_kernel(features, n_jobs=1),
        "scipy": lambda: (features @ features.T).toarray(),
        "normalized kernel": lambda: linear_kernel(normalized, n_jobs=1),
        "scipy, normalized": lambda: (normalized @ normalized.T).toarray(),
    }
    medians, results = by_turns(runs, options.repeats)
    same = all(
        np.array_equal(results[ours], results[theirs])
        for ours, theirs in (("kernel", "scipy"), ("normalized kernel", "scipy, normalized"))
    )
    print(f"{options.many} graphs: " + ", ".join(f"{key} {value:.3f} s" for key, value in medians.items()))
    print(f"  matrices {'are equal' if same else 'DIFFER'}", flush=True)


def compare_networkx(options):
    """Take the seconds of CPU of the features of networkx graphs, and of the same sparse matrices."""
    graphs, labels = random_graphs(
        options.graphs, options.nodes, options.degree, options.labels, options.seed
    )
    samples = [nx.from_scipy_sparse_array(graph) for graph in graphs]
    for sample, values in zip(samples, labels, strict=True):
        nx.set_node_attributes(sample, dict(enumerate(values.tolist())), "label")
    model = WeisfeilerLehman(h=options.height, n_jobs=1)
    runs = {
        "networkx": lambda: model.fit_transform(samples),
        "walk over all neighbors": lambda: [
            list(chain.from_iterable(dict(sample.adjacency()).values())) for sample in samples
        ],
        "sparse matrices": lambda: model.fit_transform(list(zip(graphs, labels, strict=True))),
    }
    medians, _ = by_turns(runs, options.repeats)
    print(f"{options.graphs} graphs: " + ", ".join(f"{key} {value:.3f} s" for key, value in medians.items()))


def by_turns(runs, repeats):
    """Return the median seconds of CPU of several functions, called by turns, and their last results."""
    seconds, results = {key: [] for key in runs}, {}
    for _ in range(repeats):
        for key, run in runs.items():
            began = time.process_time()
            results[key] = run()
            seconds[key].append(time.process_time() - began)
    return {key: statistics.median(values) for key, values in seconds.items()}, results


def peak_memory(options):
    """Print the memory that features take, in bytes for each non-zero, for collections of several sizes."""
    for n_graphs in (50, 100, 200, 400, 800):
        arguments = [sys.executable, __file__, "--peak", str(n_graphs), "--seed", str(options.seed)]
        text = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
        nonzeros, edges, grown = (int(number) for number in text.split())
        print(
            f"{n_graphs} graphs: {nonzeros} non-zeros, {edges} edges, peak {grown / 2**20:.0f} MiB, "
            f"{grown / nonzeros:.0f} bytes a non-zero",
            flush=True,
        )


def measure_peak(n_graphs, options):
    """Print non-zeros, entries of the adjacency matrices and by how much the peak of this process grew."""
    warm = random_graphs(2, 100, 5, 5, options.seed)
    subtree_features(*warm, options.height, 1)
    graphs, labels = random_graphs(n_graphs, options.nodes, options.degree, options.labels, options.seed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    features = subtree_features(graphs, labels, options.height, 1)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(features.nnz, sum(graph.nnz for graph in graphs), 1024 * grown)


def real_sets():
    mirror = os.environ.get(MIRROR_VARIABLE)
    if not mirror:
        print(f"MUTAG and ENZYMES are left out: {MIRROR_VARIABLE} names no folder of archives")
        return {}
    with tempfile.TemporaryDirectory() as folder:
        registry = load_registry(ROOT / "data/registry.yaml")
        acquire("graphs_tu", Path(folder), policy="real", mirror=Path(mirror), registry=registry)
        return read_graphs_tu(Path(folder) / "graphs_tu")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--many", type=int, default=2000, help="graphs for the kernel matrix [2000]")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--degree", type=int, default=5)
    parser.add_argument("--labels", type=int, default=5)
    parser.add_argument("--height", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        measure_peak(options.peak, options)
        return
    compare_product(options)
    compare_networkx(options)
    peak_memory(options)
    try:
        import grakel
    except ImportError:
        print("grakel is not installed: the comparison is left out (pip install grakel==0.1.11)")
        return
    print(f"grakel {grakel.__version__}")
    problem = random_graphs(options.graphs, options.nodes, options.degree, options.labels, options.seed)
    compare(f"{options.graphs} graphs of {options.nodes} nodes", *problem, options.height, options.repeats)
    for name, graphs in real_sets().items():
        compare(name, graphs.adjacency, graphs.node_labels, options.height, options.repeats)


if __name__ == "__main__":
    main()
