"""Nested choice: it finds the kernel that tells, and never looks at the test part."""

import numpy as np
import pytest

from reproduction.experiments.graph_kernels.nested import nested_svm_accuracy


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    return rng, y, rng.normal(size=(60, 5)) + 3 * np.eye(3, 5)[y]


def of_features(*features):
    def kernels(train, test):
        return [(X[train] @ X[train].T, X[test] @ X[train].T) for X in features]

    return kernels


def test_the_kernel_that_tells_is_chosen(data):
    rng, y, X = data
    noise = rng.normal(size=(60, 5))
    alone = nested_svm_accuracy(of_features(X), y, [1.0], n_folds=5)
    assert alone.shape == (5,)
    assert alone.mean() > 0.85
    assert np.array_equal(nested_svm_accuracy(of_features(noise, X), y, [1.0], n_folds=5), alone)


def test_each_sample_is_tested_once_and_never_trained_on(data):
    _, y, X = data
    seen = []

    def kernels(train, test):
        seen.append(test)
        assert not np.intersect1d(train, test).size
        assert np.union1d(train, test).size == len(y)
        return of_features(X)(train, test)

    nested_svm_accuracy(kernels, y, [0.1, 1.0], n_folds=4)
    assert np.array_equal(np.sort(np.concatenate(seen)), np.arange(60))


def test_labels_that_mean_nothing_give_chance(data):
    rng, y, X = data
    means = [
        nested_svm_accuracy(of_features(X, X**2), rng.permutation(y), [0.1, 10], n_folds=5, seed=i).mean()
        for i in range(6)
    ]
    assert abs(np.mean(means) - 1 / 3) < 0.1  # 360 predictions: four standard errors
