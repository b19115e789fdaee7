"""Passes over the samples that training takes where features are not scaled, with default parameters.

The peer is liblinear's multi-class SVM, which minimises the same objective by dual coordinate ascent.
"""

import warnings

import numpy as np
from sklearn.svm import LinearSVC

from ermlab.ranking import RankingSVM
from ermlab.structured.multiclass import MultiClassTask
from ermlab.structured.structured_svm import StructuredSVM

N, CLASSES = 300, 3


def tables() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(N, 5))
    units = np.array([1e-3, 1.0, 1e3, 1e6, 1e9])
    counts = np.column_stack(
        [10 ** rng.uniform(0, 9, N), rng.integers(0, 65536, N), rng.uniform(0, 1e6, N), plain[:, :2]]
    )
    scaled = {f"times {factor:g}": factor * plain for factor in (1e-9, 1.0, 1e3, 1e6, 1e9)}
    return {**scaled, "columns from 1e-3 to 1e9": plain * units, "incomes, bytes and ratios": counts}


def objective(coef: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    """Return ``1/2 |w|^2 + sum_i xi_i``."""
    scores = X @ coef.T
    own = scores[np.arange(N), y][:, None]
    violations = scores - own + (np.arange(CLASSES) != y[:, None])
    return 0.5 * float(np.sum(coef * coef)) + float(violations.max(axis=1).sum())


def main() -> None:
    warnings.simplefilter("ignore")  # of the peer, which does not converge
    rng = np.random.default_rng(1)
    y = rng.integers(0, CLASSES, N)
    losses = rng.permutation(N) / N
    print("| features | ranking: passes, gap | classes: passes, gap | objective of the peer over ours |")
    print("| --- | --- | --- | --- |")
    for name, X in tables().items():
        ranker = RankingSVM().fit(X, losses)
        svm = StructuredSVM(MultiClassTask(CLASSES, 5)).fit(X, y)
        peer = LinearSVC(multi_class="crammer_singer", fit_intercept=False, random_state=0).fit(X, y)
        ours = objective(svm.coef_.reshape(CLASSES, 5), X, y)
        print(
            f"| {name} | {ranker.n_iter_}, {ranker.gap_:.1e} | {svm.result_.n_iter}, "
            f"{svm.result_.relative_gap:.1e} | {objective(peer.coef_, X, y) / ours:.3g} |"
        )


if __name__ == "__main__":
    main()
