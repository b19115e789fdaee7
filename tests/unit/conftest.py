"""A film that the brain knows nothing of, and a model that fits it: what do filters and splits leak?"""

import numpy as np
import pytest

from ermlab.features.fmri import high_pass, low_pass
from ermlab.features.movie_series import MovieSeries, label_series
from ermlab.regularization.movie_study import VARIABLES


@pytest.fixture(scope="session")
def film_of_nothing():
    """Return a function of a seed: volumes and labels that have nothing in common but their filters."""

    def draw(seed, volumes=300, voxels=400):
        rng = np.random.default_rng(seed)
        noise = (rng.standard_normal((volumes, voxels)) for _ in range(2))
        film1, film2 = (low_pass(high_pass(some, 3.2), 3.2) for some in noise)
        scenes = np.repeat(rng.standard_normal((volumes // 6, 6)), 6, axis=0)
        return MovieSeries(
            film1 - film1.mean(axis=0),
            film2,
            label_series(scenes, 3.2),
            np.array(VARIABLES),
            np.ones((voxels, 1, 1), dtype=bool),
            np.eye(4),
            np.ones(voxels, dtype=int),
            np.array(VARIABLES),
            np.zeros((2, 2)),
        )

    return draw


@pytest.fixture(scope="session")
def fit_closely():
    """Return a function of rows and target: weights of a ridge that leaves hardly anything unexplained."""

    def fit(X, y):
        K = X @ X.T
        return X.T @ np.linalg.solve(K + 1e-6 * np.trace(K) / len(K) * np.eye(len(K)), y)

    return fit
