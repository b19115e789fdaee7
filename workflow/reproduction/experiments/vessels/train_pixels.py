"""Train the methods that label each pixel on its own (rule train_vessel_pixels)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.parallel import map_in_threads
from ermlab.structured import MultiClassTask, StructuredSVM
from reproduction.claims.results import write_json
from reproduction.experiments.vessels.features import NAMES, bent
from reproduction.experiments.vessels.measures import best_threshold, mean_f1
from reproduction.experiments.vessels.retinas import Retinas
from reproduction.experiments.vessels.selection import select
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    seed: int,
    pixels: int,
    C: Sequence[float],
    class_weights: Sequence[float],
    tol: float,
) -> None:
    """Choose the best single feature, train the linear classifier, and score all pixels by both.

    ``pixels`` is the number of training pixels drawn from each photograph. A training photograph is scored by
    a classifier that was trained without its fold.
    """
    retinas, features = Retinas.read(inputs["retinas"]), np.load(inputs["features"], mmap_mode="r")
    feature, threshold = choose_feature(retinas, features)

    def train(value: float, weight: float, indices: Sequence[int]) -> np.ndarray:
        X, y = draw_pixels(retinas, features, indices, pixels, seed)
        return train_classifier(X, y, value, weight, tol)

    def validate(w: np.ndarray) -> float:
        found = [linear_scores(features[retinas.pixels(i)], w) > 0 for i in retinas.validation_indices]
        return mean_f1([retinas.truth(i) for i in retinas.validation_indices], found)

    chosen, trials = select(train, validate, C, class_weights, retinas.fitting_indices)
    w = train(*chosen, retinas.training_indices)
    # Random fields are trained on scores of photographs that the classifier has not seen, as in the test.
    by_fold = [train(*chosen, np.setdiff1d(retinas.training_indices, fold)) for fold in retinas.folds]
    weights = {i: fold_w for fold, fold_w in zip(retinas.folds, by_fold, strict=True) for i in fold.tolist()}
    linear = map_in_threads(
        lambda i: linear_scores(features[retinas.pixels(i)], weights.get(i, w)), range(len(retinas))
    )
    np.savez(
        outputs["scores"],
        threshold=features[:, feature].astype(np.float32) - np.float32(threshold),
        linear=np.concatenate(linear),
    )
    pd.DataFrame(trials).to_csv(outputs["trials"], index=False, lineterminator="\n")
    model = {
        "feature": NAMES[feature],
        "threshold": threshold,
        "C": chosen[0],
        "class_weight": chosen[1],
        "weights": w.tolist(),
    }
    write_json(outputs["model"], model)


def choose_feature(retinas: Retinas, features: np.ndarray) -> tuple[int, float]:
    """Return the feature, and its threshold, with the largest mean F1 over the training photographs."""
    truths = [retinas.truth(i) for i in retinas.training_indices]

    def best(k: int) -> tuple[float, float]:
        return best_threshold(
            truths, [features[retinas.pixels(i), k].astype(np.float32) for i in retinas.training_indices]
        )

    found = map_in_threads(best, range(features.shape[1]))
    feature = int(np.argmax([f1 for _, f1 in found]))
    return feature, found[feature][0]


def draw_pixels(
    retinas: Retinas, features: np.ndarray, indices: Sequence[int], n_pixels: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw pixels of each photograph; those of a photograph do not depend on the other ones."""
    X, y = [], []
    for i in indices:
        rng = np.random.default_rng([seed, int(retinas.numbers[i])])
        truth = retinas.truth(i)
        drawn = np.sort(rng.choice(len(truth), min(n_pixels, len(truth)), replace=False))
        X.append(bent(features[retinas.pixels(i)][drawn].astype(float)))
        y.append(truth[drawn])
    return np.concatenate(X), np.concatenate(y).astype(int)


def train_classifier(X: np.ndarray, y: np.ndarray, C: float, class_weight: float, tol: float) -> np.ndarray:
    """Return the weights of a linear SVM in which an error at a vessel costs ``class_weight``."""
    task = MultiClassTask(2, X.shape[1], losses=[[0.0, 1.0], [class_weight, 0.0]])
    w = StructuredSVM(task, C=C, tol=tol).fit(X, y).coef_.reshape(2, -1)
    return w[1] - w[0]


def linear_scores(features: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the scores of pixels, positive for vessels."""
    with one_blas_thread():
        return (bent(features.astype(float)) @ w).astype(np.float32)


if "snakemake" in globals():
    run_stage(main, snakemake)
