"""The Weisfeiler-Lehman kernel on benchmarks, its time, and its test of isomorphism.

Rule evaluate_weisfeiler_lehman.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from ermlab.kernels import GraphSet, WeisfeilerLehmanKernel, subtree_features
from reproduction.claims.results import read_json, repeated, write_results
from reproduction.datasets.graphs_tu import read_graphs_tu
from reproduction.pipeline.job import Paths, run_stage

#: Heights and penalties of the support vector machine, and folds of the outer and of the inner choice.
HEIGHTS, PENALTIES = range(6), (1.0, 10.0, 100.0)
OUTER, INNER = 10, 3
#: Height at which the patterns of graphs of at most seven nodes no longer become finer.
STABLE = 7
#: Mean degree and number of labels of the random graphs whose patterns are timed.
DEGREE, LABELS = 5, 5
#: Height and size of the graphs where the other is varied.
TIMED_HEIGHT, TIMED_NODES = 3, 100_000


def main(inputs: Paths, outputs: Paths, *, seed: int, repetitions: int, nodes: Sequence[int]) -> None:
    """Write accuracies of the sets that are available, results of the test, and measured seconds.

    Parameters
    ----------
    repetitions : int
        Number of cross-validations, each with other folds.
    nodes : sequence of int
        Sizes of the random graphs, increasing.
    """
    receipt = read_json(inputs["receipt"])
    sets = read_graphs_tu(receipt["folder"]) if receipt["status"] == "available" else {}
    accuracies = {
        name: repeated(
            (100 * cross_validate(graphs, seed + i) for i in range(repetitions)),
            f"{name} cross-validation",
        )
        for name, graphs in sets.items()
    }
    write_results(
        Path(outputs["values"]).parent,
        {
            "accuracy": accuracies,
            "graphs": {name: len(graphs) for name, graphs in sets.items()},
            "isomorphism": compare_small_graphs(seed),
        },
        datasets={"graphs_tu": receipt["kind"]} if sets else {},
        timings=measure_times(nodes, seed),
    )


def cross_validate(graphs: GraphSet, seed: int) -> float:
    """Return the accuracy of a support vector machine with height and penalty chosen in the training part.

    An entry of a kernel matrix depends on two graphs only, so the matrices of all graphs are computed once.
    """
    samples = list(zip(graphs.adjacency, graphs.joint_labels, strict=True))
    kernels = [WeisfeilerLehmanKernel(h=h, normalize=True).fit_transform(samples) for h in HEIGHTS]
    y, right = graphs.labels, 0
    for train, test in StratifiedKFold(OUTER, shuffle=True, random_state=seed).split(y, y):
        folds = StratifiedKFold(INNER, shuffle=True, random_state=seed).split(train, y[train])
        scores = np.zeros((len(kernels), len(PENALTIES)))
        for inner, held_out in folds:
            for i, K in enumerate(kernels):
                for j, C in enumerate(PENALTIES):
                    scores[i, j] += np.sum(
                        _predict(K, y, train[inner], train[held_out], C) == y[train[held_out]]
                    )
        i, j = np.unravel_index(scores.argmax(), scores.shape)
        right += int(np.sum(_predict(kernels[i], y, train, test, PENALTIES[j]) == y[test]))
    return right / len(y)


def _predict(K: NDArray[np.float64], y: NDArray, train: NDArray, test: NDArray, C: float) -> NDArray:
    model = SVC(kernel="precomputed", C=C).fit(K[np.ix_(train, train)], y[train])
    return model.predict(K[np.ix_(test, train)])


def compare_small_graphs(seed: int) -> dict[str, Any]:
    """Apply the test of isomorphism to all graphs of one to seven nodes, no two of which are isomorphic.

    Returns
    -------
    dict
        ``graphs``, ``pairs``: numbers of graphs and of pairs; ``same_after_renumbering``: share of the graphs
        with the same patterns after their nodes have been renumbered at random; ``not_separated``: number of
        pairs with the same patterns.
    """
    rng = np.random.default_rng(seed)
    graphs = [nx.to_scipy_sparse_array(graph, dtype=np.int64) for graph in nx.graph_atlas_g()[1:]]
    orders = [rng.permutation(graph.shape[0]) for graph in graphs]
    renumbered = [graph[order][:, order] for graph, order in zip(graphs, orders, strict=True)]
    everything = graphs + renumbered
    features = subtree_features(everything, [np.zeros(graph.shape[0], int) for graph in everything], STABLE)
    rows = [_key(features[[i]]) for i in range(len(everything))]
    first, second = rows[: len(graphs)], rows[len(graphs) :]
    counts = pd.Series(first).value_counts().to_numpy()
    return {
        "graphs": len(graphs),
        "pairs": len(graphs) * (len(graphs) - 1) // 2,
        "same_after_renumbering": float(np.mean([a == b for a, b in zip(first, second, strict=True)])),
        "not_separated": int((counts * (counts - 1) // 2).sum()),
    }


def _key(row: Any) -> bytes:
    order = np.argsort(row.indices)
    return row.indices[order].tobytes() + row.data[order].tobytes()


def measure_times(nodes: Sequence[int], seed: int) -> dict[str, Any]:
    """Return seconds of the processor against edges and against heights, and the fitted exponents.

    The time of height 0, which only counts labels, is subtracted before the exponent of the height is fitted.
    """
    heights = [0, 1, 2, 4, 8]
    by_size = [(_random_graph(n, seed), TIMED_HEIGHT) for n in nodes]
    by_height = [(_random_graph(TIMED_NODES, seed), h) for h in heights]
    _seconds(*by_size[0])  # compiles
    edges = [len(graph) for (graph, _), _ in by_size]
    seconds, height_seconds = ([_seconds(*case) for case in cases] for cases in (by_size, by_height))
    above = np.maximum(np.subtract(height_seconds[1:], height_seconds[0]), 1e-9)
    return {
        "edges": edges,
        "seconds_by_edges": seconds,
        "heights": heights,
        "seconds_by_height": height_seconds,
        "exponent_edges": float(np.polyfit(np.log(edges), np.log(seconds), 1)[0]),
        "exponent_height": float(np.polyfit(np.log(heights[1:]), np.log(above), 1)[0]),
    }


def _random_graph(n: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return edges and labels of a random graph, of the mean degree `DEGREE`."""
    rng = np.random.default_rng([seed, n])
    edges = rng.integers(0, n, (DEGREE * n // 2, 2))
    return edges[edges[:, 0] != edges[:, 1]], rng.integers(0, LABELS, n)


def _seconds(graph: tuple[NDArray, NDArray], h: int) -> float:
    """Return the least of five times of the processor."""
    times = []
    for _ in range(5):
        start = time.process_time()
        subtree_features([graph[0]], [graph[1]], h, n_jobs=1)
        times.append(time.process_time() - start)
    return min(times)


if "snakemake" in globals():
    run_stage(main, snakemake)
