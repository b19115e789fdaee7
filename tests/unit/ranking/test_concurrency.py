"""Ranking in several threads and processes at a time: results are those of one alone."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
from sklearn.model_selection import GridSearchCV

from ermlab.ranking import RankingSVM

N_THREADS = 4


def samples(seed, n=400, n_features=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    return X, np.abs(X @ rng.normal(size=n_features) + rng.normal(size=n))


def fit(seed):
    X, losses = samples(seed)
    return RankingSVM(C=10.0).fit(X, losses).coef_


def test_threads_side_by_side_fit_as_one_alone():
    alone = [fit(seed) for seed in range(N_THREADS)]
    start = Barrier(N_THREADS)  # so that all are within the kernels at a time

    def fit_at_once(seed):
        start.wait()
        return [fit(seed) for _ in range(3)]

    with ThreadPoolExecutor(N_THREADS) as threads:
        together = list(threads.map(fit_at_once, range(N_THREADS)))
    for expected, found in zip(alone, together, strict=True):
        for coefficients in found:
            np.testing.assert_array_equal(coefficients, expected)


def test_the_processes_of_a_grid_search_fit_as_one_alone():
    X, losses = samples(0)
    grid = {"C": [0.1, 10.0], "rescaling": ["slack", "margin"]}
    alone, together = (GridSearchCV(RankingSVM(), grid, cv=2, n_jobs=n).fit(X, losses) for n in (1, 2))
    for split in range(2):
        name = f"split{split}_test_score"
        np.testing.assert_array_equal(together.cv_results_[name], alone.cv_results_[name])
    assert together.best_params_ == alone.best_params_
    np.testing.assert_array_equal(together.best_estimator_.coef_, alone.best_estimator_.coef_)
