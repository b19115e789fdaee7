"""The command `ermlab rank`: equal to the library, for each format, and with broken input."""

import builtins
import csv

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import StandardScaler

from ermlab.metrics import ndcg
from ermlab.ranking import RankingSVM


@pytest.fixture
def folder(workspace):
    return workspace("rank")


def test_training_and_prediction_equal_the_library(folder, run, summary):
    learned = summary("rank", "train", "train.txt", "model.ranker", "--C", 10)
    X, y, queries = load_svmlight_file("train.txt", query_id=True)
    scaler = StandardScaler(with_mean=False)
    library = RankingSVM(C=10.0).fit(scaler.fit_transform(X), relevance=y, groups=queries)
    assert learned["samples"] == 120
    assert learned["C"] == 10
    assert learned["held_out_ndcg@10"] is None
    np.testing.assert_allclose(learned["gap"], library.gap_)
    X_test, y_test, queries_test = load_svmlight_file("test.txt", query_id=True)
    expected = library.decision_function(scaler.transform(X_test))
    run("rank", "predict", "model.ranker", "test.txt", "scores.csv")
    with (folder / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    np.testing.assert_allclose([float(row["score"]) for row in rows], expected, rtol=1e-9)
    assert [int(row["row"]) for row in rows] == list(range(1, 121))
    for query in np.unique(queries_test):
        here = [row for row in rows if row["query"] == str(query)]
        ordered = sorted(here, key=lambda row: int(row["rank"]))
        assert [int(row["rank"]) for row in ordered] == list(range(1, 16))
        assert sorted((float(row["score"]) for row in here), reverse=True) == [
            float(row["score"]) for row in ordered
        ]
    found = summary("rank", "evaluate", "model.ranker", "test.txt", "-k", 5)
    assert found["ndcg@5"] == pytest.approx(ndcg(y_test, expected, queries_test, 5))
    losses = (y_test.max() - y_test) / np.ptp(y_test)
    pairs = wrong = 0.0
    for i in range(120):
        for j in range(i):
            if queries_test[i] == queries_test[j]:
                pairs += 1
                if (losses[i] - losses[j]) * (expected[i] - expected[j]) > 0:
                    wrong += abs(losses[i] - losses[j])
    assert found["pairwise_risk"] == pytest.approx(wrong / pairs)
    assert found["queries"] == 8


def test_tables_and_svmlight_files_give_the_same_model(folder, run, summary):
    run("rank", "train", "train.txt", "a.ranker", "--C", 1)
    run("rank", "train", "train.csv", "b.ranker", "--C", 1, "--query", "query")
    one, other = RankingSVM.load("a.ranker"), RankingSVM.load("b.ranker")
    np.testing.assert_allclose(one.coef_, other.coef_)
    assert other.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    # The order of the columns does not matter, and the relevance is not needed to predict.
    lines = [line.split(",") for line in (folder / "test.csv").read_text().splitlines()]
    (folder / "mixed.csv").write_text(
        "\n".join(",".join([d, c, query, b, a]) for _, query, a, b, c, d in lines)
    )
    run("rank", "predict", "b.ranker", "mixed.csv", "mixed_scores.csv", "--query", "query")
    run("rank", "predict", "a.ranker", "test.txt", "scores.csv")
    scores = [
        np.loadtxt(name, delimiter=",", skiprows=1, usecols=2) for name in ("mixed_scores.csv", "scores.csv")
    ]
    np.testing.assert_allclose(*scores)


def test_C_is_chosen_on_held_out_queries(folder, summary):
    learned = summary("rank", "train", "train.txt", "model.ranker")
    assert learned["C"] in (0.1, 1.0, 10.0, 100.0, 1000.0)
    assert 0.8 < learned["held_out_ndcg@10"] <= 1


def test_without_query_ids_all_samples_are_one_query(folder, summary):
    fields = [line.split() for line in (folder / "train.txt").read_text().splitlines()]
    (folder / "plain.txt").write_text("\n".join(" ".join([line[0], *line[2:]]) for line in fields))
    assert summary("rank", "train", "plain.txt", "model.ranker")["queries"] == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.txt", None, "absent.txt: No such file or directory; expected lines"),
        ("absent.csv", None, "absent.csv: No such file or directory"),
        ("empty.txt", "", "empty.txt: "),
        ("empty.csv", "", "empty.csv: the file is empty; expected a line of column names"),
        ("head.csv", "relevance,qid,a\n", "head.csv: no rows below the names"),
        ("words.txt", "good qid:1 1:2\n", "words.txt: "),
        ("zero.txt", "1 qid:1 0:2 1:3\n0 qid:1 1:2\n", "Invalid index 0 in SVMlight"),
        ("nan.txt", "1 qid:1 1:nan\n0 qid:1 1:2\n", "feature 1 of sample 1 is nan"),
        ("inf.txt", "inf qid:1 1:1\n0 qid:1 1:2\n", "the relevance of sample 1 is inf"),
        (
            "nan.csv",
            "relevance,qid,a\n1,1,nan\n0,1,2\n",
            "nan.csv, row 1, column 'a': nan; expected a finite",
        ),
        ("words.csv", "relevance,qid,a\n1,1,x\n0,1,2\n", "could not convert string 'x'"),
        ("short.csv", "relevance,qid,a\n1,1\n0,1,2\n", "short.csv: "),
        ("twice.csv", "relevance,a,a\n1,1,2\n", "twice.csv: the column 'a' twice"),
        ("bare.csv", "relevance,qid\n1,1\n", "no column of features"),
        ("unjudged.csv", "qid,a\n1,1\n", "unjudged.csv: no column 'relevance'"),
        ("constant.csv", "relevance,qid,a\n1,1,2\n1,1,3\n", ""),
        ("binary.txt", "\x00\x01\x02", "binary.txt: "),
    ],
)
def test_broken_data(folder, refusal, name, content, message):
    if content is not None:
        (folder / name).write_text(content)
    assert message in refusal("rank", "train", name, "model.ranker")
    assert not (folder / "model.ranker").exists()


def test_wrong_models_and_data(folder, run, refusal):
    run("rank", "train", "train.txt", "model.ranker", "--C", 1)
    (folder / "broken.ranker").write_bytes((folder / "model.ranker").read_bytes()[:-50])
    (folder / "wide.txt").write_text("1 qid:1 1:1 9:1\n")
    (folder / "narrow.csv").write_text("relevance,qid,a\n1,1,2\n")
    assert "broken.ranker: " in refusal("rank", "predict", "broken.ranker", "test.txt", "s.csv")
    assert "absent: No such file" in refusal("rank", "evaluate", "absent", "test.txt")
    assert "with features from 1 to 4" in refusal("rank", "evaluate", "model.ranker", "wide.txt")
    assert "1 features; expected 4" in refusal("rank", "evaluate", "model.ranker", "narrow.csv")
    run("rank", "train", "train.csv", "named.ranker", "--query", "query", "--C", 1)
    assert "no column 'b'" in refusal("rank", "predict", "named.ranker", "narrow.csv", "s.csv")
    RankingSVM().save("empty.ranker")
    assert "a model without weights" in refusal("rank", "evaluate", "empty.ranker", "test.txt")
    assert "C is -1.0" in refusal("rank", "train", "train.txt", "new.ranker", "--C", -1)
    assert not list(folder.glob("s.csv"))


def test_outputs_are_checked_before_the_work(folder, refusal, run, monkeypatch):
    def work(*_, **__):
        raise AssertionError("the work has begun")

    monkeypatch.setattr("ermlab.ranking.query_files.load_svmlight_file", work)
    (folder / "kept.ranker").write_text("precious")
    (folder / "file").write_text("")
    for model, message in (
        ("kept.ranker", "kept.ranker: the file exists; expected a new one, or --force to replace it"),
        (".", "expected the name of a file"),
        ("images/x/model.ranker", "images/x: no such folder; expected one to write model.ranker to"),
        ("file/model.ranker", "file: no such folder"),
        ("/proc/model.ranker", "/proc: "),
    ):
        assert message in refusal("rank", "train", "train.txt", model)
    assert (folder / "kept.ranker").read_text() == "precious"
    monkeypatch.undo()


def test_force_replaces(folder, run):
    (folder / "model.ranker").write_text("old")
    run("rank", "train", folder / "train.txt", folder / "model.ranker", "--C", 1, "--force")
    assert RankingSVM.load(folder / "model.ranker").n_features_in_ == 4


def test_parquet_without_pandas_is_explained(folder, refusal, monkeypatch):
    (folder / "data.parquet").write_bytes(b"PAR1")
    original = builtins.__import__

    def without_pandas(name, *args, **kwargs):
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    assert "Parquet needs pandas and pyarrow" in refusal("rank", "train", "data.parquet", "model.ranker")


def test_a_parquet_table(folder, summary, refusal, monkeypatch):
    import pandas as pd

    frame = pd.read_csv(folder / "train.csv")
    (folder / "train.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr(pd, "read_parquet", lambda path: frame)
    assert (
        summary("rank", "train", "train.parquet", "p.ranker", "--query", "query", "--C", 1)["features"] == 4
    )

    def no_engine(path):
        raise ImportError("Unable to find a usable engine")

    monkeypatch.setattr(pd, "read_parquet", no_engine)
    assert "pip install pyarrow" in refusal("rank", "train", "train.parquet", "q.ranker")
