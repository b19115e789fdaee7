"""The command `ermlab taxonomy`: equal to the library, formats, and broken input."""

import builtins

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from ermlab.taxonomy import Taxonomy, learn_taxonomy, robinson_foulds


@pytest.fixture
def folder(workspace):
    return workspace("taxonomy")


def read(path):
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    X = np.array([[float(a), float(b), float(c)] for a, _, b, c in rows])
    return X, np.array([row[1] for row in rows])


def test_the_tree_is_that_of_the_library(folder, summary):
    found = summary("taxonomy", "samples.csv", "tree.nwk", "--label", "species", "--folds", 3)
    X, y = read(folder / "samples.csv")
    X = StandardScaler().fit_transform(X)
    tree = Taxonomy.from_newick((folder / "tree.nwk").read_text())
    library = learn_taxonomy(X @ X.T, y)
    assert robinson_foulds(tree, library) == 0
    np.testing.assert_allclose(tree.ordered(library.names).metric(), library.metric(), atol=1e-9)
    assert frozenset({"cat", "dog"}) in tree.splits() or frozenset({"car", "bus"}) in tree.splits()
    assert found["classes"] == ["bus", "car", "cat", "dog"]
    assert 0.8 < found["accuracy"]["taxonomy"] <= 1
    assert 0.8 < found["accuracy"]["no_taxonomy"] <= 1
    assert (folder / "tree.nwk.png").read_bytes().startswith(b"\x89PNG")


def test_arrays_give_the_same_tree(folder, summary):
    X, y = read(folder / "samples.csv")
    np.savez(folder / "samples.npz", X=X, label=y)
    one = summary("taxonomy", "samples.csv", "a.nwk", "--label", "species")
    other = summary("taxonomy", "samples.npz", "b.nwk", "--picture", "tree.svg")
    assert one["newick"] == other["newick"]
    assert "<svg" in (folder / "tree.svg").read_text()


def test_without_matplotlib_the_tree_is_written(folder, run, refusal, monkeypatch):
    original = builtins.__import__

    def without_matplotlib(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    result = run("taxonomy", "samples.csv", "tree.nwk", "--label", "species")
    assert "Note: no picture without matplotlib: pip install 'ermlab[plot]'" in result.stderr
    assert (folder / "tree.nwk").exists()
    args = ("taxonomy", "samples.csv", "tree2.nwk", "--label", "species", "--picture", "t.png")
    assert "pip install 'ermlab[plot]'" in refusal(*args)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.csv", None, "absent.csv: No such file"),
        ("absent.npz", None, "absent.npz: No such file"),
        ("nolabel.csv", "a,b\n1,2\n", "no column 'label'"),
        ("two.csv", "a,label\n1,x\n2,y\n", "2 classes; expected at least 3"),
        ("nan.csv", "a,label\n1,x\n2,y\nnan,z\n", "row 3, column 'a': nan"),
        ("text.csv", "a,label\n1,x\n2,y\nb,z\n", "could not convert string 'b'"),
        ("bare.csv", "label\nx\ny\nz\n", "bare.csv: no features"),
        ("same.csv", "a,label\n1,x\n1,y\n1,z\n", "expected a kernel that depends on the classes"),
        ("broken.npz", "PK", "broken.npz: "),
    ],
)
def test_broken_data(folder, refusal, name, content, message):
    if content is not None:
        (folder / name).write_text(content)
    assert message in refusal("taxonomy", name, "tree.nwk")
    assert not (folder / "tree.nwk").exists()


def test_wrong_arrays_and_options(folder, run, refusal):
    np.savez(folder / "odd.npz", X=np.zeros((3, 2)), label=np.array(["a", "b"]))
    assert "labels of (2,)" in refusal("taxonomy", "odd.npz", "tree.nwk")
    assert "KeyError" in refusal("taxonomy", "odd.npz", "tree.nwk", "--label", "y")
    run("taxonomy", "samples.csv", "tree.nwk", "--picture", "tree.docx", code=2)
    args = ("taxonomy", "samples.csv", "tree.nwk", "--label", "species", "--folds", 40)
    assert "a class has 15 samples: expected at least 40" in refusal(*args)
