"""Loss-augmented maximization over classes and the subgradient, for all samples in one pass."""

import numpy as np
from numba import njit


@njit(cache=True)
def most_violated(scores, y, loss, slack):
    """Return the most violated class of each sample and its violation, or the true class and 0.

    ``scores`` has one row per class and one column per sample.
    """
    n_classes, n = scores.shape
    own = np.empty(n)
    for i in range(n):
        own[i] = scores[y[i], i]
    classes, violations = y.copy(), np.zeros(n)
    for k in range(n_classes):
        for i in range(n):
            delta = loss[y[i], k]
            margin = scores[k, i] - own[i]
            violation = delta * (1.0 + margin) if slack else delta + margin
            if violation > violations[i]:
                classes[i], violations[i] = k, violation
    return classes, violations


@njit(cache=True)
def add_scaled(total, weight, x):
    """Add ``weight * x`` to ``total``, as a loop over plain vectors, which the compiler vectorizes."""
    for j in range(x.size):
        total[j] += weight * x[j]


@njit(cache=True)
def risk_and_subgradient(X, y, scores, loss, slack):
    """Return the mean violation and its subgradient, one row per class."""
    n, d = X.shape
    classes, violations = most_violated(scores, y, loss, slack)
    value = 0.0
    subgradient = np.zeros((scores.shape[0], d))
    for i in range(n):
        if classes[i] == y[i]:
            continue
        value += violations[i]
        weight = loss[y[i], classes[i]] if slack else 1.0
        add_scaled(subgradient[classes[i]], weight, X[i])
        add_scaled(subgradient[y[i]], -weight, X[i])
    return value / n, subgradient / n
