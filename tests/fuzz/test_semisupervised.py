"""Laplacian regularization on hostile tables."""

import numpy as np
import pandas as pd
import pytest
from harness import Cases, survive
from hostile_data import all_tables, solvable

from ermlab.semisupervised import (
    LaplacianRegularizer,
    LaplacianRidge,
    LaplacianSVC,
    graph_laplacian,
    neighbor_graph,
)


def ridge() -> Cases:
    """Both kernels and all magnitudes of the penalties on every table, half of it without targets."""
    for name, X in all_tables(n=24).items():
        y = np.random.default_rng(0).normal(size=len(X))
        y[1::2] = np.nan
        for kernel in ("linear", "rbf"):
            for laplacian_alpha in (0.0, 1e-9, 1.0, 1e9, 1e300):
                model = LaplacianRidge(1.0, laplacian_alpha, kernel)
                yield f"{name}, {kernel}, {laplacian_alpha:g}", lambda X=X, y=y, model=model: fit(model, X, y)
            for alpha in (1e-300, 1e-9, 1e9, 1e300):
                model = LaplacianRidge(alpha, 1.0, kernel, laplacian="unnormalized", weights="binary")
                yield f"{name}, {kernel}, alpha={alpha:g}", lambda X=X, y=y, model=model: fit(model, X, y)
        for scale in (1e-9, 1e9, 1e150):
            yield f"{name}, targets times {scale:g}", lambda X=X, y=scale * y: fit(LaplacianRidge(), X, y)
        yield f"{name}, frame", lambda X=X, y=y: fit(LaplacianRidge(), pd.DataFrame(X), pd.Series(y))


def svc() -> Cases:
    """Two and three classes; a step limit keeps the hopeless tables short."""
    for name, X in all_tables(n=24).items():
        for n_classes in (2, 3):
            y = np.arange(len(X)) % (n_classes + 1) - 1
            for kernel in ("linear", "rbf"):
                for laplacian_alpha in (0.0, 1.0, 1e9):
                    model = LaplacianSVC(1.0, laplacian_alpha, kernel, max_iter=2000)
                    yield (
                        f"{name}, {n_classes} classes, {kernel}, {laplacian_alpha:g}",
                        lambda X=X, y=y, model=model: fit(model, X, y),
                    )


def regularizer() -> Cases:
    """Graph, Laplacian and quadratic form of every table."""
    for name, X in all_tables(n=24).items():
        for k in (1, 5, 100):
            yield f"{name}, {k} neighbors", lambda X=X, k=k: laplacians(X, k)


def laplacians(X: np.ndarray, k: int) -> list[object]:
    """Return the graph of a table and the form at one vector, which is never negative."""
    W = neighbor_graph(X, k)
    L = graph_laplacian(W)
    assert np.linalg.eigvalsh(L.toarray())[0] > -1e-9, "a negative eigenvalue"
    form = LaplacianRegularizer(X, L, 1e-3, 10.0)
    value = form(np.ones(X.shape[1]))
    assert value >= 0
    return [W, L, value, graph_laplacian(W, normalized=False)]


def fit(model: LaplacianRidge | LaplacianSVC, X: np.ndarray, y: np.ndarray) -> dict[str, object]:
    """Return what the model learned; predictions for the training samples are those of the fit."""
    model.fit(X, y)
    found = {"transduction_": model.transduction_, "objective_": model.objective_}
    if isinstance(model, LaplacianRidge):
        found["predictions"] = model.predict(X)
    else:
        found["scores"], found["gap_"] = model.decision_function(X), model.gap_
        assert (model.lower_bound_ <= model.objective_ * (1 + 1e-9)).all(), "the bound is above the value"
    return found


SUBJECTS = {"ridge": ridge, "svc": svc, "regularizer": regularizer}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    refused = survive(__file__, subject)
    wrongly = [case for case in refused if solvable(case) and may_not_refuse(case)]
    assert not wrongly, wrongly


def may_not_refuse(case: str) -> bool:
    """Return whether the case has parameters and magnitudes of ordinary size."""
    extreme = ("e+300", "e-300", "e+150", "1e+09, ", "tiny", "denormal", "two rows")
    return not any(part in case for part in extreme)
