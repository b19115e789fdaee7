"""Rings from one point each: theorems about the invariant model, and the measures of symmetry."""

from itertools import pairwise

import numpy as np
import pytest

from ermlab.kernels.polynomial import n_features, polynomial_features
from ermlab.structured.equivariant import AngleRange, FiniteSet, Rotation
from ermlab.structured.multiclass import MultiClassTask
from ermlab.structured.structured_svm import StructuredSVM
from reproduction.experiments.equivariant_toy.rings import (
    DISC,
    RADII,
    PointTask,
    RingModel,
    draw_samples,
    equal_rotations,
    fit_rings,
    ring_error,
    rotations,
    symmetry_error,
    virtual_share,
)


@pytest.fixture(scope="module")
def samples():
    return draw_samples(np.random.default_rng(0))


def model(weights, samples, degree=2):
    nothing = np.zeros((0, 2)), np.zeros(0, dtype=int)
    return RingModel(degree, samples, np.array(weights), *nothing, objective=0.0, n_iter=0)


def test_one_point_on_each_ring(samples):
    np.testing.assert_allclose(np.linalg.norm(samples, axis=1), RADII)
    again = draw_samples(np.random.default_rng(0))
    np.testing.assert_array_equal(samples, again)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_point_task_is_the_class_task_on_features(samples, rescaling):
    task, plain = PointTask(3, 3), MultiClassTask(3, n_features(2, 3))
    w = np.random.default_rng(1).normal(size=task.dimension)
    for y, x in enumerate(samples):
        features = polynomial_features(x, 3)
        np.testing.assert_array_equal(task.joint_feature(x, y), plain.joint_feature(features, y))
        assert task.most_violated(w, x, y, rescaling) == plain.most_violated(w, features, y, rescaling)
        assert task.predict(w, x) == plain.predict(w, features)


def test_no_rotation_gives_the_plain_model(samples):
    """The solver without any transformation, on features: the same bits."""
    toy = fit_rings(samples, rotations(0, 3), 3, C=10.0)
    plain = StructuredSVM(MultiClassTask(3, 10), C=10.0, rescaling="slack")
    plain.fit(polynomial_features(samples, 3), np.arange(3))
    np.testing.assert_array_equal(toy.weights.ravel(), plain.coef_)
    np.testing.assert_array_equal(toy.virtual, samples)
    assert toy.predict(samples).tolist() == [0, 1, 2]


@pytest.mark.parametrize("degree", [2, 3])
def test_with_all_rotations_scores_depend_on_the_radius_alone(samples, degree):
    """The minimizer is unique and the problem is invariant to rotations of the plane."""
    toy = fit_rings(samples, rotations(np.pi, degree), degree, C=100.0, tol=1e-4)
    turned = np.stack([Rotation(angle).input(samples.T).T for angle in np.linspace(0, 6, 40)])
    scores = toy.scores(turned)
    spread = np.ptp(scores, axis=0)
    assert (spread < 0.05 * np.abs(scores).max()).all()
    assert symmetry_error(toy) < 0.01


@pytest.mark.parametrize("degree", [2, 3])
def test_degree_plus_one_rotations_have_the_solution_of_all(samples, degree):
    every = fit_rings(samples, rotations(np.pi, degree), degree, C=100.0)
    enough = fit_rings(samples, equal_rotations(degree + 1), degree, C=100.0)
    too_few = fit_rings(samples, equal_rotations(degree), degree, C=100.0)
    assert enough.objective == pytest.approx(every.objective, rel=2e-3)
    assert too_few.objective < 0.99 * every.objective
    assert len(enough.virtual) <= 3 * (degree + 1)


def test_more_rotations_never_cost_less(samples):
    parts = (0, 1 / 4, 1 / 2, 1)
    costs = [fit_rings(samples, rotations(np.pi * part, 3), 3, C=100.0).objective for part in parts]
    assert all(small <= 1.002 * large for small, large in pairwise(costs))


def test_continuous_rotations_against_a_fine_grid(samples):
    """The model for any angle has the objective of one with a grid of a quarter of a degree."""
    limit = np.pi / 8
    fine = FiniteSet([Rotation(angle) for angle in np.linspace(-limit, limit, 181)])
    both = [fit_rings(samples, turns, 3, C=100.0) for turns in (AngleRange(Rotation, limit), fine)]
    assert both[0].objective == pytest.approx(both[1].objective, rel=2e-3)


def test_measures_of_known_regions(samples):
    """Features of degree 2 are x x, x y, x, y y, y, 1 (each with its factor)."""
    halves = model([[0, 0, 1, 0, 0, 0], [0, 0, -1, 0, 0, 0], [0, 0, 0, 0, 0, -9]], samples)
    assert symmetry_error(halves) == pytest.approx(0.5, abs=1e-2)
    rings = model([[-1, 0, 0, -1, 0, 0.5**2], [0, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, -(0.8**2)]], samples)
    assert symmetry_error(rings) == 0
    # The rings change at 1/2 and 0.8, the nearest samples at 1/2 and 5/6.
    assert ring_error(rings) == pytest.approx(((5 / 6) ** 2 - 0.8**2) / DISC**2, abs=0.01)
    assert rings.margin([0.0, 0.0]) == pytest.approx(0.25)
    # Halves inside half the radius of the disc, a quarter of its area, and one class outside.
    r = DISC / 2
    inner = model([[0, 0, 1, 0, 0, 0], [0, 0, -1, 0, 0, 0], [1e4, 0, 0, 1e4, 0, -1e4 * r**2]], samples)
    assert symmetry_error(inner) == pytest.approx(0.5 / 4, abs=1e-2)


def test_virtual_samples_count_once_per_degree(samples):
    close = FiniteSet([Rotation(np.deg2rad(angle)) for angle in (0, 0.1, 359.9, 5)])
    toy = fit_rings(samples, close, 2, C=100.0)
    assert 3 <= len(toy.virtual) <= 6
    assert virtual_share(toy) == len(toy.virtual) / (3 * 360)
    np.testing.assert_allclose(np.linalg.norm(toy.virtual, axis=1), np.array(RADII)[toy.sample])


@pytest.mark.parametrize("samples", [np.ones((2, 1)), np.ones(2), [[1.0, np.nan], [0.0, 1.0]]])
def test_samples_that_are_no_points(samples):
    with pytest.raises(ValueError, match=r"expected \(K, 2\)"):
        fit_rings(samples, equal_rotations(2), degree=1, C=1.0)


def test_no_degree_and_no_circles():
    with pytest.raises(ValueError, match="degree is 0"):
        rotations(1.0, 0)
    fitted = fit_rings(np.array([[1.0, 0.0], [2.0, 0.0]]), equal_rotations(3), degree=2, C=1.0)
    with pytest.raises(ValueError, match="0 radii and 5 angles"):
        symmetry_error(fitted, radii=0, angles=5)
