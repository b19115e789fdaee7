"""Structured SVMs on hostile tables."""

import numpy as np
import pytest
from harness import Cases, survive
from hostile_data import all_tables, solvable

from ermlab.structured.structured_svm import MultiClassTask, StructuredSVM


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


def fit(task, X: np.ndarray, setting: dict) -> dict[str, object]:
    """Return what the model learned."""
    y = np.random.default_rng(0).integers(0, 3, len(X))
    model = StructuredSVM(task, **{"max_iter": 120, **setting}).fit(X, y)
    assert model.result_.lower_bound <= model.result_.value
    return {"coef_": model.coef_, "value": model.result_.value, "score": model.score(X, y)}


SUBJECTS = {"multi_class": multi_class, "any_task": any_task}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    refused = survive(__file__, subject)
    assert [case for case in refused if solvable(case)] == []
