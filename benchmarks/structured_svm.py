"""Multi-class structured SVM: ermlab against a plain one-slack loop and against LinearSVC.

Gaussian features, classes of the highest planted score, C = 1 on the sum of the slacks, to a relative gap of
1e-3; features of unit variance, where C = 1 is almost a hard margin, and then of unit expected length. The
loop is the textbook cutting-plane method in numpy with a general QP solver; it is stopped after a while. What
does not get to the gap in its time or passes runs once only. LinearSVC has the loosest tolerance that brings
it within 1e-3 of the optimum. All run on one thread. Prints one row per run and the ratios of the medians.
"""

import argparse
import statistics
import time
import warnings
from dataclasses import dataclass

import highspy
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from ermlab.structured.multiclass import MultiClassTask
from ermlab.structured.risk import StructuredRisk
from ermlab.structured.structured_svm import StructuredSVM

C = 1.0
GAP = 1e-3
BUNDLE_CALLS = 300
OWN = "ermlab, blocks"  # what `solver="auto"` takes at the default sizes
TOLERANCES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6)


@dataclass(frozen=True)
class Fit:
    """Weights, passes over the data, and whether the method says that it is done."""

    w: np.ndarray
    passes: int
    done: bool
    gap: float | None = None


def planted_data(n, d, n_classes, scale, seed):
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(n, d)), rng.normal(size=(n_classes, d))
    return scale * X, np.argmax(X @ W.T, axis=1)


def fit_ermlab(X, y, n_classes, solver="auto", tol=GAP, max_iter=1000):
    task = MultiClassTask(n_classes, X.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = StructuredSVM(task, C=C, tol=tol, solver=solver, max_iter=max_iter).fit(X, y).result_
    return Fit(result.w, result.n_iter, result.converged, result.relative_gap)


def numpy_risk(X, y, n_classes):
    n, d = X.shape
    samples = np.arange(n)

    def risk(w):
        scores = X @ w.reshape(n_classes, d).T + 1
        scores[samples, y] -= 1
        z = scores.argmax(axis=1)
        weights = np.zeros((n, n_classes))
        weights[samples, z] += 1
        weights[samples, y] -= 1
        return np.mean(scores[samples, z] - scores[samples, y]), (weights.T @ X).ravel() / n

    return risk


def simplex_qp_by_highs(G, b):
    """Maximise ``b' alpha - 1/2 alpha' G alpha`` over the simplex."""
    m = b.size
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_, lp.col_cost_ = m, 1, -b
    lp.col_lower_, lp.col_upper_ = np.zeros(m), np.ones(m)
    lp.row_lower_, lp.row_upper_ = np.ones(1), np.ones(1)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = np.array([0, m]), np.arange(m), np.ones(m)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.passModel(lp)
    columns, rows = np.triu_indices(m)
    starts = np.concatenate([[0], np.cumsum(np.arange(m, 0, -1))])
    highs.passHessian(m, rows.size, int(highspy.HessianFormat.kTriangular), starts, rows, G[rows, columns])
    highs.run()
    alpha = np.maximum(np.asarray(highs.getSolution().col_value), 0)
    return alpha / alpha.sum()


def fit_plain_loop(X, y, n_classes, seconds):
    """The one-slack cutting-plane method of textbooks, with HiGHS for the dual."""
    began = time.perf_counter()
    risk, lam = numpy_risk(X, y, n_classes), 1 / (C * len(X))
    w = np.zeros(n_classes * X.shape[1])
    A, b, G = np.zeros((1, w.size)), np.zeros(1), np.zeros((1, 1))  # the slack is at least 0
    value, lower, gap, best, calls = np.inf, 0.0, np.inf, w, 0
    while gap > GAP and time.perf_counter() - began < seconds:
        height, a = risk(w)
        calls += 1
        if height + lam / 2 * w @ w < value:
            value, best = height + lam / 2 * w @ w, w
        A, b = np.vstack([A, a]), np.append(b, height - a @ w)
        products = A @ a
        G = np.block([[G, products[:-1, None]], [products[None]]])
        alpha = simplex_qp_by_highs(G / lam, b)
        w = -alpha @ A / lam
        lower = max(lower, b @ alpha - lam / 2 * w @ w)
        gap = (value - lower) / value
    return Fit(best, calls, gap <= GAP, gap)


def fit_linear_svc(X, y, n_classes, tol):
    model = LinearSVC(multi_class="crammer_singer", C=C, fit_intercept=False, tol=tol, max_iter=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        w = model.fit(X, y).coef_.ravel()
    return Fit(w, model.n_iter_, model.n_iter_ < model.max_iter)


def compare(X, y, n_classes, repeats, loop_seconds):
    """Time all methods on one problem, repeats interleaved; print rows and ratios."""
    risk = StructuredRisk(MultiClassTask(n_classes, X.shape[1]), X, y)

    def objective(w):
        return risk(w)[0] + w @ w / (2 * C * len(X))

    exact = fit_ermlab(X, y, n_classes, tol=1e-6)
    optimum = objective(exact.w) * (1 - exact.gap)
    svc_tol = next(
        tol for tol in TOLERANCES if objective(fit_linear_svc(X, y, n_classes, tol).w) <= (1 + GAP) * optimum
    )
    fits = {
        OWN: lambda: fit_ermlab(X, y, n_classes, "blocks"),
        f"LinearSVC, tol {svc_tol:.0e}": lambda: fit_linear_svc(X, y, n_classes, svc_tol),
        "ermlab, bundle": lambda: fit_ermlab(X, y, n_classes, "bundle", max_iter=BUNDLE_CALLS),
        "numpy loop + HiGHS": lambda: fit_plain_loop(X, y, n_classes, loop_seconds),
    }
    seconds, unfinished = {name: [] for name in fits}, {}
    for _ in range(repeats):
        for name, fit in fits.items():
            if name in unfinished:
                continue
            began = time.perf_counter()
            found = fit()
            seconds[name].append(time.perf_counter() - began)
            if not found.done:
                unfinished[name] = found.gap
            print(
                f"{name:22} {seconds[name][-1]:8.3f} s  {found.passes:5} passes  "
                f"{objective(found.w) / optimum - 1:8.2e} above the optimum"
                + ("" if found.gap is None else f", gap {found.gap:.2e}"),
                flush=True,
            )
    own = statistics.median(seconds[OWN])
    print(f"median of {OWN}: {own:.3f} s, least {min(seconds[OWN]):.3f} s")
    for name, times in seconds.items():
        ratio, least = statistics.median(times) / own, min(times) / min(seconds[OWN])
        if name in unfinished:
            print(f"{name}: stopped after {ratio:.0f} times as long with a gap of {unfinished[name]:.1e}")
        elif name != OWN:
            print(f"{name} takes {ratio:.2f} times as long (least times: {least:.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--features", type=int, default=500)
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument(
        "--scale", type=float, nargs="+", help="standard deviations of a feature [1, 1 / sqrt(features)]"
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--loop-seconds", type=float, default=90.0, help="limit of the numpy loop [90]")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    with threadpool_limits(1):
        for scale in options.scale or (1.0, options.features**-0.5):
            X, y = planted_data(options.samples, options.features, options.classes, scale, options.seed)
            print(f"\nstandard deviation of a feature {scale:.3g}", flush=True)
            for solver in ("bundle", "blocks"):
                fit_ermlab(X[:50], y[:50], options.classes, solver)  # compile or load the kernels
            compare(X, y, options.classes, options.repeats, options.loop_seconds)


if __name__ == "__main__":
    main()
