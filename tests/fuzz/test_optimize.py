"""Solvers on hostile problems: quadratic programs, cutting planes, planes of samples, proximal steps."""

import numpy as np
import pytest
from expectations import refused
from harness import Cases, survive
from hostile_data import finite_tables

from ermlab.optimize import L1, L2, Planes, cccp, fista, minimize, minimize_blocks, solve_simplex_qp

STRENGTHS = (1e-12, 1.0, 1e12)


class HingeRisk:
    """The mean hinge loss of a table with random signs, as a mean over samples."""

    def __init__(self, X, seed=0):
        self.y = np.random.default_rng(seed).choice([-1.0, 1.0], len(X))
        self.X = X * self.y[:, None]
        self.dimension = X.shape[1]

    def __len__(self):
        return len(self.X)

    def __call__(self, w):
        slack = 1.0 - self.X @ w
        active = slack > 0
        return float(slack[active].sum()) / len(self), -self.X[active].sum(axis=0) / len(self)

    def plane(self, i, w):
        if 1.0 - self.X[i] @ w > 0:
            return -self.X[i], 1.0
        return np.zeros(self.dimension), 0.0


def simplex_programs() -> Cases:
    """Gram matrices of the tables, with linear terms of all sizes, from good and bad starts."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        for name, A in finite_tables(seed=seed).items():
            if np.abs(A).max() > 1e140:
                continue
            for height in (0.0, 1e-200, 1.0, 1e12):
                b = height * rng.normal(size=len(A))
                part = np.sort(rng.integers(0, 3, len(A))) if len(A) > 20 else None
                for start in (None, rng.random(len(A)), np.ones(len(A))):
                    for parts in (None, part):
                        yield (
                            f"{name}, height {height}, seed {seed}",
                            lambda A=A, b=b, start=start, parts=parts: solve(A, b, start, parts),
                        )


def solve(A, b, start, part):
    """Return the solution of a program that lies in its simplices."""
    result = solve_simplex_qp(A @ A.T, b, start, part=part)
    parts = np.zeros(len(b), dtype=int) if part is None else np.unique(part, return_inverse=True)[1]
    np.testing.assert_allclose(np.bincount(parts, result.alpha), 1.0, rtol=1e-9)
    assert (result.alpha >= 0).all()
    return result


def indefinite_programs() -> Cases:
    """Matrices that are no Gram matrices: anything but a crash will do."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        m = int(rng.integers(1, 12))
        G = rng.normal(size=(m, m)) * 10.0 ** rng.integers(-100, 100)
        b = rng.normal(size=m)
        yield f"seed {seed}", lambda G=G, b=b: solve_simplex_qp(G + G.T, b).alpha


def cutting_planes() -> Cases:
    """Every table, regularizer and method."""
    for name, X in finite_tables(n=25).items():
        for lam in STRENGTHS:
            for regularizer in (L2(lam), L1(lam)):
                for method in ("level", "cutting-plane"):
                    yield (
                        f"{name}, {regularizer}, {method}",
                        lambda X=X, regularizer=regularizer, method=method: certified(
                            minimize(HingeRisk(X), regularizer, method=method, max_iter=60)
                        ),
                    )


def bounded_planes() -> Cases:
    """Every table and regularizer, with bounds of all kinds and sizes."""
    for name, X in finite_tables(n=25).items():
        d = X.shape[1]
        for lam in STRENGTHS:
            for regularizer in (L2(lam), L2(np.full(d, lam)), L1(lam)):
                for kind, bounds in boxes(d).items():
                    yield (
                        f"{name}, {regularizer}, {kind}",
                        lambda X=X, regularizer=regularizer, bounds=bounds: inside(
                            minimize(HingeRisk(X), regularizer, bounds=bounds, max_iter=30), bounds
                        ),
                    )


def boxes(d):
    """Return bounds on d weights."""
    alternating = np.where(np.arange(d) % 2, 0.0, -np.inf)
    return {
        "signs": (alternating, np.inf),
        "non-negative": (0.0, np.inf),
        "fixed": (np.where(np.arange(d) % 2, 1.0, -np.inf), np.where(np.arange(d) % 2, 1.0, np.inf)),
        "all fixed": (-0.5, -0.5),
        "tiny": (-1e-300, 1e-300),
        "huge": (-1e300, 1e300),
        "far": (1e12, np.inf),
        "far and negative": (-np.inf, -1e-12),
    }


def inside(result, bounds):
    """Return the weights of a certified result that are within their bounds."""
    assert (result.w >= bounds[0]).all()
    assert (result.w <= bounds[1]).all()
    return certified(result)


def planes_of_samples() -> Cases:
    """Every table and strength."""
    for name, X in finite_tables(n=25).items():
        for lam in STRENGTHS:
            yield (
                f"{name}, {lam}",
                lambda X=X, lam=lam: certified(minimize_blocks(HingeRisk(X), L2(lam), max_iter=20)),
            )
            for kind, bounds in boxes(X.shape[1]).items():
                yield (
                    f"{name}, {lam}, {kind}",
                    lambda X=X, lam=lam, bounds=bounds: inside(
                        minimize_blocks(HingeRisk(X), L2(lam), bounds=bounds, max_iter=3), bounds
                    ),
                )


def certified(result):
    """Return the weights of a result whose bounds are in order."""
    assert result.lower_bound <= result.value
    return {"w": result.w, "value": result.value}


def descents() -> Cases:
    """CCCP and FISTA on every table."""
    for name, X in finite_tables(n=25).items():
        yield (
            f"cccp, {name}",
            lambda X=X: cccp(HingeRisk(X), nothing, L2(1.0), w0=np.zeros(X.shape[1]), max_inner_iter=30).w,
        )
        yield f"fista, {name}", lambda X=X: ridge(X).w


def nothing(w):
    """Return the function 0."""
    return 0.0, np.zeros_like(w)


def ridge(X):
    """Return ridge regression of a ramp."""
    y = np.linspace(-1.0, 1.0, len(X))
    if np.abs(X).max() > 1e140:
        raise ValueError("the squares of the features overflow in this test's own risk")

    def smooth(w):
        residual = X @ w - y
        return 0.5 * float(residual @ residual), X.T @ residual

    return fista(smooth, lambda u, step: u / (1.0 + step), np.zeros(X.shape[1]), max_iter=50)


def broken_input() -> Cases:
    """Planes, risks and programs that are refused."""
    for bad in (np.nan, np.inf, -np.inf, 1e200):
        yield f"plane with {bad}", lambda bad=bad: refused(lambda: Planes(2).add([bad, 0.0], 0.0))
        yield f"slope {bad}", lambda bad=bad: refused(lambda: minimize_constant(1.0, np.full(2, bad)))
        for bounds in ((bad, -bad), (np.full(2, bad), None)):
            if np.isnan(bad) or bad > 0:
                yield (
                    f"bounds {bounds}",
                    lambda bounds=bounds: refused(lambda: minimize_constant(1.0, np.zeros(2), bounds)),
                )
        if bad != 1e200:
            yield f"value {bad}", lambda bad=bad: refused(lambda: minimize_constant(bad, np.zeros(2)))


def minimize_constant(value, slope, bounds=None):
    """Minimise a risk that returns the same everywhere."""
    return minimize(lambda w: (value, slope), L2(1.0), w0=[0.0, 0.0], bounds=bounds)


SUBJECTS = {
    "simplex_programs": simplex_programs,
    "indefinite_programs": indefinite_programs,
    "cutting_planes": cutting_planes,
    "bounded_planes": bounded_planes,
    "planes_of_samples": planes_of_samples,
    "descents": descents,
    "broken_input": broken_input,
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    survive(__file__, subject)
