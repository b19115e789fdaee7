"""The evaluation of the Weisfeiler-Lehman kernel: accuracies, the test of isomorphism, and times."""

import json
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from ermlab.kernels import GraphSet
from reproduction.claims.results import read_results
from reproduction.experiments.weisfeiler_lehman.evaluate import compare_small_graphs, cross_validate, main


def graph_set(separable):
    """Rings and stars of six nodes, labeled by their kind or at random."""
    graphs = [nx.cycle_graph(6), nx.star_graph(5)] * 20
    rng = np.random.default_rng(0)
    labels = np.tile([0, 1], 20) if separable else rng.permutation(np.tile([0, 1], 20))
    adjacency = tuple(csr_array(nx.to_scipy_sparse_array(graph, dtype=np.int64)) for graph in graphs)
    return GraphSet("toy", labels, adjacency, tuple(np.zeros(6, int) for _ in graphs), None, None)


def test_graphs_that_differ_are_classified_and_random_labels_are_not():
    assert cross_validate(graph_set(separable=True), 0) == 1
    assert cross_validate(graph_set(separable=False), 0) < 0.8


def refined(graph):
    """Colors of the nodes by refinement with nested tuples, until they are stable."""
    colors = dict.fromkeys(graph, ())
    for _ in range(len(graph)):
        colors = {v: (colors[v], tuple(sorted(map(hash, (colors[u] for u in graph[v]))))) for v in graph}
    return sorted(map(hash, colors.values()))


def test_pairs_that_refinement_cannot_separate():
    found = compare_small_graphs(0)
    assert found["graphs"] == 1252
    assert found["pairs"] == 1252 * 1251 // 2
    assert found["same_after_renumbering"] == 1
    graphs = nx.graph_atlas_g()[1:]
    alike = {}
    for graph in graphs:
        alike.setdefault(tuple(refined(graph)), []).append(graph)
    pairs = sum(len(list(combinations(group, 2))) for group in alike.values())
    assert found["not_separated"] == pairs > 0
    # The smallest of these pairs is a ring of six nodes and two triangles.
    ring, triangles = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    assert refined(ring) == refined(triangles)


@pytest.mark.parametrize("status", ["available", "unavailable"])
def test_results_with_and_without_data(tmp_path, monkeypatch, status):
    monkeypatch.setattr(
        "reproduction.experiments.weisfeiler_lehman.evaluate.read_graphs_tu",
        lambda folder: {"toy": graph_set(separable=True)},
    )
    receipt = tmp_path / "receipt.json"
    receipt.write_text(json.dumps({"status": status, "folder": "raw", "kind": "real"}))
    outputs = {"values": tmp_path / "weisfeiler_lehman" / "values.json"}
    main({"receipt": receipt}, outputs, seed=0, repetitions=2, nodes=[100, 200])
    found = read_results(tmp_path / "weisfeiler_lehman")
    if status == "available":
        assert found["values"]["accuracy"]["toy"]["repeats"] == [100, 100]
        assert found["values"]["graphs"] == {"toy": 40}
        assert found["datasets"] == {"graphs_tu": "real"}
    else:
        assert (found["values"]["accuracy"], found["datasets"]) == ({}, {})
    assert len(found["timings"]["edges"]) == len(found["timings"]["seconds_by_edges"]) == 2
    assert found["timings"]["edges"][1] > 1.8 * found["timings"]["edges"][0]
