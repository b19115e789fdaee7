"""Polynomial features: their inner products are the kernel, whatever the degree and the dimension."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import polynomial_kernel as sklearn_kernel

from ermlab.kernels.polynomial import n_features, polynomial_features, polynomial_kernel


@given(
    seed=st.integers(0, 2**32 - 1),
    degree=st.integers(1, 6),
    dimension=st.integers(1, 5),
    constant=st.sampled_from([0.0, 0.3, 1.0, 2.5]),
)
def test_inner_products_are_the_kernel(seed, degree, dimension, constant):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(4, dimension)), rng.normal(size=(3, dimension))
    K = polynomial_kernel(X, Z, degree, constant)
    features = [polynomial_features(points, degree, constant) for points in (X, Z)]
    np.testing.assert_allclose(features[0] @ features[1].T, K, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(K, sklearn_kernel(X, Z, degree=degree, gamma=1, coef0=constant), rtol=1e-9)
    assert features[0].shape == (4, n_features(dimension, degree, constant))


def test_features_of_the_plane_by_hand():
    x, z = 2.0, 3.0
    root = np.sqrt(2)
    expected = [x * x, root * x * z, root * x, z * z, root * z, 1]
    np.testing.assert_allclose(polynomial_features([x, z], 2), expected)
    np.testing.assert_allclose(polynomial_features([x, z], 2, constant=0), [x * x, root * x * z, z * z])


def test_any_shape_of_points():
    grid = np.random.default_rng(0).normal(size=(4, 5, 2))
    features = polynomial_features(grid, 3)
    assert features.shape == (4, 5, 10)
    np.testing.assert_array_equal(features[1, 2], polynomial_features(grid[1, 2], 3))


@pytest.mark.parametrize("degree", [0, -1, 1.5])
def test_bad_degree(degree):
    with pytest.raises(ValueError, match=f"degree is {degree}"):
        polynomial_features([[1.0, 2.0]], degree)


def test_bad_constant_and_points():
    with pytest.raises(ValueError, match="constant is -1"):
        polynomial_kernel([[1.0]], [[1.0]], 2, constant=-1)
    with pytest.raises(ValueError, match=r"points of shape \(2, 0\)"):
        polynomial_features(np.zeros((2, 0)), 2)


def test_more_monomials_than_memory_are_refused():
    with pytest.raises(ValueError, match=r"degree 5 in 1000 dimensions has .* monomials"):
        polynomial_features(np.ones((1, 1000)), 5)


def test_quadratic_features_of_many_dimensions_need_no_table_of_all_exponents():
    assert n_features(3000, 2) == 3001 * 3002 // 2
    features = polynomial_features(np.ones((1, 1500)), 2)
    np.testing.assert_allclose(np.sum(features**2), 1501.0**2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: polynomial_kernel([[1.0]], [[1.0]], 10**400), "too large for a float"),
        (lambda: polynomial_features(np.ones((1, 10_000)), 10_000), "too many monomials"),
        (lambda: polynomial_features([[1 + 1j]], 2), "X has complex entries"),
        (lambda: polynomial_kernel([[1 + 1j]], [[1.0]], 2), "X has complex entries"),
        (lambda: polynomial_kernel(np.ma.array([[1.0]], mask=[[True]]), [[1.0]], 2), "masked"),
        (lambda: n_features(-5, 2), "dimension is -5"),
        (lambda: polynomial_kernel([[1.0]], [[1.0]], 2, "one"), "constant is 'one'"),
        (lambda: polynomial_features(np.ones((5000, 3000)), 2), "GiB of memory"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_single_monomial_of_high_degree():
    assert polynomial_features([[1.0]], 20_000, 0.0) == 1.0
