"""Readers of posts, graphs and judged documents on tiny sets made here, whole and broken."""

import shutil

import pytest

from ermlab.exceptions import DataError
from reproduction.datasets.graphs_tu import read_graphs_tu
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


@pytest.fixture
def graphs(tmp_path):
    (tmp_path / "TINY").mkdir()
    for name, text in {
        "A": "1, 2\n2, 1\n",
        "graph_indicator": "1\n1\n2\n",
        "graph_labels": "1\n-1\n",
        "node_labels": "0\n1\n0\n",
    }.items():
        (tmp_path / f"TINY/TINY_{name}.txt").write_text(text)
    return tmp_path


def test_graphs_tu(graphs):
    data = read_graphs_tu(graphs)
    assert list(data) == ["TINY"]
    assert data["TINY"].labels.tolist() == [1, -1]


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
        ("1 qid:1 1:3 1:4", "a feature out of range or duplicate"),
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
