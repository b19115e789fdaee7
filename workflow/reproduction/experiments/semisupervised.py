"""Protocol of experiments with few labels: ridge and SVM with and without a Laplacian (thesis, eq. 2.5)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.model_selection import StratifiedKFold

from ermlab.semisupervised import LaplacianRidge, LaplacianSVC, graph_laplacian, neighbor_graph
from reproduction.claims.results import repeated

#: Weights of the norm, and of the Laplacian, among which cross-validation of the labeled samples chooses.
ALPHAS = (1e-3, 1e-1)
LAPLACIAN_ALPHAS = (1.0, 10.0, 100.0, 1000.0)
#: Neighbors of each sample in the graph.
N_NEIGHBORS = 10
#: Largest number of folds; it is at most the number of labels per class.
N_FOLDS = 3
#: Loss functions to the methods without and with the Laplacian.
PAIRS = {"ridge": ("ridge", "laplacian_ridge"), "svm": ("svm", "laplacian_svm")}
METHODS = tuple(method for pair in PAIRS.values() for method in pair)
#: Relative gap of the SVMs, so small that predictions do not depend on it.
TOL = 1e-6
CONTROLS = ("shuffled_ridge", "shuffled_svm")
UNLABELED = -1
#: What accuracies are measured over: repeats with other labeled, unlabeled and new samples.
UNIT = "repeat"


@dataclass(frozen=True)
class Task:
    """Samples of which some are labeled, classes from 0, and new samples."""

    X: NDArray[np.float64]
    marked: NDArray[np.int64]  #: classes, -1 for unlabeled samples
    X_new: NDArray[np.float64]
    y_new: NDArray[np.int64]

    @property
    def labeled(self) -> NDArray[np.int64]:
        """Indices of the labeled samples."""
        return np.flatnonzero(self.marked != UNLABELED)


def draw_task(
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    labels: int,
    unlabeled: int,
    tested: int,
    rng: np.random.Generator,
) -> Task:
    """Draw new samples, ``labels`` labeled samples per class and ``unlabeled`` others, all different.

    With the same state of ``rng``, the new samples are the same, and more labels contain fewer labels.
    """
    order = rng.permutation(len(X))
    new, rest = order[:tested], order[tested:]
    labeled = np.concatenate([rest[y[rest] == c][:labels] for c in np.unique(y)])
    others = rest[~np.isin(rest, labeled)][:unlabeled]
    if len(labeled) < labels * len(np.unique(y)) or len(others) < unlabeled:
        raise ValueError(
            f"{len(X)} samples: expected enough for {tested} new ones, {labels} labels per class and "
            f"{unlabeled} more"
        )
    marked = np.concatenate([y[labeled], np.full(unlabeled, UNLABELED)])
    return Task(X[np.concatenate([labeled, others])], marked, X[new], y[new])


def measure(task: Task, methods: Sequence[str], seed: int) -> Iterator[dict[str, float | str]]:
    """Yield the accuracy of each method on new samples, with the strengths that cross-validation chose."""
    L = graph_laplacian(neighbor_graph(task.X, N_NEIGHBORS))
    order = np.random.default_rng(seed).permutation(len(task.X))
    shuffled = csr_array(L[order][:, order])
    for method in methods:
        graph = shuffled if method in CONTROLS else L
        alpha, laplacian_alpha, validated = choose_strengths(task, method, graph, seed)
        model = new_model(method, alpha, laplacian_alpha, graph)
        fit(model, task.X, task.marked)
        yield {
            "method": method,
            "accuracy": float(np.mean(classify(model, task.X_new) == task.y_new)),
            "alpha": alpha,
            "laplacian_alpha": laplacian_alpha,
            "validated": validated,
        }


def choose_strengths(task: Task, method: str, L: csr_array, seed: int) -> tuple[float, float, float]:
    """Return the strengths of the best accuracy in cross-validation of labeled samples, and the accuracy.

    The labeled samples of a fold are unlabeled in training. Of equally good strengths the strongest Laplacian
    and then the weakest norm is taken.
    """
    labeled = task.labeled
    fewest = np.bincount(task.marked[labeled]).min()
    folds = StratifiedKFold(min(N_FOLDS, int(fewest)), shuffle=True, random_state=seed)
    parts = list(folds.split(labeled, task.marked[labeled]))
    best = None
    for laplacian_alpha, alpha in product(_laplacian_alphas(method), ALPHAS):
        right = 0
        for _, held_out in parts:
            hidden = labeled[held_out]
            marked = task.marked.copy()
            marked[hidden] = UNLABELED
            model = new_model(method, alpha, laplacian_alpha, L)
            fit(model, task.X, marked)
            right += np.count_nonzero(classify(model, task.X[hidden]) == task.marked[hidden])
        if best is None or right / len(labeled) > best[2]:
            best = alpha, laplacian_alpha, right / len(labeled)
    return best


def _laplacian_alphas(method: str) -> tuple[float, ...]:
    return (0.0,) if method in ("ridge", "svm") else LAPLACIAN_ALPHAS[::-1]


def new_model(
    method: str, alpha: float, laplacian_alpha: float, L: csr_array
) -> LaplacianRidge | LaplacianSVC:
    """Return a model; ``alpha`` is the weight of the norm relative to the sum of the losses."""
    if method.endswith("ridge"):
        return LaplacianRidge(alpha, laplacian_alpha, laplacian=lambda X: L)
    return LaplacianSVC(0.5 / alpha, laplacian_alpha, laplacian=lambda X: L, tol=TOL)


def fit(model: LaplacianRidge | LaplacianSVC, X: NDArray[np.float64], marked: NDArray[np.int64]) -> None:
    """Fit a model; targets of ridge regression are 1 for the class of a sample and -1 for the others."""
    if isinstance(model, LaplacianSVC):
        model.fit(X, marked)
        return
    targets = 2.0 * np.eye(marked.max() + 1)[marked] - 1.0
    targets[marked == UNLABELED] = np.nan
    model.fit(X, targets)


def classify(model: LaplacianRidge | LaplacianSVC, X: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the classes of samples."""
    predicted = model.predict(X)
    return predicted if isinstance(model, LaplacianSVC) else predicted.argmax(axis=1)


def gains(
    accuracies: pd.DataFrame, methods: Mapping[str, tuple[str, str]], test_over_train: float = 0.0
) -> dict[str, dict[str, Any]]:
    """Return the gains of the second over the first of each pair; one row per repeat and method."""
    table = accuracies.pivot(index="repeat", columns="method", values="accuracy")
    return {
        name: repeated(table[better] - table[worse], UNIT, test_over_train)
        for name, (worse, better) in methods.items()
    }


def shuffled_pairs() -> dict[str, tuple[str, str]]:
    """Return the pairs of methods without a Laplacian and with that of a shuffled graph."""
    return {name: (worse, f"shuffled_{name}") for name, (worse, _) in PAIRS.items()}


def by_labels(accuracies: pd.DataFrame, test_over_train: float = 0.0) -> dict[str, list[dict[str, Any]]]:
    """Return the accuracies of each method over repeats, one entry for each number of labels."""
    groups = dict(list(accuracies.sort_values("repeat").groupby(["method", "labels"])["accuracy"]))
    counts = sorted(accuracies["labels"].unique())
    return {
        method: [repeated(groups[method, count], UNIT, test_over_train) for count in counts]
        for method in METHODS
    }
