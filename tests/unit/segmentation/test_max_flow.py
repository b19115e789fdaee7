from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from ermlab.segmentation import grid_edges, max_flow
from ermlab.segmentation._flow_graph import FlowGraph, GridGraph, flow_graph


def random_network(rng, n_nodes, n_edges, draw):
    """Return terminals of some nodes, edges that may be parallel, and capacities drawn by ``draw``."""
    i = rng.integers(0, n_nodes, n_edges)
    j = (i + rng.integers(1, n_nodes, n_edges)) % n_nodes
    source, sink = (draw(n_nodes) * (rng.random(n_nodes) < 0.5) for _ in range(2))
    return source, sink, np.column_stack([i, j]), draw(n_edges), draw(n_edges)


def scipy_value(source, sink, edges, forward, backward):
    n = len(source)
    i, j = edges.T
    nodes = np.arange(n)
    rows = np.concatenate([np.full(n, n), nodes, i, j])
    columns = np.concatenate([nodes, np.full(n, n + 1), j, i])
    values = np.concatenate([source, sink, forward, backward]).astype(np.int32)
    return maximum_flow(csr_array((values, (rows, columns)), shape=(n + 2, n + 2)), n, n + 1).flow_value


def require_optimal(network, found, rel=1e-12):
    """Raise unless flow is feasible and as large as the capacity of the cut."""
    source, sink, edges, forward, backward = network
    # Sums of capacities are rounded relative to the largest of them.
    error = rel * len(edges) * np.concatenate([source, sink, forward, backward]).max()
    assert (found.edge_flow <= forward).all()
    assert (found.edge_flow >= -backward).all()
    out = np.zeros(len(source))
    np.add.at(out, edges[:, 0], found.edge_flow)
    np.subtract.at(out, edges[:, 1], found.edge_flow)
    # What leaves a node more than enters it comes from the source, and the opposite goes to the sink.
    direct = np.minimum(source, sink)
    assert (np.maximum(out, 0) <= source - direct + error).all()
    assert (np.maximum(-out, 0) <= sink - direct + error).all()
    assert direct.sum() + np.maximum(out, 0).sum() == pytest.approx(found.value, rel=1e-12, abs=error)


@pytest.mark.parametrize("seed", range(30))
def test_value_of_scipy_on_whole_numbers(seed):
    rng = np.random.default_rng(seed)
    most = int(rng.choice([1, 3, 1000]))
    size = int(rng.integers(2, 60)), int(rng.integers(1, 300))
    network = random_network(rng, *size, lambda n: rng.integers(0, most + 1, n).astype(float))
    found = max_flow(*network)
    assert found.value == scipy_value(*network)
    require_optimal(network, found)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("power", [0, 20, 150])
def test_flow_and_cut_of_any_size_prove_each_other(seed, power):
    rng = np.random.default_rng(seed)
    network = random_network(
        rng, 40, 160, lambda n: rng.random(n) * 10.0 ** rng.uniform(-power, power, n) * (rng.random(n) < 0.9)
    )
    require_optimal(network, max_flow(*network))


def exact_value(source, sink, edges, forward, backward):
    """Find augmenting paths in rational numbers."""
    n = len(source)
    residual = defaultdict(Fraction)
    for v in range(n):
        residual[n, v] += Fraction(source[v])
        residual[v, n + 1] += Fraction(sink[v])
    for (i, j), ahead, back in zip(edges.tolist(), forward, backward, strict=True):
        residual[i, j] += Fraction(ahead)
        residual[j, i] += Fraction(back)
    value = Fraction(0)
    while True:
        parent, queue = {n: None}, [n]
        for v in queue:
            for w in range(n + 2):
                if w not in parent and residual[v, w] > 0:
                    parent[w] = v
                    queue.append(w)
        if n + 1 not in parent:
            return value
        path, w = [], n + 1
        while parent[w] is not None:
            path.append((parent[w], w))
            w = parent[w]
        amount = min(residual[arc] for arc in path)
        for v, w in path:
            residual[v, w] -= amount
            residual[w, v] += amount
        value += amount


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("power", [1, 8, 150])
def test_cut_against_rational_arithmetic(seed, power):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 8, 24, lambda n: rng.random(n) * 10.0 ** rng.uniform(-power, power, n))
    exact = float(exact_value(*network))
    assert max_flow(*network).value == pytest.approx(exact, rel=1e-12, abs=0)


@pytest.mark.parametrize("shape", [(1, 200), (30, 40)])
@pytest.mark.parametrize("most", [1, 100])
def test_grids_against_scipy(shape, most):
    rng = np.random.default_rng(most)
    nodes = np.arange(np.prod(shape)).reshape(shape)
    edges = np.concatenate(
        [
            np.column_stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()]),
            np.column_stack([nodes[:-1].ravel(), nodes[1:].ravel()]),
        ]
    )
    source, sink = rng.integers(0, 3 * most + 1, (2, nodes.size)).astype(float)
    forward, backward = rng.integers(0, most + 1, (2, len(edges))).astype(float)
    network = source, sink, edges, forward, backward
    found = max_flow(*network)
    assert found.value == scipy_value(*network)
    require_optimal(network, found)


def test_smallest_numbers_flow():
    tiny = 5e-324
    found = max_flow([1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [[0, 1], [1, 2]], [tiny, 3 * tiny])
    assert found.value == tiny
    np.testing.assert_array_equal(found.source_side, [True, False, False])


def test_long_path_with_the_bottleneck_at_its_end():
    n = 100_000
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    source, sink = np.zeros(n), np.zeros(n)
    source[0], sink[-1] = 7.0, 3.0
    found = max_flow(source, sink, edges, np.full(n - 1, 5.0))
    assert found.value == 3.0
    assert (found.edge_flow == 3.0).all()


def test_no_nodes_no_edges_and_zero_capacities():
    assert max_flow([], [], [], []).value == 0.0
    assert max_flow([2.0, 1.0], [1.0, 4.0], [], []).value == 2.0
    assert max_flow(np.zeros(3), np.zeros(3), [[0, 1]], [0.0]).value == 0.0


def test_result_is_the_same_in_each_run():
    network = random_network(np.random.default_rng(5), 300, 2000, np.random.default_rng(6).random)
    first, second = max_flow(*network), max_flow(*network)
    np.testing.assert_array_equal(first.edge_flow, second.edge_flow)
    np.testing.assert_array_equal(first.source_side, second.source_side)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": [1.0, -1.0]}, "source is -1.0 at 1"),
        ({"sink": [1.0, np.nan]}, r"sink is nan at \(1,\)"),
        ({"sink": [1.0]}, r"sink has shape \(1,\): expected \(2,\)"),
        ({"forward": [np.inf]}, "forward is inf"),
        ({"backward": [1.0, 1.0]}, "backward has shape"),
        ({"edges": [[0, 2]]}, "edge 0 joins nodes 0 and 2"),
        ({"source": [[1.0, 2.0]]}, "source has shape"),
    ],
)
def test_bad_networks_are_refused(change, message):
    network = {"source": [1.0, 0.0], "sink": [0.0, 1.0], "edges": [[0, 1]], "forward": [1.0], **change}
    with pytest.raises(ValueError, match=message):
        max_flow(**network)


def test_too_many_nodes_are_refused():
    with pytest.raises(ValueError, match="expected at most 2147483647 nodes"):
        FlowGraph(np.zeros((0, 2), dtype=np.int64), 2**31)


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (2, 2), (5, 9), (9, 5), (23, 17)])
def test_grids_are_the_graphs_of_their_edges(shape, connectivity):
    rng = np.random.default_rng(0)
    edges = grid_edges(shape, connectivity)
    n = shape[0] * shape[1]
    grid = flow_graph(edges, n)
    assert isinstance(grid, GridGraph) == (len(edges) > 0)
    source, sink = rng.random((2, n))
    forward, backward = rng.random((2, len(edges)))
    network = source, sink, edges, forward, backward
    require_optimal(network, max_flow(*network))
    order = rng.permutation(len(edges))
    shuffled = max_flow(source, sink, edges[order], forward[order], backward[order])
    assert max_flow(*network).value == pytest.approx(shuffled.value, rel=1e-12)
    terminal = source - sink
    np.testing.assert_array_equal(
        grid.cut(terminal, forward, backward), FlowGraph(edges, n).cut(terminal, forward, backward)
    )


def test_edges_that_are_not_all_of_a_grid_are_a_graph():
    edges = grid_edges((4, 6))
    assert type(flow_graph(edges[:, ::-1].copy(), 24)) is FlowGraph
    assert type(flow_graph(edges[:-1], 24)) is FlowGraph
    assert type(flow_graph(edges[::-1].copy(), 24)) is FlowGraph
