"""Ranking SVM: ermlab against LinearSVC on explicit pairs and against dlib's svm_rank_trainer.

Gaussian features, losses in [0, 1] that fall with a planted linear score plus noise. With graded losses,
LinearSVC gets the differences of all pairs as samples, each weighed by the difference of the losses: the same
problem as ours. dlib knows only relevant and irrelevant samples: it joins in where the losses are 0 and 1, if
it is installed; it solves the same problem then, too. LinearSVC has the loosest tolerance that brings it
within 1e-3 of the optimum, the others stop at a gap of 1e-3. Prints one row per run, with the pairwise
risk on other samples, and the ratios of the medians.
"""

import argparse
import importlib.util
import statistics
import time

import numpy as np
from sklearn.svm import LinearSVC

from ermlab.ranking.estimator import RankingSVM
from ermlab.ranking.oracle import pairwise_risk
from ermlab.ranking.risk import RankingRisk

GAP = 1e-3
TOLERANCES = (1e2, 3e1, 1e1, 3e0, 1e0, 3e-1, 1e-1, 3e-2, 1e-2, 1e-3, 1e-4)
OWN = "ermlab"


def planted_data(n, d, seed):
    """Return features and losses to train and to test."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(2 * n, d)), rng.normal(size=d)
    quality = X @ w / np.linalg.norm(w) + rng.normal(size=2 * n)
    losses = 1 / (1 + np.exp(2 * quality))
    return X[:n], losses[:n], X[n:], losses[n:]


def fit_ermlab(X, losses, C, tol=GAP):
    return RankingSVM(C=C, tol=tol).fit(X, losses).coef_


def fit_linear_svc(X, losses, C, tol):
    """Train on the differences of all pairs; every other pair is turned around to make two classes."""
    better, worse = np.nonzero(losses[:, None] < losses[None])
    signs = np.where(np.arange(better.size) % 2 == 0, 1.0, -1.0)
    differences = signs[:, None] * (X[better] - X[worse])
    weights = C * (losses[worse] - losses[better]) / better.size
    model = LinearSVC(loss="hinge", fit_intercept=False, tol=tol, max_iter=10_000, random_state=0)
    return model.fit(differences, signs, sample_weight=weights).coef_[0]


def fit_dlib(X, losses, C):
    import dlib

    samples = dlib.ranking_pair()
    for x, loss in zip(X.tolist(), losses, strict=True):
        (samples.relevant if loss == 0 else samples.nonrelevant).append(dlib.vector(x))
    trainer = dlib.svm_rank_trainer()
    trainer.c, trainer.epsilon = C, GAP
    return np.array(trainer.train(samples).weights).ravel()


def compare(data, C, peers, repeats):
    """Time all on one problem, repeats interleaved; print rows and ratios."""
    X, losses, X_test, losses_test = data
    risk = RankingRisk(X, losses)

    def objective(w):
        return 0.5 * w @ w + C * risk(w)[0]

    optimum = objective(fit_ermlab(X, losses, C, tol=1e-6))
    fits = {OWN: lambda: fit_ermlab(X, losses, C)}
    if "LinearSVC" in peers:
        tol = next(
            tol for tol in TOLERANCES if objective(fit_linear_svc(X, losses, C, tol)) <= (1 + GAP) * optimum
        )
        fits[f"LinearSVC on pairs, tol {tol:.0e}"] = lambda: fit_linear_svc(X, losses, C, tol)
    if "dlib" in peers:
        fits["dlib svm_rank_trainer"] = lambda: fit_dlib(X, losses, C)
    seconds = {name: [] for name in fits}
    for _ in range(repeats):
        for name, fit in fits.items():
            began = time.perf_counter()
            w = fit()
            seconds[name].append(time.perf_counter() - began)
            wrong = pairwise_risk(losses_test, X_test @ w)
            print(
                f"{name:30} {seconds[name][-1]:8.3f} s  {objective(w) / optimum - 1:8.1e} above the optimum  "
                f"pairwise risk {wrong:.4f}",
                flush=True,
            )
    own = statistics.median(seconds[OWN])
    for name, times in seconds.items():
        if name != OWN:
            print(f"{name} takes {statistics.median(times) / own:.1f} times as long")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=3000)
    parser.add_argument("--features", type=int, default=7)
    parser.add_argument("--C", type=float, nargs="+", default=[10.0, 1000.0])
    parser.add_argument("--dlib-samples", type=int, default=30_000, help="without LinearSVC [30000]")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    with_dlib = importlib.util.find_spec("dlib") is not None
    if not with_dlib:
        print("dlib is not installed: left out")
    graded = planted_data(options.samples, options.features, options.seed)
    fit_ermlab(*graded[:2], C=1.0)  # compile or load the kernels
    for C in options.C:
        print(f"\n{options.samples} samples of graded loss, C = {C:g}", flush=True)
        compare(graded, C, {"LinearSVC"}, options.repeats)
        if with_dlib:
            X, losses, X_test, losses_test = planted_data(
                options.dlib_samples, options.features, options.seed
            )
            print(f"\n{options.dlib_samples} samples, a fifth of them relevant, C = {C:g}", flush=True)
            relevant = np.quantile(losses, 0.2)
            binary = (X, 1.0 * (losses > relevant), X_test, 1.0 * (losses_test > relevant))
            compare(binary, C, {"dlib"}, options.repeats)


if __name__ == "__main__":
    main()
