"""Calls of the risk to a relative gap of 1e-3: the level method against textbook cutting planes.

Counts do not depend on the machine. Prints one row per problem with the ratio of the calls.
"""

import numpy as np

from ermlab.optimize import L1, L2, minimize
from ermlab.structured.multiclass import MultiClassTask
from ermlab.structured.risk import StructuredRisk

MAX_CALLS = 2000


def hinge(rng, n, d):
    X = rng.normal(size=(n, d)) * np.exp(rng.normal(size=d))
    y = np.sign(X @ rng.normal(size=d) + 0.1 * np.sqrt(d) * rng.normal(size=n))

    def risk(w):
        margins = 1 - y * (X @ w)
        active = margins > 0
        return margins[active].sum() / n, -(y * active) @ X / n

    return risk, np.zeros(d)


def pairwise_ranking(rng, n, d):
    """Slack-rescaled ranking over all pairs, each pair weighted by the difference of the losses."""
    X = rng.normal(size=(n, d))
    losses = np.maximum(0, np.round(2 * (X @ rng.normal(size=d) + rng.normal(size=n)))) / 5
    weights = np.maximum(losses[None, :] - losses[:, None], 0)
    pairs = (weights > 0).sum()

    def risk(w):
        scores = X @ w
        violations = 1 - (scores[:, None] - scores[None, :])
        active = (violations > 0) * weights
        return (violations * active).sum() / pairs, -((active.sum(axis=1) - active.sum(axis=0)) @ X) / pairs

    return risk, np.zeros(d)


def multi_class(rng, n, d, n_classes):
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    y = np.argmax(X @ rng.normal(size=(n_classes, d)).T, axis=1)
    return StructuredRisk(MultiClassTask(n_classes, d), X, y), np.zeros(n_classes * d)


def main():
    rng = np.random.default_rng(0)
    classes, svm, ranking = (
        multi_class(rng, 2000, 500, 20),
        hinge(rng, 5000, 50),
        pairwise_ranking(rng, 1000, 7),
    )
    problems = {
        "20 classes, d = 10000, L2": (*classes, L2(1 / 2000)),
        "hinge, d = 50, C = 0.1, L2": (*svm, L2(1 / 500)),
        "hinge, d = 50, C = 10, L2": (*svm, L2(1 / 50_000)),
        "hinge, d = 50, C = 0.1, L1": (*svm, L1(1 / 500)),
        "ranking, d = 7, lam = 1e-2, L2": (*ranking, L2(1e-2)),
        "ranking, d = 7, lam = 1e-4, L2": (*ranking, L2(1e-4)),
        "ranking, d = 7, lam = 1e-2, L1": (*ranking, L1(1e-2)),
    }
    for name, (risk, w0, regularizer) in problems.items():
        level, textbook = (
            minimize(risk, regularizer, w0=w0, method=method, max_iter=MAX_CALLS)
            for method in ("level", "cutting-plane")
        )
        limit = "" if textbook.converged else " (limit)"
        ratio = textbook.n_iter / level.n_iter
        print(
            f"{name:32} level {level.n_iter:4}  textbook {textbook.n_iter:4}{limit}  ratio {ratio:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
