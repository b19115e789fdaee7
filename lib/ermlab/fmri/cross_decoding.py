"""Nested cross-validation of a decoder, with its chance level and ridge regression for comparison.

Everything that is learned, including ``eps`` and ``gamma``, is learned without the held-out part. The same is
done for each shuffled target, which gives the chance level of the whole procedure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV
from sklearn.utils import check_random_state

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.validation import whole_number
from ermlab.cca.centered_kernels import CenteredGram, Expansion, Rows
from ermlab.cca.rules import effective_dimensions, one_standard_error
from ermlab.cca.single_targets import SingleTargets
from ermlab.fmri.chance import block_bootstrap, shuffled_orders
from ermlab.fmri.targets import Target

#: Number of resamplings of the held-out volumes.
N_BOOTSTRAP = 1000
#: Mean score of the ridge, above the one of the decoder, that is worth a warning.
RIDGE_BETTER = 0.1


@dataclass(frozen=True)
class Folds:
    """How the volumes are divided.

    Attributes
    ----------
    runs : ndarray of shape (n_volumes,)
        Run of each volume; targets are shuffled within a run.
    outer : ndarray of shape (n_volumes,)
        Part of each volume; each part is held out once.
    inner : ndarray of shape (n_volumes,)
        Part of each volume in the selection of parameters inside a training set; -1 for volumes in gaps
        between such parts, which the selection does not use.
    block : int
        Number of volumes that stay together in shuffled targets and in the bootstrap.
    """

    runs: NDArray
    outer: NDArray
    inner: NDArray
    block: int

    def splits(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return the training and held-out volumes of each part."""
        return [
            (np.flatnonzero(self.outer != part), np.flatnonzero(self.outer == part))
            for part in np.unique(self.outer)
        ]


@dataclass(frozen=True)
class Decoding:
    """Results of a decoder on held-out volumes, and its model of all volumes.

    Attributes
    ----------
    scoring : str
        ``"correlation"`` or ``"balanced accuracy"``.
    score : float
        Mean over the held-out parts.
    interval : tuple of float
        95 % interval of the score when the held-out volumes are resampled in blocks of time. It does not
        include the variation of the training set.
    chance, chance_interval : float, tuple of float
        Mean and 95 % interval of the scores of shuffled targets.
    p_value : float
        Share of the shuffled targets, the target itself included, with a score at least as large.
    ridge : float
        Score of scikit-learn's `RidgeCV` with its default selection, on the same features and parts.
    parts : DataFrame
        Score, score of the ridge, selected ``eps`` and ``gamma`` and number of volumes of each part.
    curve : DataFrame
        For each ``eps`` and ``gamma`` the degrees of freedom per training volume, the mean score and the
        standard error in the selection (a correlation), the mean score on the held-out parts, and whether
        the final model uses it. The held-out scores show what another choice would have given; the best of
        them is biased.
    eps, gamma : float
        Values of the model of all volumes.
    weights : ndarray of shape (n_targets, n_voxels)
        Weights of the model of all volumes; one row, or one for each class if there are more than two.
    intercept : ndarray of shape (n_targets,)
        Intercepts.
    predictions : ndarray of shape (n_volumes,)
        Prediction of each volume by the model that was trained without it.
    """

    scoring: str
    score: float
    interval: tuple[float, float]
    chance: float
    chance_interval: tuple[float, float]
    p_value: float
    ridge: float
    parts: pd.DataFrame
    curve: pd.DataFrame
    eps: float
    gamma: float
    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]
    predictions: NDArray

    def summary(self) -> str:
        """Describe the results in a few lines."""
        low, high = self.interval
        lines = [
            f"{self.scoring} on held-out volumes: {self.score:.3f} (95 % interval {low:.3f} to {high:.3f})",
            f"chance: {self.chance:.3f} ({self.chance_interval[0]:.3f} to {self.chance_interval[1]:.3f}), "
            f"p = {self.p_value:.3g}",
            f"ridge regression: {self.ridge:.3f}",
        ]
        if self.ridge > self.score + RIDGE_BETTER:
            lines.append("ridge regression is better: see how the score depends on eps")
        return "\n".join(lines)


def cross_decode(
    X: NDArray,
    target: Target,
    folds: Folds,
    *,
    X_extra: NDArray | None = None,
    eps: Sequence[float],
    gamma: Sequence[float],
    n_permutations: int = 200,
    random_state: int | np.random.RandomState | None = 0,
) -> Decoding:
    """Cross-validate a decoder.

    Parameters
    ----------
    X : ndarray of shape (n_volumes, n_voxels)
        Volumes.
    target : Target
        What is predicted.
    folds : Folds
        How volumes are held out.
    X_extra : ndarray of shape (n_extra, n_voxels), optional
        Volumes without a target.
    eps, gamma : sequence of float
        Values from which the one-standard-error rule selects.
    n_permutations : int, default=200
        Number of shuffled targets.
    random_state : int, RandomState or None, default=0
        Seed of shuffled targets and resamplings.
    """
    n_permutations = whole_number("n_permutations", n_permutations, 1)
    random = check_random_state(random_state)
    orders = shuffled_orders(folds.runs, folds.block, n_permutations, random)
    orders = np.concatenate([np.arange(len(X))[None], orders])
    search = _Search(target, orders, folds.inner, eps, gamma)
    with one_blas_thread():
        gram = CenteredGram.of(Rows("X", "linear", X, X_extra))
        parts = [search.hold_out(gram, train, test) for train, test in folds.splits()]
        ridge = [_ridge_score(X, target, train, test, gram, eps) for train, test in folds.splits()]
        model = SingleTargets(gram, eps, gamma)
        index = search.select(gram, np.arange(len(X)), model)[0][0]
        own = search.Y[:, : target.columns.shape[1]]
        expansion = Expansion(Rows("X", "linear", X, X_extra), model.dual_coef(index, own))
    scores = np.array([part.scores for part in parts])
    means = scores.mean(axis=0)
    tests = [test for _, test in folds.splits()]
    resampled = _bootstrap(target, parts, tests, folds.block, random)
    weights = expansion.weights
    predictions = np.empty(len(X), dtype=target.values.dtype)
    for part, test in zip(parts, tests, strict=True):
        predictions[test] = target.decide(part.predictions)
    return Decoding(
        target.scoring,
        float(means[0]),
        tuple(np.quantile(resampled, (0.025, 0.975)).tolist()),
        float(means[1:].mean()),
        tuple(np.quantile(means[1:], (0.025, 0.975)).tolist()),
        float(np.mean(means >= means[0] - 1e-12)),
        float(np.mean(ridge)),
        _table_of_parts(folds, parts, ridge, eps, gamma),
        _curve(parts, index, eps, gamma, effective_dimensions(model.view, eps)),
        float(eps[index[0]]),
        float(gamma[index[1]]),
        weights.T,
        own.mean(axis=0) - X.mean(axis=0, dtype=np.float64) @ weights,
        predictions,
    )


@dataclass(frozen=True)
class _Part:
    """Results on one held-out part: of the target itself first, then of the shuffled ones."""

    scores: NDArray[np.float64]  #: (targets,)
    index: tuple[int, int]
    predictions: NDArray[np.float64]  #: (held-out volumes, columns) of the target itself
    inner: NDArray[np.float64]  #: (inner folds, eps, gamma) of the target itself
    held_out: NDArray[np.float64]  #: (eps, gamma) of the target itself


class _Search:
    """Selection and evaluation for a target and all its shuffled orders at once."""

    def __init__(
        self,
        target: Target,
        orders: NDArray[np.int64],
        inner: NDArray,
        eps: Sequence[float],
        gamma: Sequence[float],
    ):
        self.target, self.orders, self.inner, self.eps, self.gamma = target, orders, inner, eps, gamma
        self.Y = target.reordered(orders)

    def select(
        self, gram: CenteredGram, train: NDArray[np.int64], model: SingleTargets
    ) -> tuple[list[tuple[int, int]], NDArray[np.float64]]:
        """Return the selected index of each order, and the scores (inner folds, orders, eps, gamma).

        ``model`` is that of all training volumes.
        """
        train = train[self.inner[train] >= 0]
        labels = np.unique(self.inner[train])
        scores = np.zeros((len(labels), len(self.orders), len(self.eps), len(self.gamma)))
        for number, label in enumerate(labels):
            inside = self.inner[train] == label
            fit, test = train[~inside], train[inside]
            part, K_test = gram.split(fit, test, f"X without part {label}")
            models = SingleTargets(part, self.eps, self.gamma)
            for (i, j), predicted in models.predictions(K_test, self.Y[fit]):
                reached = _correlations(predicted, self.Y[test])
                scores[number, :, i, j] = reached.reshape(len(self.orders), -1).mean(axis=1)
        dimensions = effective_dimensions(model.view, self.eps)
        chosen = [one_standard_error(scores[:, order], dimensions) for order in range(len(self.orders))]
        return chosen, scores

    def hold_out(self, gram: CenteredGram, train: NDArray[np.int64], test: NDArray[np.int64]) -> _Part:
        """Select on the training part, and predict the held-out one."""
        part, K_test = gram.split(train, test, "X of a training part")
        models = SingleTargets(part, self.eps, self.gamma)
        chosen, inner = self.select(gram, train, models)
        scores = np.empty(len(self.orders))
        held_out = np.empty((len(self.eps), len(self.gamma)))
        own = np.empty((len(test), self.target.columns.shape[1]))
        truth = self.Y[test].reshape(len(test), len(self.orders), -1)
        for index, predicted in models.predictions(K_test, self.Y[train]):
            predicted = predicted + self.Y[train].mean(axis=0)
            predicted = predicted.reshape(len(test), len(self.orders), -1)
            held_out[index] = self.target.score(predicted[:, 0], truth[:, 0])
            if chosen[0] == index:
                own = predicted[:, 0]
            for order in np.flatnonzero([where == index for where in chosen]):
                scores[order] = self.target.score(predicted[:, order], truth[:, order])
        return _Part(scores, chosen[0], own, inner[:, 0], held_out)


def _correlations(A: NDArray[np.float64], B: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlations of many columns, 0 where one is constant up to rounding."""
    pairs = []
    for columns in (A, B):
        largest = np.abs(columns).max(axis=0)
        scaled = columns / np.where(largest > 0, largest, 1.0)
        centered = scaled - scaled.mean(axis=0)
        lengths = np.sqrt(np.sum(centered**2, axis=0))
        varies = lengths > len(columns) * np.finfo(np.float64).eps * np.sqrt(np.sum(scaled**2, axis=0))
        pairs.append(np.where(varies, centered / np.where(varies, lengths, 1.0), 0.0))
    return np.sum(pairs[0] * pairs[1], axis=0)


def _ridge_score(
    X: NDArray,
    target: Target,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    gram: CenteredGram,
    eps: Sequence[float],
) -> float:
    """Return the score of ridge regression with the same values of the penalty, chosen by its default."""
    part, K_test = gram.split(train, test, "X of a training part")
    values, U = np.linalg.eigh(part.K[: part.n, : part.n])
    kept = values > max(part.noise, 0.0)
    roots = np.sqrt(values[kept])
    # Coordinates with the same inner products: ridge regression depends on these alone.
    rotated, rotated_test = U[:, kept] * roots, K_test[:, : part.n] @ (U[:, kept] / roots)
    alphas = [value * part.mean_eigenvalue for value in eps if value > 0]
    model = RidgeCV(alphas=alphas).fit(rotated, target.columns[train])
    return target.score(model.predict(rotated_test).reshape(len(test), -1), target.columns[test])


def _bootstrap(
    target: Target,
    parts: Sequence[_Part],
    tests: Sequence[NDArray[np.int64]],
    block: int,
    random: np.random.RandomState,
) -> NDArray[np.float64]:
    def score(drawn: Sequence[NDArray[np.int64]]) -> float:
        pairs = zip(parts, tests, drawn, strict=True)
        return np.mean(
            [target.score(part.predictions[rows], target.columns[test[rows]]) for part, test, rows in pairs]
        )

    return block_bootstrap([len(test) for test in tests], block, score, N_BOOTSTRAP, random)


def _table_of_parts(
    folds: Folds,
    parts: Sequence[_Part],
    ridge: Sequence[float],
    eps: Sequence[float],
    gamma: Sequence[float],
) -> pd.DataFrame:
    labels, counts = np.unique(folds.outer, return_counts=True)
    return pd.DataFrame(
        {
            "part": labels,
            "volumes": counts,
            "score": [part.scores[0] for part in parts],
            "ridge": ridge,
            "eps": [eps[part.index[0]] for part in parts],
            "gamma": [gamma[part.index[1]] for part in parts],
        }
    )


def _curve(
    parts: Sequence[_Part],
    index: tuple[int, int],
    eps: Sequence[float],
    gamma: Sequence[float],
    dimensions: NDArray[np.float64],
) -> pd.DataFrame:
    inner = np.mean([part.inner.mean(axis=0) for part in parts], axis=0)
    errors = np.mean([part.inner.std(axis=0, ddof=1) / np.sqrt(len(part.inner)) for part in parts], axis=0)
    held_out = np.mean([part.held_out for part in parts], axis=0)
    rows = [
        {
            "gamma": gamma[j],
            "eps": eps[i],
            "degrees_of_freedom": dimensions[i],
            "selection_score": inner[i, j],
            "standard_error": errors[i, j],
            "held_out": held_out[i, j],
            "selected": (i, j) == index,
        }
        for j in range(len(gamma))
        for i in range(len(eps))
    ]
    return pd.DataFrame(rows)
