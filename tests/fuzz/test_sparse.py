"""k-support norm, elastic net and Laplacian CCA on hostile tables."""

import math
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from expectations import refused
from harness import Cases, survive
from hostile_data import all_tables
from scipy.sparse import csr_array

from ermlab.cca.laplacian_kcca import LaplacianKCCA
from ermlab.cca.laplacians import median_distance, normalized_laplacian
from ermlab.cca.selection import LaplacianKCCACV
from ermlab.sparse import dual_norm, norm, prox
from ermlab.sparse.elastic_net import DistinctColumns, ElasticNetGrid, fit_elastic_nets
from ermlab.sparse.ksupport_estimators import KSupportClassifier, KSupportRegressor, ksupport_path

ROUNDING = 1e-9


def vectors(seed: int) -> dict[str, np.ndarray]:
    """Return weights with ties, of all magnitudes, and some that are to be refused."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 40))
    plain = rng.normal(size=d)
    return {
        "plain": plain,
        "ties": rng.integers(-2, 3, d).astype(np.float64),
        "all equal": np.full(d, 0.1),
        "zeros": np.zeros(d),
        "negative zeros": np.full(d, -0.0),
        "magnitudes mixed": plain * 10.0 ** rng.integers(-300, 300, d),
        "two magnitudes": rng.choice([1e-308, 1.0, 1e300], d),
        "denormal": 5e-324 * rng.integers(0, 20, d),
        "tiny": 1e-200 * plain,
        "huge": 1e200 * plain,
        "sum overflows": np.full(d + 1, 1.7e308),
        "one NaN": np.append(plain, np.nan),
        "empty": np.empty(0),
        "a matrix": np.ones((2, 2)),
    }


def norms() -> Cases:
    """Norm, dual norm and proximal operator for every k and prices of all magnitudes."""
    for seed in range(6):
        for name, w in vectors(seed).items():
            for k in sorted({0, 1, 2, w.size // 2, w.size, w.size + 1}):
                yield f"{name}, k={k}, seed {seed}", lambda w=w, k=k: check_norms(w, k)


def check_norms(w: np.ndarray, k: int) -> list[object]:
    """Compare with the inequalities and the homogeneity that any such norm has."""
    size, dual = norm(w, k), dual_norm(w, k)
    unit = np.abs(w).max()
    if unit > 0:
        v = w / unit
        assert math.isclose(size, unit * norm(v, k), rel_tol=ROUNDING, abs_tol=1e-320), "norm in other units"
        assert math.isclose(dual, unit * dual_norm(v, k), rel_tol=ROUNDING, abs_tol=1e-320), (
            "dual in other units"
        )
        assert np.abs(v).sum() * (1 + ROUNDING) >= norm(v, k) >= np.linalg.norm(v) * (1 - ROUNDING)
        assert v @ v <= norm(v, k) * dual_norm(v, k) * (1 + ROUNDING)
    proximal = [prox(w, k, alpha) for alpha in (0.0, 1e-300, 1e-9, 1.0, 1e9, 1e300)]
    for u in proximal:
        assert (np.abs(u) <= np.abs(w)).all(), "a weight grew"
        assert (u * np.sign(w) >= 0).all(), "a weight changed its sign"
    return [size, dual, proximal]


def ksupport() -> Cases:
    """All losses and several k on every table; a step limit keeps the hopeless ones short."""
    for name, X in all_tables(n=24).items():
        rng = np.random.default_rng(0)
        y = rng.normal(size=len(X))
        labels = np.where(np.arange(len(X)) % 3 == 0, "b", "a")
        for k in sorted({1, min(2, max(X.shape[1], 1)), max(X.shape[1], 1)}):
            yield f"regression, {name}, k={k}", lambda X=X, y=y, k=k: fit(KSupportRegressor(k, 0.1), X, y)
        for scale in (1e-9, 1e9, 1e-150, 1e150):
            yield (
                f"regression, {name}, targets times {scale:g}",
                lambda X=X, y=y * scale: fit(KSupportRegressor(1, 0.1), X, y),
            )
        for alpha in (1e-300, 1e-9, 1e9, 1e300):
            yield (
                f"regression, {name}, alpha={alpha:g}",
                lambda X=X, y=y, alpha=alpha: fit(KSupportRegressor(1, alpha), X, y),
            )
        for loss in ("squared", "hinge", "logistic"):
            model = KSupportClassifier(1, 0.1, loss)
            yield f"{loss}, {name}", lambda X=X, y=labels, model=model: fit(model, X, y)
            yield (
                f"{loss}, {name}, frame",
                lambda X=X, y=labels, model=model: fit(model, pd.DataFrame(X), pd.Series(y)),
            )
        yield f"path, {name}", lambda X=X, y=y: vars(ksupport_path(X, y, 1, [1.0, 1e-3], max_iter=60))


def fit(model: KSupportRegressor | KSupportClassifier, X: np.ndarray, y: np.ndarray) -> dict[str, object]:
    """Return what the model learned, after at most 60 steps."""
    model.set_params(max_iter=60).fit(X, y)
    predictions = model.predict(X)
    return {
        "coef_": model.coef_,
        "intercept_": model.intercept_,
        "objective_": model.objective_,
        "predictions": predictions,
    }


def elastic_net() -> Cases:
    """The grid of models on every table, and the distinct columns of sparse ones."""
    grid = ElasticNetGrid((0.5, 1e-6), (1e-6, 1 - 1e-9))
    for name, X in all_tables(n=24).items():
        y = np.random.default_rng(0).normal(size=len(X))
        for scale in (1.0, 1e-9, 1e9, 1e150):
            yield f"{name}, {scale:g}", lambda X=X, y=scale * y: vars(fit_elastic_nets(X, y, grid))
        yield f"{name}, frame", lambda X=X, y=y: vars(fit_elastic_nets(pd.DataFrame(X), pd.Series(y), grid))
        yield f"{name}, no sizes", lambda X=X, y=y: vars(fit_elastic_nets(X, y, grid, np.zeros(X.shape[1])))
        yield f"{name}, distinct columns", lambda X=X: vars(DistinctColumns.of(csr_array(X)))
    sound = csr_array(np.eye(3))
    for what, bad in (("indices", [0, 1, 7]), ("indices", [0, -1, 2]), ("indptr", [0, 5, 1, 3])):
        broken = sound.copy()
        getattr(broken, what)[:] = bad
        yield f"{what} {bad}", lambda X=broken: refused(lambda: DistinctColumns.of(X))


def laplacian_cca() -> Cases:
    """Both estimators on every table, against a plain and against the same second view."""
    for name, X in all_tables(n=24).items():
        Y = np.random.default_rng(1).normal(size=(len(X), 2))
        for kernel in ("linear", "rbf"):
            for gamma in (0.0, 1.0):
                model = LaplacianKCCA(1, 0.5, 0.5, gamma, kernel=kernel)
                yield f"{name}, {kernel}, gamma={gamma}", lambda X=X, Y=Y, model=model: fit_views(model, X, Y)
                yield (
                    f"{name} twice, {kernel}, gamma={gamma}",
                    lambda X=X, model=model: fit_views(model, X, X),
                )
        cv = LaplacianKCCACV(1, eps=(0.1, 10.0), gamma=(0.0, 1.0), n_splits=2)
        yield f"{name}, folds", lambda X=X, Y=Y, model=cv: fit_views(model, X, Y)
        yield f"{name}, frame", lambda X=X, Y=Y: fit_views(LaplacianKCCA(), pd.DataFrame(X), pd.DataFrame(Y))
    for scale in (0.0, 1e-300, 1e-9, 1.0, 1e9, 1e300, np.inf, np.nan, -1.0):
        squares = scale * np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]])
        yield f"Laplacian, {scale:g}", lambda D=squares: [median_distance(D), normalized_laplacian(D)]


def fit_views(model: LaplacianKCCA | LaplacianKCCACV, X: np.ndarray, Y: np.ndarray) -> list[object]:
    """Return correlations and projections."""
    model.fit(X, Y)
    return [model.canonical_correlations_, model.transform(X, Y), model.score(X, Y), model.equivalent_eps_x_]


# Few child processes, as each takes seconds to start.
SUBJECTS = {
    "ksupport": lambda: chain(norms(), ksupport()),
    "others": lambda: chain(elastic_net(), laplacian_cca()),
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    survive(__file__, subject)
