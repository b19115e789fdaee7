"""Samples of queries from SVMlight files and tables."""

import numpy as np
import pytest
from scipy.sparse import issparse

from ermlab.exceptions import DataError
from ermlab.ranking import read_ranking

LINES = "2 qid:7 1:0.5 3:1 # best\n0 qid:7 2:1\n1 qid:8 1:1\n"


def test_svmlight_files(tmp_path):
    (tmp_path / "data.txt").write_text(LINES)
    read = read_ranking(tmp_path / "data.txt")
    assert issparse(read.X)
    assert read.X.toarray().tolist() == [[0.5, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert read.relevance.tolist() == [2, 0, 1]
    assert read.queries.tolist() == [7, 7, 8]
    assert read.names is None
    assert read_ranking(tmp_path / "data.txt", n_features=5).X.shape == (3, 5)
    some = read.take(np.array([2, 0]))
    assert some.relevance.tolist() == [1, 2]
    assert some.queries.tolist() == [8, 7]
    with pytest.raises(DataError, match="features from 1 to 2"):
        read_ranking(tmp_path / "data.txt", n_features=2)


def test_tables(tmp_path):
    (tmp_path / "data.csv").write_text("x,grade,q,y\n1,2,a,3\n4,5,b,6\n")
    read = read_ranking(tmp_path / "data.csv", relevance="grade", query="q")
    assert read.names == ["x", "y"]
    assert read.X.tolist() == [[1, 3], [4, 6]]
    assert read.relevance.tolist() == [2, 5]
    assert read.queries.tolist() == ["a", "b"]
    read = read_ranking(tmp_path / "data.csv", features=["y", "x"])
    assert read.X.tolist() == [[3, 1], [6, 4]]
    assert read.relevance is None
    assert read.queries is None
    assert read.take(np.array([1])).relevance is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "data.txt: "),
        ("1 qid:1 x:2\n", "data.txt: "),
        ("1 qid:1 1:1\n0 1:2\n", "data.txt: "),
        ("1 qid:1 0:1\n", "Invalid index 0"),
        ("nan qid:1 1:1\n", "the relevance of sample 1 is nan"),
        ("0 qid:1 1:1\n1 qid:1 1:1 2:inf\n", "feature 2 of sample 2 is inf"),
    ],
)
def test_broken_files(tmp_path, text, message):
    (tmp_path / "data.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        read_ranking(tmp_path / "data.txt")
