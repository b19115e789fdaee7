"""Readers of posts, graphs and judged documents on tiny sets made here, whole and broken."""

import shutil

import numpy as np
import pytest

from ermlab.exceptions import DataError
from reproduction.datasets.graphs_tu import read_graphs_tu, read_tu
from reproduction.datasets.mslr_5k import read_letor, read_mslr_5k
from reproduction.datasets.mutag import read_mutag
from reproduction.datasets.newsgroups20 import ancestors, read_newsgroups20


@pytest.fixture
def news(tmp_path):
    for part in ("train", "test"):
        for group in ("sci.med", "rec.autos"):
            folder = tmp_path / f"20news-bydate-{part}" / group
            folder.mkdir(parents=True)
            for number in (9, 10):
                (folder / str(number)).write_bytes(f"{part} {group} {number} \xe9".encode("latin-1"))
    return tmp_path


def test_newsgroups20(news):
    data = read_newsgroups20(news)
    assert data.groups == ("rec.autos", "sci.med")
    assert data.train.texts[1] == "train rec.autos 10 é"
    assert data.test.labels.tolist() == [0, 0, 1, 1]


def test_ancestors():
    assert ancestors("comp.sys.mac") == ("comp", "comp.sys", "comp.sys.mac")
    assert ancestors("misc") == ("misc",)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: shutil.rmtree(f / "20news-bydate-test"), "20news-bydate-test: no such folder"),
        (lambda f: shutil.rmtree(f / "20news-bydate-test/sci.med"), "groups rec.autos; expected those of"),
        (lambda f: [path.unlink() for path in f.glob("*train/sci.med/*")], r"sci\.med: no file"),
        (lambda f: [shutil.rmtree(path) for path in f.glob("*train/*")], "expected one for each newsgroup"),
        (lambda f: (f / "20news-bydate-train/sci.med/11").mkdir(), "11: Is a directory"),
    ],
)
def test_broken_newsgroups20(news, damage, message):
    damage(news)
    with pytest.raises(DataError, match=message):
        read_newsgroups20(news)


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
    (tmp_path / "TINY").mkdir()
    for name, text in GRAPHS.items():
        (tmp_path / f"TINY/TINY_{name}.txt").write_text(text)
    return tmp_path


def test_graphs_tu(graphs):
    data = read_graphs_tu(graphs)["TINY"]
    assert data.labels.tolist() == [1, -1]
    np.testing.assert_array_equal(data.adjacency[0].toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(data.adjacency[1].toarray(), [[0, 1], [1, 0]])
    assert [labels.tolist() for labels in data.node_labels] == [[0, 1, 0], [2, 2]]
    assert data.node_attributes[1].tolist() == [[7, 8], [9, 10]]
    assert data.adjacency[0].indices.tolist() == [1, 0, 2, 1]
    assert data.edge_labels[0].tolist() == [7, 7, 8, 8]
    assert data.edge_labels[1].tolist() == [9, 9]


def test_older_names_and_a_graph_without_edges(graphs):
    folder = graphs / "TINY"
    for name in ("A", "edge_labels", "node_attributes"):
        (folder / f"TINY_{name}.txt").unlink()
    (folder / "TINY_A_sparse.txt").write_text("4,5,1\n5,4,1\n")
    (folder / "TINY_attributes.txt").write_text("1\n2\n3\n4\n5\n")
    data = read_tu(folder, "TINY")
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
        ("A", "1, 2\n1, 2\n", "an edge stands twice"),
        ("A", "1\n", "two nodes a line"),
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
def test_broken_graphs_tu(graphs, name, text, message):
    (graphs / f"TINY/TINY_{name}.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        read_graphs_tu(graphs)


@pytest.mark.parametrize("name", ["A", "graph_indicator", "graph_labels", "node_labels"])
def test_missing_graph_files(graphs, name):
    (graphs / f"TINY/TINY_{name}.txt").unlink()
    with pytest.raises(DataError, match=rf"TINY_{name}.*: no such file|TINY_{name}.*: No such file"):
        read_graphs_tu(graphs)


def test_mutag(graphs):
    for path in (graphs / "TINY").iterdir():
        path.rename(path.with_name(path.name.replace("TINY", "MUTAG")))
    assert len(read_mutag(graphs / "TINY")) == 2
    with pytest.raises(DataError, match=r"MUTAG_graph_indicator\.txt: No such file"):
        read_mutag(graphs)


def test_no_graphs(tmp_path):
    with pytest.raises(DataError, match="expected one for each set of graphs"):
        read_graphs_tu(tmp_path)


@pytest.fixture
def judged(tmp_path):
    for part in ("train", "test"):
        (tmp_path / f"msn1.fold1.{part}.5k.txt").write_text("2 qid:1 1:3 136:-.5\n\n0 qid:16 2:1e3 # why\n")
    return tmp_path


def test_mslr_5k(judged):
    data = read_mslr_5k(judged).test
    assert data.features.shape == (2, 136)
    assert data.features[0, [0, 1, 135]].tolist() == [3, 0, -0.5]
    assert data.features[1, 1] == 1000
    assert data.relevance.tolist() == [2, 0]
    assert data.query.tolist() == [1, 16]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("5 qid:1 1:3", "line 2: .*starts 5 qid:1"),
        ("-1 qid:1 1:3", "line 2"),
        ("1 1:3", "line 2: .*starts 1 1:3"),
        ("1", "line 2"),
        ("1 qid:x 1:3", "line 2"),
        ("1 qid:1 137:3", "a feature out of range"),
        ("1 qid:1 0:3", "a feature out of range"),
        ("1 qid:1 1:3 1:4", "a feature out of range or twice"),
        ("1 qid:1 1:3:4", "line 2"),
        ("1 qid:1 1:nan", "not finite"),
        ("1 qid:1 1:abc", "line 2"),
    ],
)
def test_broken_letor(tmp_path, line, message):
    path = tmp_path / "letor.txt"
    path.write_text(f"1 qid:1 1:3\n{line}\n")
    with pytest.raises(DataError, match=message):
        read_letor(path)


def test_empty_and_missing_letor(judged):
    (judged / "msn1.fold1.test.5k.txt").write_text("")
    with pytest.raises(DataError, match=r"test\.5k\.txt: the file is empty"):
        read_mslr_5k(judged)
    (judged / "msn1.fold1.test.5k.txt").unlink()
    with pytest.raises(DataError, match=r"test\.5k\.txt: No such file"):
        read_mslr_5k(judged)
