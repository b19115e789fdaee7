"""Multi-class structured SVM: ermlab against a plain one-slack loop and against LinearSVC.

Gaussian features of unit expected length, classes of the highest planted score, C = 1 on the sum of the
slacks, to a relative gap of 1e-3. The loop is the textbook cutting-plane method in numpy with a general QP
solver, and all run on one thread. Prints one row a repeat and the ratios of the medians.
"""

import argparse
import statistics
import time
import warnings

import highspy
import numpy as np
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from ermlab.risk.structured import MultiClassTask, StructuredRisk, StructuredSVM

C = 1.0
GAP = 1e-3


def planted_data(n, d, n_classes, scale, seed):
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(n, d)), rng.normal(size=(n_classes, d))
    return scale * X, np.argmax(X @ W.T, axis=1)


def fit_ermlab(X, y, n_classes):
    model = StructuredSVM(MultiClassTask(n_classes, X.shape[1]), C=C, tol=GAP).fit(X, y)
    return model.coef_, model.result_.calls


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


def fit_plain_loop(X, y, n_classes):
    """The one-slack cutting-plane method as it stands in textbooks, with HiGHS for the dual."""
    risk, lam = numpy_risk(X, y, n_classes), 1 / (C * len(X))
    w = np.zeros(n_classes * X.shape[1])
    A, b, G = np.zeros((1, w.size)), np.zeros(1), np.zeros((1, 1))  # the slack is at least 0
    value, best, calls = np.inf, w, 0
    while True:
        height, a = risk(w)
        calls += 1
        if height + lam / 2 * w @ w < value:
            value, best = height + lam / 2 * w @ w, w
        A, b = np.vstack([A, a]), np.append(b, height - a @ w)
        products = A @ a
        G = np.block([[G, products[:-1, None]], [products[None]]])
        alpha = simplex_qp_by_highs(G / lam, b)
        w = -alpha @ A / lam
        if value - (b @ alpha - lam / 2 * w @ w) <= GAP * value:
            return best, calls


def fit_linear_svc(X, y, n_classes, tol):
    model = LinearSVC(multi_class="crammer_singer", C=C, fit_intercept=False, tol=tol, max_iter=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y).coef_.ravel(), model.n_iter_


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--features", type=int, default=500)
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--scale", type=float, help="standard deviation of a feature [1 / sqrt(features)]")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    scale = options.features**-0.5 if options.scale is None else options.scale
    X, y = planted_data(options.samples, options.features, options.classes, scale, options.seed)
    risk = StructuredRisk(MultiClassTask(options.classes, options.features), X, y)
    fits = {
        "ermlab": lambda: fit_ermlab(X, y, options.classes),
        "numpy loop + HiGHS": lambda: fit_plain_loop(X, y, options.classes),
        "LinearSVC, tol 1e-2": lambda: fit_linear_svc(X, y, options.classes, 1e-2),
        "LinearSVC, tol 1e-3": lambda: fit_linear_svc(X, y, options.classes, 1e-3),
    }
    seconds = {name: [] for name in fits}
    with threadpool_limits(1):
        fit_ermlab(X[:50], y[:50], options.classes)  # compile or load the kernels
        for _ in range(options.repeats):
            for name, fit in fits.items():
                began = time.perf_counter()
                w, steps = fit()
                seconds[name].append(time.perf_counter() - began)
                objective = risk(w)[0] + w @ w / (2 * C * len(X))
                print(
                    f"{name:20} {seconds[name][-1]:8.3f} s  {steps:5} passes  objective {objective:.6f}",
                    flush=True,
                )
    own = statistics.median(seconds["ermlab"])
    print(f"\nmedian of ermlab: {own:.3f} s, least {min(seconds['ermlab']):.3f} s")
    for name, times in seconds.items():
        if name != "ermlab":
            ratio, least = statistics.median(times) / own, min(times) / min(seconds["ermlab"])
            print(f"{name} takes {ratio:.2f} times as long (least times: {least:.2f})")


if __name__ == "__main__":
    main()
