"""The command `ermlab graphs`: equal to the library, formats, and broken input."""

import numpy as np
import pytest

from ermlab.cli.graphs import cross_validate
from ermlab.kernels import PyramidWL, WeisfeilerLehmanKernel, read_tu


@pytest.fixture
def folder(workspace):
    return workspace("graphs")


def test_the_kernels_are_those_of_the_library(folder, summary):
    data = read_tu("MUTAG", "MUTAG")
    found = summary("graphs", "MUTAG", "wl.npz", "--kernel", "subtree", "--height", 2, "--folds", 4)
    pairs = list(zip(data.adjacency, data.joint_labels, strict=True))
    expected = WeisfeilerLehmanKernel(h=2, normalize=True).fit_transform(pairs)
    with np.load("wl.npz") as content:
        np.testing.assert_allclose(content["K"], expected, atol=1e-12)
        np.testing.assert_array_equal(content["labels"], data.labels)
    assert found["accuracy"] == 1  # rings and stars differ
    assert found["largest_class"] == 0.5
    found = summary("graphs", "MUTAG", "pyramid.csv", "--height", 1, "--folds", 0)
    assert found["kernel"] == "pyramid"
    assert found["accuracy"] is None
    X = PyramidWL(h=1, normalize=True).fit_transform(
        list(zip(data.adjacency, data.node_attributes, strict=True))
    )
    np.testing.assert_allclose(np.loadtxt("pyramid.csv", delimiter=","), (X @ X.T).toarray(), atol=1e-12)


def test_accuracy_of_labels_that_are_noise_is_about_chance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    accuracy = cross_validate(X @ X.T, rng.permutation(np.arange(60) % 2), 5, 0)
    assert 0.2 < accuracy.mean() < 0.8


def test_broken_input(folder, run, refusal):
    (folder / "empty").mkdir()
    assert "absent: no such folder" in refusal("graphs", "absent", "k.npz")
    assert "empty: no file NAME_A.txt" in refusal("graphs", "empty", "k.npz")
    assert "No such file" in refusal("graphs", "MUTAG", "k.npz", "--name", "OTHER")
    run("graphs", "MUTAG", "k.txt", code=2)
    run("graphs", "MUTAG", "k.npz", "--folds", 1, code=2)
    assert "expected at least one for each of 50 folds" in refusal("graphs", "MUTAG", "k.npz", "--folds", 50)
    (folder / "MUTAG/MUTAG_node_attributes.txt").unlink()
    assert "no attributes of nodes" in refusal("graphs", "MUTAG", "k.npz", "--kernel", "pyramid")
    with (folder / "MUTAG/MUTAG_A.txt").open("a") as file:
        file.write("1, 999999\n")
    assert "MUTAG_A.txt: an edge to a node that is not there" in refusal("graphs", "MUTAG", "k.npz")
    assert not (folder / "k.npz").exists()
