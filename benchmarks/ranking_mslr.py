"""Ranking web pages by graded relevance (MSLR-WEB10K, 5000 pages to train): ermlab against its peers.

NDCG@10 and the pairwise risk (thesis, eq. 3.9) within queries on pages of other queries, and seconds to
train. Features are standardised; losses are (4 - relevance) / 4. The strength of regularisation of the linear
methods is chosen by cross-validation over queries, by NDCG@10; seconds are those of the last fit.
LightGBM's lambdarank joins in if it is installed. Needs a folder with the archives: ``ERMLAB_MIRROR``.
"""

import argparse
import importlib.util
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

from ermlab.metrics.ranking import ndcg
from ermlab.ranking.estimator import RankingSVM
from ermlab.ranking.oracle import pairwise_risk
from reproduction.acquire.registry import MIRROR_VARIABLE, acquire, load_registry
from reproduction.datasets.mslr_5k import HIGHEST_GRADE, read_mslr_5k

STRENGTHS = np.logspace(-2, 4, 7)
FOLDS = 5


class Lambdarank:
    """LightGBM's ranker as a scorer; its default trees."""

    def __init__(self, seed):
        from lightgbm import LGBMRanker

        self._model = LGBMRanker(random_state=seed, verbose=-1)

    def fit(self, X, losses, groups):
        order = np.argsort(groups, kind="stable")  # the ranker wants groups in one piece
        sizes = np.unique(groups, return_counts=True)[1]
        grades = np.round(HIGHEST_GRADE * (1 - losses[order])).astype(int)
        self._model.fit(X[order], grades, group=sizes)
        return self

    def decision_function(self, X):
        return self._model.booster_.predict(X)


class Regression:
    """A regression of the losses, whose negative prediction is the score."""

    def __init__(self, model):
        self._model = model

    def fit(self, X, losses, groups):
        self._model.fit(X, losses)
        return self

    def decision_function(self, X):
        return -self._model.predict(X)


def methods(seed):
    """Return constructors that take the strength of the data's say, and whether they listen to it."""
    found = {
        "RankingSVM, slack": (lambda C: RankingSVM(C=C), True),
        "RankingSVM, margin": (lambda C: RankingSVM(C=C, rescaling="margin"), True),
        "Ridge": (lambda C: Regression(Ridge(alpha=1e4 / C)), True),
        "HistGradientBoostingRegressor": (
            lambda C: Regression(HistGradientBoostingRegressor(random_state=seed)),
            False,
        ),
    }
    if importlib.util.find_spec("lightgbm"):
        found["LightGBM lambdarank"] = (lambda C: Lambdarank(seed), False)
    else:
        print("lightgbm is not installed: left out")
    return found


def choose_strength(build, X, losses, groups):
    """Return the strength of the largest NDCG@10 in cross-validation over queries."""
    qualities = []
    for C in STRENGTHS:
        folds = []
        for train, test in GroupKFold(FOLDS).split(X, losses, groups):
            model = build(C).fit(X[train], losses[train], groups[train])
            grades = HIGHEST_GRADE * (1 - losses[test])
            folds.append(ndcg(grades, model.decision_function(X[test]), groups[test]))
        qualities.append(np.mean(folds))
    return STRENGTHS[np.argmax(qualities)]


def read_data(mirror):
    registry = load_registry(Path(__file__).parents[1] / "data/registry.yaml")
    with tempfile.TemporaryDirectory() as folder:
        acquire("mslr_5k", Path(folder), policy="real", mirror=mirror, registry=registry)
        return read_mslr_5k(Path(folder) / "mslr_5k")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    mirror = os.environ.get(MIRROR_VARIABLE)
    if not mirror:
        parser.error(f"set {MIRROR_VARIABLE} to a folder with the archives of the data sets")

    data = read_data(Path(mirror))
    scaler = StandardScaler().fit(data.train.features)
    X, X_test = scaler.transform(data.train.features), scaler.transform(data.test.features)
    losses, losses_test = (1 - part.relevance / HIGHEST_GRADE for part in (data.train, data.test))
    for name, (build, regularised) in methods(options.seed).items():
        C = choose_strength(build, X, losses, data.train.query) if regularised else None
        build(C).fit(X[:500], losses[:500], data.train.query[:500])  # compile or load the kernels
        began = time.perf_counter()
        model = build(C).fit(X, losses, data.train.query)
        seconds = time.perf_counter() - began
        scores = model.decision_function(X_test)
        quality = ndcg(data.test.relevance, scores, data.test.query)
        risk = pairwise_risk(losses_test, scores, groups=data.test.query)
        chosen = "" if C is None else f"  C {C:g}"
        print(
            f"{name:30} NDCG@10 {quality:.4f}  pairwise risk {risk:.4f}  {seconds:7.2f} s{chosen}", flush=True
        )
    scores = np.random.default_rng(options.seed).normal(size=len(losses_test))
    quality = ndcg(data.test.relevance, scores, data.test.query)
    risk = pairwise_risk(losses_test, scores, groups=data.test.query)
    print(f"{'random order':30} NDCG@10 {quality:.4f}  pairwise risk {risk:.4f}")


if __name__ == "__main__":
    main()
