"""Passes over all samples that training a ranking SVM takes: with a subsample, without, and by the textbook.

Six kinds of data, two rescalings, prices C of the mean over pairs from 0.1 to 1e5, a relative gap of 1e-3.
Prints the counts, which are the same on every machine. ``--own`` leaves out the two slower methods.
"""

import argparse
import time

import numpy as np

from ermlab.optimize import L2, minimize
from ermlab.ranking.estimator import RankingSVM
from ermlab.ranking.risk import RankingRisk

GAP = 1e-3
LIMIT = 200


def ranks(quality):
    """Losses spread evenly over [0, 1], the lowest for the best."""
    return 1 - np.argsort(np.argsort(quality)) / (len(quality) - 1)


def planted(n, d, seed, noise):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    return X, X @ w / np.linalg.norm(w) + noise * rng.normal(size=n)


def noisy(n, d, seed):
    X, quality = planted(n, d, seed, 1.0)
    return X, ranks(quality)


def clean(n, d, seed):
    X, quality = planted(n, d, seed, 0.1)
    return X, ranks(quality)


def overlap(n, d, seed):
    """Losses 1 - overlap, 0.6 of them 1; skewed features."""
    X, quality = planted(n, d, seed, 1.0)
    return np.exp(X / 2), 1 - np.clip(quality / 4 - 0.1, 0, 1)


def rare(n, d, seed):
    """Losses 1 - overlap, all but 2 % of them 1; skewed features."""
    X, quality = planted(n, d, seed, 1.0)
    return np.exp(X / 2), 1 - np.clip(quality / 4 - 0.75, 0, 1)


def grades(n, d, seed):
    """Five grades, and features that are whole numbers: kinks that many pairs share."""
    X, quality = planted(n, d, seed, 1.0)
    return np.round(X), np.clip(2 - np.round(quality), 0, 4) / 4


def scaled(n, d, seed):
    """Features of scales from 0.1 to 10."""
    X, quality = planted(n, d, seed, 1.0)
    return X * np.logspace(-1, 1, d), ranks(quality)


PROBLEMS = (noisy, clean, overlap, rare, grades, scaled)


def count_calls(X, losses, rescaling, C, own):
    """Return the passes of each method, and the seconds and the gap of the first."""
    began = time.perf_counter()
    model = RankingSVM(C=C, rescaling=rescaling, tol=GAP).fit(X, losses)
    seconds = time.perf_counter() - began
    calls = [model.n_iter_]
    if not own:
        risk = RankingRisk(X, losses, rescaling=rescaling)
        for method in ("level", "cutting-plane"):
            result = minimize(risk, L2(1 / C), tol=GAP, max_iter=LIMIT, method=method)
            calls.append(result.n_iter if result.converged else f"> {LIMIT}")
    return calls, seconds, model.gap_


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=7)
    parser.add_argument("--C", type=float, nargs="+", default=[1e-1, 1e1, 1e3, 1e5])
    parser.add_argument("--problems", nargs="+", choices=[p.__name__ for p in PROBLEMS])
    parser.add_argument("--own", action="store_true", help="only the method of the estimator")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    print("problem  rescaling         C  subsample  level  textbook")
    most = 0
    for problem in PROBLEMS:
        if options.problems and problem.__name__ not in options.problems:
            continue
        X, losses = problem(options.samples, options.features, options.seed)
        for rescaling in ("slack", "margin"):
            for C in options.C:
                calls, seconds, gap = count_calls(X, losses, rescaling, C, options.own)
                most = max(most, calls[0])
                columns = "  ".join(f"{count!s:>7}" for count in calls)
                name = f"{problem.__name__:8} {rescaling:6} {C:12g}"
                print(f"{name}   {columns}   gap {gap:.1e} in {seconds:.2f} s", flush=True)
    print(f"at most {most} passes")


if __name__ == "__main__":
    main()
