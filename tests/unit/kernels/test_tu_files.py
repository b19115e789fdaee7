"""Reader of graph classification sets in the TU Dortmund format, on a tiny set, whole and broken."""

import numpy as np
import pytest

from ermlab.exceptions import DataError
from ermlab.kernels import read_tu

# A path of three nodes (with labelled edges) and a pair, node attributes of two numbers.
GRAPHS = {
    "A": "2, 1\n1, 2\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "0\n1\n0\n2\n2\n",
    "edge_labels": "7\n7\n8\n8\n9\n9\n",
    "node_attributes": "1, 2\n3, 4\n5, 6\n7, 8\n9, 10\n",
}


@pytest.fixture
def graphs(tmp_path):
    for name, text in GRAPHS.items():
        (tmp_path / f"TINY_{name}.txt").write_text(text)
    return tmp_path


def test_every_part_of_a_set(graphs):
    data = read_tu(graphs, "TINY")
    assert data.labels.tolist() == [1, -1]
    np.testing.assert_array_equal(data.adjacency[0].toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(data.adjacency[1].toarray(), [[0, 1], [1, 0]])
    assert [labels.tolist() for labels in data.node_labels] == [[0, 1, 0], [2, 2]]
    assert data.node_attributes[1].tolist() == [[7, 8], [9, 10]]
    assert data.adjacency[0].indices.tolist() == [1, 0, 2, 1]
    assert data.edge_labels[0].tolist() == [7, 7, 8, 8]
    assert data.edge_labels[1].tolist() == [9, 9]


def test_older_names_and_a_graph_without_edges(graphs):
    for name in ("A", "edge_labels", "node_attributes"):
        (graphs / f"TINY_{name}.txt").unlink()
    (graphs / "TINY_A_sparse.txt").write_text("4,5,1\n5,4,1\n")
    (graphs / "TINY_attributes.txt").write_text("1\n2\n3\n4\n5\n")
    data = read_tu(graphs, "TINY")
    assert data.edge_labels is None
    assert data.adjacency[0].nnz == 0
    assert data.adjacency[0].shape == (3, 3)
    assert data.adjacency[1].nnz == 2
    assert data.node_attributes[0].shape == (3, 1)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("A", "1, 2\n2, 6\n", "a node that is not there"),
        ("A", "0, 2\n", "a node that is not there"),
        ("A", "1, 4\n", "an edge between two graphs"),
        ("A", "1, 2\n1, 2\n", "an edge occurs twice"),
        ("A", "1\n", "two nodes per line"),
        ("A", "1, 2\n2, x\n", "line 2: '2, x'"),
        ("A", "", "the file is empty"),
        ("graph_indicator", "1\n2\n1\n2\n2\n", "wrong graph numbers; expected 1 to 2 in order"),
        ("graph_indicator", "1\n1\n1\n3\n3\n", "wrong graph numbers"),
        ("node_labels", "0\n1\n", "2 rows; expected 5"),
        ("edge_labels", "0\n", "1 rows; expected 6"),
        ("node_attributes", "1\n2\n3\n4\nnan\n", "not finite"),
        ("node_attributes", "1\n2\n3\n4\n5, 6\n", "equally many finite float values"),
    ],
)
def test_broken_files(graphs, name, text, message):
    (graphs / f"TINY_{name}.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        read_tu(graphs, "TINY")


@pytest.mark.parametrize("name", ["A", "graph_indicator", "graph_labels", "node_labels"])
def test_missing_files(graphs, name):
    (graphs / f"TINY_{name}.txt").unlink()
    with pytest.raises(DataError, match=rf"TINY_{name}.*: no such file|TINY_{name}.*: No such file"):
        read_tu(graphs, "TINY")
