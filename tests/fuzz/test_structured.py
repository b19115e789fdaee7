"""Structured SVMs on hostile tables."""

import numpy as np
import pytest
from harness import Cases, survive
from hostile_data import all_tables, solvable

from ermlab.structured import Identity, LatentSVM, LatentTransformationTask, MultiClassTask, StructuredSVM


class PairTask(MultiClassTask):
    """Three classes of rows of features; the latent variable is the half of the row that counts."""

    def __init__(self, n_features: int):
        super().__init__(3, (n_features + 1) // 2)

    def half(self, x, h):
        return x[: self.n_features] if h == 0 else x[-self.n_features :]

    def joint_feature(self, x, y, h):
        return super().joint_feature(self.half(x, h), y)

    def complete(self, w, x, y):
        scores = self.scores(w, np.array([self.half(x, h) for h in (0, 1)]))
        return int(np.argmax(scores[y]))

    def predict(self, w, x):
        scores = self.scores(w, np.array([self.half(x, h) for h in (0, 1)]))
        return int(np.argmax(scores.max(axis=1)))

    def most_violated(self, w, x, y, rescaling):
        scores = self.scores(w, np.array([self.half(x, h) for h in (0, 1)]))
        losses = self.losses[y][:, None]
        values = losses * (1 + scores - scores[y].max()) if rescaling == "slack" else losses + scores
        z, h = np.unravel_index(np.argmax(values), values.shape)
        return int(z), int(h)


class PlainTask:
    """Three classes again, without the fast ways of `MultiClassTask`."""

    def __init__(self, n_features: int):
        self._task = MultiClassTask(3, n_features)
        self.dimension = self._task.dimension

    def joint_feature(self, x, y):
        return self._task.joint_feature(x, y)

    def loss(self, y, z):
        return self._task.loss(y, z)

    def predict(self, w, x):
        return self._task.predict(w, x)

    def most_violated(self, w, x, y, rescaling):
        return self._task.most_violated(w, x, y, rescaling)


def multi_class() -> Cases:
    """Fit on every table, by every solver and rescaling."""
    settings = (
        {"solver": "bundle"},
        {"solver": "blocks", "max_iter": 20},
        {"solver": "auto", "rescaling": "slack"},
        {"solver": "bundle", "penalty": "l1"},
        {"solver": "bundle", "C": 1e9},
        {"solver": "bundle", "C": 1e-9},
    )
    for setting in settings:
        for name, X in all_tables().items():
            yield (
                f"{name}, {setting}",
                lambda X=X, setting=setting: fit(MultiClassTask(3, max(X.shape[1], 1)), X, setting),
            )


def any_task() -> Cases:
    """A task that answers for one sample at a time."""
    for name, X in all_tables(n=12).items():
        for solver in ("bundle", "blocks"):
            yield (
                f"{name}, {solver}",
                lambda X=X, solver=solver: fit(
                    PlainTask(max(X.shape[1], 1)), X, {"solver": solver, "max_iter": 15}
                ),
            )


def latent() -> Cases:
    """A latent SVM, with and without transformations, by both rescalings and penalties."""
    settings = ({}, {"rescaling": "slack"}, {"penalty": "l1"}, {"C": 1e9})
    for setting in settings:
        for name, X in all_tables(n=12).items():
            yield (
                f"{name}, {setting}",
                lambda X=X, setting=setting: fit_latent(PairTask(max(X.shape[1], 2)), X, setting),
            )
    for name, X in all_tables(n=6).items():
        turned = LatentTransformationTask(MultiClassTask(3, max(X.shape[1], 1)), [Identity(), Reversed()])
        yield f"{name}, transformations", lambda X=X, task=turned: fit_latent(task, X, {})


class Reversed(Identity):
    """The features in reverse order."""

    def input(self, x):
        return x[::-1]


def fit_latent(task, X: np.ndarray, setting: dict) -> dict[str, object]:
    """Return what the model learned; its objective must not increase."""
    y = np.random.default_rng(0).integers(0, 3, len(X))
    model = LatentSVM(task, **{"max_iter": 5, **setting}).fit(X, y)
    assert (np.diff(model.objective_) <= 1e-6 * np.abs(model.objective_).max()).all()
    return {"coef_": model.coef_, "objective": model.objective_, "score": model.score(X, y)}


def fit(task, X: np.ndarray, setting: dict) -> dict[str, object]:
    """Return what the model learned."""
    y = np.random.default_rng(0).integers(0, 3, len(X))
    model = StructuredSVM(task, **{"max_iter": 120, **setting}).fit(X, y)
    assert model.result_.lower_bound <= model.result_.value
    return {"coef_": model.coef_, "value": model.result_.value, "score": model.score(X, y)}


SUBJECTS = {"multi_class": multi_class, "any_task": any_task, "latent": latent}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    refused = survive(__file__, subject)
    assert [case for case in refused if solvable(case)] == []
