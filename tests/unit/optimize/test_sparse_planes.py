"""Planes that are mostly zeros do what planes written out do."""

import numpy as np
import pytest

from ermlab.optimize import L2, minimize_blocks
from ermlab.optimize._plane_blocks import PlaneBlocks
from ermlab.optimize.planes import Planes
from ermlab.optimize.sparse_planes import SparsePlanes
from ermlab.risk.structured import MultiClassTask, StructuredRisk

DIMENSION = 7


def random_planes(rng, n):
    """Slopes with about two zeros in three, and offsets."""
    A = rng.normal(size=(n, DIMENSION)) * (rng.random((n, DIMENSION)) < 0.3)
    return A, rng.normal(size=n)


def test_products_and_gram_are_those_of_full_planes():
    rng = np.random.default_rng(0)
    A, b = random_planes(rng, 6)
    sparse, full = SparsePlanes(DIMENSION), Planes(DIMENSION)
    for a, offset in zip(A, b, strict=True):
        assert sparse.add(a, offset)
        assert full.add(a, offset)
    assert not sparse.add(A[2], b[2])
    chosen = np.array([True, False, True, True, False, True])
    for planes in (sparse, full):
        planes.keep(chosen)
    w, alpha = rng.normal(size=DIMENSION), rng.random(len(full))
    assert len(sparse) == len(full) == 4
    np.testing.assert_allclose(sparse.products(w), full.products(w))
    np.testing.assert_allclose(sparse.combine(alpha), full.combine(alpha))
    np.testing.assert_allclose(sparse.gram, full.gram)
    np.testing.assert_array_equal(sparse.b, full.b)


def test_training_ends_where_it_ends_with_full_planes():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.6)
    Y = rng.integers(3, size=30)

    values = []
    for kept in (Planes, SparsePlanes):
        risk = StructuredRisk(MultiClassTask(3, 4), X, Y)
        risk.block_dual = lambda lam, risk=risk, kept=kept: PlaneBlocks(risk, lam, kept)
        result = minimize_blocks(risk, L2(0.05), tol=1e-6)
        assert result.converged
        values.append(result.value)
    assert values[0] == pytest.approx(values[1], rel=2e-6)


@pytest.mark.parametrize(
    ("plane", "message"),
    [
        ((np.ones(3), 0.0), "shape"),
        ((np.full(DIMENSION, np.nan), 0.0), "finite"),
        ((np.ones(DIMENSION), np.inf), "finite"),
    ],
)
def test_no_plane(plane, message):
    with pytest.raises(ValueError, match=message):
        SparsePlanes(DIMENSION).add(*plane)


def test_no_dimension():
    with pytest.raises(ValueError, match="dimension is 0"):
        SparsePlanes(0)


def test_less_regularisation_goes_on_from_the_same_weights():
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(20, 3)), rng.integers(3, size=20)
    risk = StructuredRisk(MultiClassTask(3, 3), X, Y)
    first = PlaneBlocks(risk, 0.5, SparsePlanes)
    risk.block_dual = lambda lam: first
    minimize_blocks(risk, L2(0.5), tol=1e-4)
    w = first.w.copy()
    assert np.abs(w).max() > 0
    first.at(0.05).aggregate()
    np.testing.assert_allclose(first.w, w)
    warm = minimize_blocks(risk, L2(0.05), tol=1e-6)
    del risk.block_dual
    cold = minimize_blocks(risk, L2(0.05), tol=1e-6)
    assert warm.value == pytest.approx(cold.value, rel=2e-6)
    assert warm.lower_bound <= cold.value * (1 + 1e-9)
