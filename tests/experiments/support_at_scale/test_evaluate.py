"""Training on many pairs: joint features, hyperplanes and results of a small run."""

import numpy as np
import pandas as pd
import pytest
from figure_fixtures import drawn

from reproduction.claims.results import read_results
from reproduction.experiments.support_at_scale import evaluate
from reproduction.experiments.support_at_scale.evaluate import (
    N_CLASSES,
    N_WORDS,
    PairsOfClasses,
    compare_hyperplanes,
    draw_pairs,
    main,
)
from reproduction.experiments.support_at_scale.figures import plot_training_times


def test_the_kernel_of_pairs_is_0_for_different_classes():
    pairs = PairsOfClasses(np.array([[0.6, 0.8], [1.0, 0.0], [0.6, 0.8]]), np.array([3, 3, 1]))
    features = pairs.features()
    assert features.shape == (3, 2 * N_CLASSES)
    np.testing.assert_allclose((features @ features.T).toarray(), [[1, 0.6, 0], [0.6, 1, 0], [0, 0, 1]])


def test_accuracy_counts_the_best_classes():
    pairs = PairsOfClasses(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2, 2]))
    v = np.zeros((N_CLASSES, 2))
    v[2, 0], v[5, 1] = 1.0, 1.0
    assert pairs.accuracy(v.ravel()) == 0.5


def test_pairs_are_histograms_that_the_seed_determines():
    pairs, again, other = draw_pairs(50, 1), draw_pairs(50, 1), draw_pairs(50, 2)
    np.testing.assert_array_equal(pairs.histograms, again.histograms)
    assert not np.array_equal(pairs.histograms, other.histograms)
    assert pairs.histograms.shape == (50, N_WORDS)
    assert pairs.histograms.min() >= 0
    np.testing.assert_allclose(np.linalg.norm(pairs.histograms, axis=1), 1)


def test_both_hyperplanes_agree_and_a_wrong_nu_is_noticed(monkeypatch):
    pairs = draw_pairs(80, 0)
    differences, nus = compare_hyperplanes(pairs)
    assert max(differences) < 1e-4
    assert nus == sorted(nus, reverse=True)
    right = evaluate.one_class_weights
    monkeypatch.setattr(evaluate, "one_class_weights", lambda K, nu, tol: right(K, nu / 2, tol))
    assert max(compare_hyperplanes(pairs)[0]) > 1e-3


def test_results_of_a_small_run(tmp_path, monkeypatch):
    monkeypatch.setattr(evaluate, "LIBSVM_SIZES", (50, 100))
    outputs = {"values": str(tmp_path / "values.json")}
    main({}, outputs, seed=0, sizes=[200, 400])
    results = read_results(tmp_path)
    values = results["values"]
    assert values["sizes"] == [200, 400]
    assert values["largest"] == {"pairs": 400, "gap": values["gaps"][1]}
    assert max(values["gaps"]) <= 1e-3
    assert min(values["accuracy"]) > 0.8
    assert [len(results["timings"][name]) for name in ("seconds", "libsvm_seconds")] == [2, 2]


def test_the_figure_draws_both_solvers():
    times = pd.DataFrame(
        {"solver": ["two_class"] * 2 + ["libsvm"], "pairs": [100, 1000, 100], "seconds": [1.0, 10.0, 3.0]}
    )
    ax = plot_training_times(times).axes[0]
    assert drawn(ax, "one-class SVM, libSVM")[1].tolist() == [3]
    assert drawn(ax, "proportional to the pairs")[1].tolist() == pytest.approx([1, 10])
