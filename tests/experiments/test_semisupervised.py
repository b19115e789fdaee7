"""The protocol with few labels: what is drawn, how strengths are chosen, and intervals counted by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.kernel_ridge import KernelRidge

from reproduction.experiments import semisupervised
from reproduction.experiments.semisupervised import (
    CONTROLS,
    METHODS,
    PAIRS,
    Task,
    by_labels,
    choose_strengths,
    classify,
    draw_task,
    fit,
    gains,
    measure,
    new_model,
    shuffled_pairs,
)


def clusters(n=120):
    """Two distant clusters, each a class."""
    y = np.arange(n) % 2
    return np.random.default_rng(0).normal(size=(n, 2)) + 12.0 * y[:, None], y


def test_draws_are_disjoint_and_nested():
    X = np.arange(200.0)[:, None]
    y = np.arange(200) % 4
    few, more = (draw_task(X, y, n, 50, 60, np.random.default_rng(1)) for n in (2, 5))
    for task, labels in ((few, 2), (more, 5)):
        assert np.bincount(task.marked[task.labeled]).tolist() == [labels] * 4
        assert np.count_nonzero(task.marked == -1) == 50
        assert len(set(task.X.ravel()) | set(task.X_new.ravel())) == 4 * labels + 50 + 60
        np.testing.assert_array_equal(task.marked[task.labeled], task.X[task.labeled].ravel() % 4)
        np.testing.assert_array_equal(task.y_new, task.X_new.ravel() % 4)
    assert set(few.X[few.labeled].ravel()) < set(more.X[more.labeled].ravel())
    np.testing.assert_array_equal(few.X_new, more.X_new)
    with pytest.raises(ValueError, match="200 samples"):
        draw_task(X, y, 2, 150, 60, np.random.default_rng(1))


def test_ridge_without_laplacian_sees_labeled_samples_only():
    X, y = clusters(60)
    marked = np.where(np.arange(60) < 10, y, -1)
    model = new_model("ridge", 0.1, 0.0, csr_array((60, 60)))
    fit(model, X, marked)
    model.fit_intercept = False
    fit(model, X, marked)
    peer = KernelRidge(alpha=0.1, kernel="rbf", gamma=1 / (2 * X.var())).fit(
        X[:10], 2.0 * np.eye(2)[y[:10]] - 1
    )
    np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=1e-8)
    np.testing.assert_array_equal(classify(model, X), peer.predict(X).argmax(axis=1))


def test_all_methods_learn_distant_clusters():
    X, y = clusters()
    task = draw_task(X, y, 3, 60, 40, np.random.default_rng(0))
    found = {row["method"]: row for row in measure(task, METHODS, 0)}
    assert list(found) == list(METHODS)
    assert all(row["accuracy"] == row["validated"] == 1 for row in found.values())
    # All strengths are equally good: the strongest Laplacian, and the weakest norm.
    assert {found[method]["laplacian_alpha"] for method in ("laplacian_ridge", "laplacian_svm")} == {1000.0}
    assert {found[method]["laplacian_alpha"] for method in ("ridge", "svm")} == {0.0}
    assert {row["alpha"] for row in found.values()} == {1e-3}
    assert [row["method"] for row in measure(task, CONTROLS, 0)] == list(CONTROLS)


def test_strengths_with_more_right_answers_win(monkeypatch):
    """Only alpha = 0.1 with a Laplacian of 10 labels the hidden samples right."""
    y = np.array([0, 1, 0, 1])
    task = Task(y[:, None].astype(float), y, np.zeros((1, 1)), np.zeros(1, dtype=int))
    seen = []

    class Model:
        def __init__(self, good):
            self.good = good

    monkeypatch.setattr(
        semisupervised,
        "new_model",
        lambda method, alpha, strength, L: Model((alpha, strength) == (0.1, 10.0)),
    )
    monkeypatch.setattr(semisupervised, "fit", lambda model, X, marked: seen.append(marked))
    monkeypatch.setattr(semisupervised, "classify", lambda model, X: X[:, 0] if model.good else 1 - X[:, 0])
    assert choose_strengths(task, "laplacian_ridge", None, 0) == (0.1, 10.0, 1.0)
    # Eight pairs of strengths, two folds: a sample of each class is hidden in each.
    assert len(seen) == 16
    assert all(sorted(marked) == [-1, -1, 0, 1] for marked in seen)


def test_gains_are_paired_by_repeat():
    rows = [
        {"repeat": repeat, "labels": 2, "method": method, "accuracy": accuracy}
        for method, values in (
            ("laplacian_ridge", (0.9, 0.8)),
            ("ridge", (0.6, 0.5)),
            ("laplacian_svm", (0.7, 0.7)),
            ("svm", (0.7, 0.7)),
            ("shuffled_ridge", (0.5, 0.4)),
            ("shuffled_svm", (0.6, 0.6)),
        )
        for repeat, accuracy in enumerate(values)
    ]
    table = pd.DataFrame(rows).sample(frac=1, random_state=0)
    found = gains(table, PAIRS)
    assert found["ridge"]["repeats"] == pytest.approx([0.3, 0.3])
    assert found["svm"] == {"repeats": [0, 0], "unit": "repeat"}
    assert gains(table, shuffled_pairs())["ridge"]["repeats"] == pytest.approx([-0.1, -0.1])
    assert by_labels(table)["laplacian_ridge"] == [{"repeats": [0.9, 0.8], "unit": "repeat"}]
