"""Training with a loss that depends on the transformation (equivariant SVM, eq. 11), on rotated digits.

Digits are rotated by angles that are drawn from a concentrated distribution. The vicinal risk of a classifier
is its expected error over this distribution; the equivariant SVM is trained with the worst angle instead,
whose loss is weighted by (11).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.ndimage import rotate
from sklearn.datasets import load_digits

from ermlab.structured import EquivariantTask, MultiClassTask, StructuredSVM
from ermlab.structured.task import violation_plane
from ermlab.structured.vicinal import equivariant_losses, scaled_family, smallest_members, step_family
from reproduction.claims.results import repeated

Array = NDArray[np.float64]
#: Angles in degrees, and the standard deviation of the Gaussian from which they are drawn.
ANGLES, DEVIATION = np.arange(-45.0, 46.0, 15.0), 15.0
#: Rotations in training: none, the largest loss, and (11) for unit steps and for multiples of 1 + (t / s)^2.
METHODS = ("none", "plain", "step", "square")
TITLES = {
    "none": "no rotations",
    "plain": "largest loss",
    "step": "(11), unit steps",
    "square": "(11), multiples of 1 + (t/s)²",
}
C_GRID = (0.02, 0.1, 1.0, 5.0, 20.0)
#: A maximum may be this far below the risk by rounding alone.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Version:
    """A rotation of an input that holds all its rotated versions, one per row."""

    row: int

    def input(self, x: Array) -> Array:
        """Return the version."""
        return x[self.row]

    def output(self, y: int) -> int:
        """Return ``y``."""
        return y


class DigitTask(MultiClassTask):
    """Ten classes, with less checking per call than a task for any data has."""

    def __init__(self, n_features: int):
        super().__init__(10, n_features)

    def joint_feature(self, x: Array, y: int) -> Array:
        """Return ``x`` in the block of class ``y``, 0 elsewhere."""
        feature = np.zeros((self.n_classes, self.n_features))
        feature[y] = x
        return feature.ravel()

    def most_violated(self, w: Array, x: Array, y: int, rescaling: str) -> int:
        """Return the most violated class; with slack rescaling and the 0-1 loss the best of the others."""
        scores = w.reshape(self.n_classes, -1) @ x
        scores[y] = -np.inf
        return int(scores.argmax())


class RotatedDigits(EquivariantTask):
    """The digit task with all rotations of a digit, which are scored together instead of one by one.

    The slack-rescaled violation of a rotation is its weight times one plus the difference of the best other
    score and that of the class.
    """

    def __init__(self, task: DigitTask, weights: Array):
        # The identity first, which is the worst of equally bad versions.
        self._rows = np.argsort(np.abs(ANGLES), kind="stable")
        super().__init__(task, [Version(int(row)) for row in self._rows], lambda t: weights[t.row])
        self._weights = weights[self._rows]

    def virtual_plane(self, w: Array, x: Array, y: int, rescaling: str) -> tuple[int, Array, float]:
        """Return the position of the worst rotation, and slope and offset of its violation."""
        scores = x[self._rows] @ w.reshape(self.task.n_classes, -1).T
        true = scores[:, y].copy()
        scores[:, y] = -np.inf
        worst = int(np.argmax(self._weights * (1 + scores.max(axis=1) - true)))
        t = self.transformations[worst]
        plane = violation_plane(
            self.task, t.input(x), y, int(scores[worst].argmax()), rescaling, self._weights[worst]
        )
        return worst, *plane


def angle_probabilities() -> Array:
    """Return the probability of each angle."""
    weights = np.exp(-0.5 * (ANGLES / DEVIATION) ** 2)
    return weights / weights.sum()


def loss_weights(method: str) -> Array:
    """Return the loss (11) of an error at each angle."""
    errors, probabilities = np.ones(len(ANGLES)), angle_probabilities()
    if method == "plain":
        return errors
    family = step_family(ANGLES) if method == "step" else scaled_family(1 + (ANGLES / DEVIATION) ** 2, errors)
    return equivariant_losses(family, smallest_members(family, errors), probabilities)


def rotated_digits() -> tuple[Array, NDArray[np.int64]]:
    """Return all versions of the digits, (n, angles, pixels + 1), with a constant, and their classes."""
    digits = load_digits()
    images = digits.images / 16.0
    versions = [rotate(images, angle, axes=(1, 2), reshape=False, order=1) for angle in ANGLES]
    pixels = np.stack(versions, axis=1).reshape(len(images), len(ANGLES), -1)
    return np.concatenate([pixels, np.ones((*pixels.shape[:2], 1))], axis=-1), digits.target.astype(np.int64)


def fit(method: str, X: Array, y: NDArray[np.int64], C: float, tol: float) -> Array:
    """Return the weights of each class, (10, pixels + 1)."""
    task = DigitTask(X.shape[-1])
    if method == "none":
        identity = X[:, np.flatnonzero(ANGLES == 0)[0]]
        return StructuredSVM(task, C=C, rescaling="slack", tol=tol).fit(identity, y).coef_.reshape(10, -1)
    rotated = RotatedDigits(task, loss_weights(method))
    svm = StructuredSVM(rotated, C=C, rescaling="slack", tol=tol, max_iter=300)
    return svm.fit(X, y).coef_.reshape(10, -1)


def errors_by_angle(weights: Array, X: Array, y: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each version of each digit is classified incorrectly."""
    return (X @ weights.T).argmax(axis=-1) != y[:, None]


def run_split(
    X: Array,
    y: NDArray[np.int64],
    train: NDArray[np.int64],
    valid: NDArray[np.int64],
    test: NDArray[np.int64],
    tol: float,
) -> list[dict]:
    """Train all methods on the digits ``train``, select C on ``valid``, and test on ``test``."""
    probabilities = angle_probabilities()
    rows = []
    for method in METHODS:
        models = [fit(method, X[train], y[train], C, tol) for C in C_GRID]
        risks = [float((errors_by_angle(w, X[valid], y[valid]) @ probabilities).mean()) for w in models]
        weights = models[int(np.argmin(risks))]
        errors = errors_by_angle(weights, X[test], y[test])
        row = {
            "method": method,
            "C": C_GRID[int(np.argmin(risks))],
            "test_risk": 100 * float((errors @ probabilities).mean()),
            "worst_risk": 100 * float(errors.any(axis=1).mean()),
            "upright_error": 100 * float(errors[:, ANGLES == 0].mean()),
        }
        if method != "none":
            on_train = errors_by_angle(weights, X[train], y[train])
            bounds = (loss_weights(method) * on_train).max(axis=1)
            row["training_bound"] = float(bounds.mean())
            row["training_risk"] = float((on_train @ probabilities).mean())
            row["training_violations"] = int((bounds < on_train @ probabilities - ROUNDING).sum())
        rows.append(row)
    return rows


def draw_splits(
    rng: np.random.Generator, total: int, splits: int, digits: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Return digits to train, to validate and to test on; only the test digits are common to all splits."""
    order = rng.permutation(total)
    test, rest = order[: total // 3], order[total // 3 :]
    if 2 * splits * digits > len(rest):
        raise ValueError(
            f"{splits} splits of twice {digits} digits: expected at most {len(rest)} digits in all"
        )
    parts = rest[: 2 * splits * digits].reshape(splits, 2, digits)
    return [(train, valid, test) for train, valid in parts]


def train_digits(seed: int, splits: int, digits: int, tol: float) -> pd.DataFrame:
    """Return the measures of each split and method."""
    X, y = rotated_digits()
    parts = draw_splits(np.random.default_rng(seed), len(X), splits, digits)
    return pd.DataFrame(
        {"split": number, **row} for number, part in enumerate(parts) for row in run_split(X, y, *part, tol)
    )


def summarize_training(table: pd.DataFrame) -> dict:
    """Return the measures of each method over the splits."""
    by_method = {method: table[table["method"] == method] for method in METHODS}
    trained = {method: rows for method, rows in by_method.items() if method != "none"}
    return {
        "training_violations": int(table["training_violations"].sum()),
        **{
            name: {method: repeated(rows[name], unit="split") for method, rows in trained.items()}
            for name in ("training_bound", "training_risk")
        },
        **{
            name: {method: repeated(rows[name], unit="split") for method, rows in by_method.items()}
            for name in ("test_risk", "worst_risk", "upright_error")
        },
    }


def training_table(values: Mapping) -> pd.DataFrame:
    """Return mean and standard deviation of the measures, one row per method."""
    names = {
        "test_risk": "vicinal risk, test (%)",
        "worst_risk": "wrong at some angle, test (%)",
        "upright_error": "error of upright digits, test (%)",
        "training_bound": "bound, training",
        "training_risk": "vicinal risk, training",
    }
    rows = {
        TITLES[method]: {
            title: _mean_sd(values[name][method]["repeats"]) if method in values[name] else "-"
            for name, title in names.items()
        }
        for method in METHODS
    }
    return pd.DataFrame(rows).T


def _mean_sd(repeats: Sequence[float]) -> str:
    mean = f"{np.mean(repeats):.3g}"
    return mean if len(repeats) < 2 else f"{mean} ± {np.std(repeats, ddof=1):.2g}"
