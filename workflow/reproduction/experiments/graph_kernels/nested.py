"""Accuracy of kernel machines with every choice made inside the training part."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

#: From the numbers of the training and the test samples to kernels to choose from: for each the matrix of the
#: training samples, and that between test and training samples.
KernelMaker = Callable[[NDArray[np.int64], NDArray[np.int64]], Sequence[tuple[NDArray, NDArray]]]


def nested_svm_accuracy(
    kernels: KernelMaker,
    y: ArrayLike,
    Cs: Sequence[float],
    n_folds: int = 10,
    n_inner_folds: int = 5,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return the accuracy of an SVM in each fold, its kernel and C chosen by cross-validation in the others.

    Of choices that are equally accurate, the first kernel and then the smallest C is taken.
    """
    y = np.asarray(y)
    accuracies = []
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for train, test in folds.split(np.zeros(len(y)), y):
        candidates = kernels(train, test)
        inner = StratifiedKFold(n_inner_folds, shuffle=True, random_state=seed)
        parts = list(inner.split(np.zeros(len(train)), y[train]))
        means = [[_mean_accuracy(K, y[train], C, parts) for C in sorted(Cs)] for K, _ in candidates]
        best, C = np.unravel_index(np.argmax(means), np.shape(means))
        K, K_test = candidates[best]
        model = SVC(kernel="precomputed", C=sorted(Cs)[C]).fit(K, y[train])
        accuracies.append(np.mean(model.predict(K_test) == y[test]))
    return np.array(accuracies)


def _mean_accuracy(K: NDArray, y: NDArray, C: float, parts: Sequence[tuple[NDArray, NDArray]]) -> float:
    scores = []
    for train, test in parts:
        model = SVC(kernel="precomputed", C=C).fit(K[np.ix_(train, train)], y[train])
        scores.append(np.mean(model.predict(K[np.ix_(test, train)]) == y[test]))
    return float(np.mean(scores))
