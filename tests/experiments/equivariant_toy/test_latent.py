"""The rings with the rotation as a latent variable, against an exhaustive search."""

import numpy as np
import pytest

from ermlab.kernels.polynomial import polynomial_features
from reproduction.experiments.equivariant_toy.latent import (
    N_DESCENTS,
    N_ROTATIONS,
    LatentRingModel,
    fit_latent_rings,
    prediction_seconds,
)
from reproduction.experiments.equivariant_toy.rings import draw_samples


@pytest.fixture(scope="module")
def model():
    return fit_latent_rings(draw_samples(np.random.default_rng(0)), degree=2, C=100.0, seed=0)


def test_predictions_are_those_of_the_best_rotation(model):
    for point in np.random.default_rng(1).normal(size=(20, 2)):
        scores = []
        for k in range(N_ROTATIONS):
            angle = 2 * np.pi * k / N_ROTATIONS
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            scores.append(model.weights @ polynomial_features(turn @ point, 2))
        assert model.predict(point) == np.argmax(np.max(scores, axis=0))


def test_given_points_have_their_classes_and_the_objective_is_not_convex(model):
    assert model.predict(model.samples).tolist() == [0, 1, 2]
    assert len(model.objectives) == N_DESCENTS
    assert model.midpoint_rise > 0
    norm = 0.5 * np.sum(model.weights**2)
    assert model.objectives.min() >= norm * (1 - 1e-9)


def test_spread_by_hand():
    model = LatentRingModel(2, np.zeros((3, 2)), np.zeros((3, 6)), np.array([4.0, 5.0, 4.5]), 0.0, 1.0)
    assert model.spread == pytest.approx(0.25)


def test_times_are_positive(model):
    first, second = prediction_seconds([model, model], seed=0)
    assert first > 0
    assert second > 0
