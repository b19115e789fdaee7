"""Reader of graph classification sets in the TU Dortmund format, on a tiny set, whole and broken."""

import numpy as np
import pytest

from ermlab.exceptions import DataError
from ermlab.kernels import WeisfeilerLehman, read_tu

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


def test_every_column_of_the_labels(graphs):
    (graphs / "TINY_node_labels.txt").write_text("0, 5\n1, 5\n0, 6\n2, 5\n0, 5\n")
    (graphs / "TINY_edge_labels.txt").write_text("7, 1\n7, 2\n8, 1\n8, 2\n9, 1\n9, 2\n")
    data = read_tu(str(graphs), "TINY")
    assert [labels.tolist() for labels in data.node_labels] == [[[0, 5], [1, 5], [0, 6]], [[2, 5], [0, 5]]]
    assert data.edge_labels[1].tolist() == [[9, 1], [9, 2]]
    first, second = data.joint_labels
    assert len({*first.tolist(), int(second[0])}) == 4
    assert second[1] == first[0]
    WeisfeilerLehman(1).fit(list(zip(data.adjacency, data.joint_labels, strict=True)))


@pytest.mark.parametrize("attributes", [True, False])
def test_sets_without_node_labels(graphs, attributes):
    (graphs / "TINY_node_labels.txt").unlink()
    if not attributes:
        (graphs / "TINY_node_attributes.txt").unlink()
    data = read_tu(graphs, "TINY")
    assert data.node_labels is None
    assert (data.node_attributes is not None) == attributes
    assert [labels.tolist() for labels in data.joint_labels] == [[0, 0, 0], [0, 0]]


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


@pytest.mark.parametrize("name", ["A", "graph_indicator", "graph_labels"])
def test_missing_files(graphs, name):
    (graphs / f"TINY_{name}.txt").unlink()
    with pytest.raises(DataError, match=rf"TINY_{name}.*: no such file|TINY_{name}.*: No such file"):
        read_tu(graphs, "TINY")
