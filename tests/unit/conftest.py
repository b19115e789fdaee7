"""Films for tests.

One that the brain knows nothing of, and a model that fits it: what do filters and splits leak? And cells that
move about: who is who in the next frame?
"""

import numpy as np
import pytest

from ermlab.features.cell_films import CellFilm
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


@pytest.fixture(scope="session")
def moving_cells():
    """Return a function of a seed: a film of cells that differ in area and brightness and take random steps.

    They are 100 pixels large or so; the longer the steps, the more are nearest to where another one was.
    """

    def draw(seed, n=30, n_frames=4, step=5.0, untracked=0):
        rng = np.random.default_rng(seed)
        paths = rng.uniform(10, 190, (n, 2)) + np.cumsum(rng.normal(0, step, (n_frames, n, 2)), axis=0)
        detections = n * n_frames
        tracks = np.column_stack([np.arange(detections), np.tile(np.arange(1, n + 1), n_frames)])
        return CellFilm(
            frame=np.repeat(np.arange(n_frames), n),
            position=paths.reshape(-1, 2),
            area=np.tile(rng.uniform(50, 150, n), n_frames),
            intensity=np.tile(rng.uniform(1, 2, n), n_frames),
            eccentricity=np.zeros(detections),
            shape=np.array([200, 200]),
            n_frames=n_frames,
            tracks=tracks[tracks[:, 1] > untracked],
            lineage=np.array([[k, 0, n_frames - 1, 0] for k in range(1, n + 1)]),
        )

    return draw
