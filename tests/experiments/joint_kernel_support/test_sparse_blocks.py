"""A dual that keeps filled entries only does what planes written out do."""

import numpy as np
import pytest

from ermlab.optimize import L2, PlaneBlocks, minimize_blocks
from reproduction.experiments.joint_kernel_support.sparse_blocks import RIGHT, SparseBlocks, SparseRow

N_OUTPUTS, DIMENSION = 6, 9


class Choice:
    """Samples that choose among outputs with random features, most of them zero: an open `SparseRisk`."""

    def __init__(self, n=25, seed=0):
        rng = np.random.default_rng(seed)
        shape = n, N_OUTPUTS, DIMENSION
        self.features = rng.normal(size=shape) * (rng.random(shape) < 0.3)
        self.losses = rng.random((n, N_OUTPUTS))
        self.right = rng.integers(N_OUTPUTS, size=n)
        self.losses[np.arange(n), self.right] = 0
        self.dimension = DIMENSION

    def __len__(self):
        return len(self.right)

    def most_violated(self, w):
        return (self.features @ w + self.losses).argmax(axis=1).tolist()

    def feature(self, i, z):
        full = self.features[i, self.right[i] if z == RIGHT else z]
        columns = np.flatnonzero(full).astype(np.int32)
        return SparseRow(columns, full[columns])

    def loss(self, i, z):
        return float(self.losses[i, z])

    def plane(self, i, w):
        z = int((self.features[i] @ w + self.losses[i]).argmax())
        a = self.features[i, z] - self.features[i, self.right[i]]
        return (a, self.loss(i, z)) if a @ w + self.loss(i, z) > 0 else (np.zeros(DIMENSION), 0.0)

    def __call__(self, w):
        planes = [self.plane(i, w) for i in range(len(self))]
        return np.mean([a @ w + b for a, b in planes]), np.mean([a for a, _ in planes], axis=0)


def minimized(risk, dual, lam, tol):
    risk.block_dual = lambda _: dual
    result = minimize_blocks(risk, L2(lam), tol=tol)
    del risk.block_dual
    assert result.converged
    return result


@pytest.mark.parametrize("lam", [0.2, 0.01])
def test_training_ends_where_it_ends_with_full_planes(lam):
    risk = Choice()
    sparse = minimized(risk, SparseBlocks(risk, lam), lam, 1e-5)
    full = minimized(risk, PlaneBlocks(risk, lam), lam, 1e-5)
    assert sparse.value == pytest.approx(full.value, rel=2e-5)
    assert sparse.value == pytest.approx(risk(sparse.w)[0] + lam / 2 * sparse.w @ sparse.w, rel=1e-12)
    assert sparse.lower_bound <= full.value
    np.testing.assert_allclose(sparse.w, full.w, atol=3e-2)


def test_values_and_planes_are_those_of_the_risk():
    risk, lam, rng = Choice(), 0.05, np.random.default_rng(1)
    dual, lower, least = SparseBlocks(risk, lam), -np.inf, minimize_blocks(risk, L2(lam), tol=1e-4).value
    for _ in range(6):
        w = dual.w.copy()
        value, subgradient = dual.collect()
        assert value == pytest.approx(risk(w)[0])
        assert dual.along(1.0)[0] == pytest.approx(value)
        assert dual.along(1.3)[0] <= risk(1.3 * w)[0] + 1e-12
        dual.ascend(rng.permutation(len(risk)), 0.0)
        ascended = dual.w.copy()
        a, b = dual.aggregate()
        np.testing.assert_allclose(dual.w, ascended, atol=1e-12)
        np.testing.assert_allclose(dual.w, -a / lam)
        for u in rng.normal(size=(5, DIMENSION)):
            assert risk(u)[0] >= max(value + subgradient @ (u - w), a @ u + b) - 1e-12
        # The dual value only rises, and the minimum is never below it.
        assert lower <= b - a @ a / (2 * lam) <= least
        lower = b - a @ a / (2 * lam)


def test_less_regularization_goes_on_from_the_same_weights():
    risk = Choice()
    dual = SparseBlocks(risk, 0.5)
    minimized(risk, dual, 0.5, 1e-4)
    w = dual.w.copy()
    assert np.abs(w).max() > 0
    dual.at(0.05).aggregate()
    np.testing.assert_allclose(dual.w, w)
    warm = minimized(risk, dual, 0.05, 1e-6)
    cold = minimized(risk, SparseBlocks(risk, 0.05), 0.05, 1e-6)
    assert warm.value == pytest.approx(cold.value, rel=2e-6)
    assert warm.lower_bound <= cold.value * (1 + 1e-9)


def test_more_regularization_shortens_the_weights_and_ends_where_it_should():
    risk = Choice()
    dual = SparseBlocks(risk, 0.01)
    minimized(risk, dual, 0.01, 1e-4)
    w = dual.w.copy()
    dual.at(0.5).aggregate()
    np.testing.assert_allclose(dual.w, w * 0.01 / 0.5)
    warm = minimized(risk, dual, 0.5, 1e-6)
    cold = minimized(risk, SparseBlocks(risk, 0.5), 0.5, 1e-6)
    assert warm.value == pytest.approx(cold.value, rel=2e-6)
    assert warm.lower_bound <= cold.value * (1 + 1e-9)


@pytest.mark.parametrize("lam", [0.01, 1.0])
def test_planes_without_weight_are_forgotten(lam):
    risk = Choice(n=8)
    dual, most = SparseBlocks(risk, lam), 0
    for step in range(30):
        dual.collect()
        most = max(most, dual.n_planes)
        dual.ascend(np.random.default_rng(step).permutation(len(risk)), 0.0)
        dual.aggregate()
    assert dual.n_planes < most
    # Where no sample is right by a margin, the planes 0 are among them; they come back where weights shrink.
    assert all(RIGHT in block for block in dual._blocks) == (lam < 1)
    w = dual.w.copy()
    dual.at(lam / 10).aggregate()
    for block in dual._blocks:
        assert RIGHT in block
        assert block.alpha.sum() == pytest.approx(1)
    np.testing.assert_allclose(dual.w, w)


@pytest.mark.parametrize(
    ("columns", "values", "message"),
    [
        ([5], [1.0], "columns from 5 to 5: expected 0 to 2"),
        ([-1], [1.0], "columns from -1 to -1: expected 0 to 2"),
        ([0, 1], [1.0], r"values of shape \(1,\)"),
        ([0.5], [1.0], "type float64"),
    ],
)
def test_columns_that_compiled_loops_must_not_follow(columns, values, message):
    class Risk:
        dimension = 3

        def __len__(self):
            return 1

        def most_violated(self, w):
            return [0]

        def feature(self, i, z):
            return (
                SparseRow(np.array([0], np.int32), np.ones(1)) if z == RIGHT else SparseRow(columns, values)
            )

        def loss(self, i, z):
            return 1.0

    with pytest.raises(ValueError, match=message):
        SparseBlocks(Risk(), 1.0).collect()
