"""The same problem in other units has the same solution, and takes about as many calls of the risk."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ermlab.optimize import L1, L2, minimize, minimize_blocks
from ermlab.ranking import RankingSVM
from ermlab.structured.multiclass import MultiClassTask
from ermlab.structured.structured_svm import StructuredSVM

TOL = 1e-3
JOINT = [1e-9, 1e-3, 1e3, 1e9]
ONE_BY_ONE = [(1e-9, 1e9, 1.0, 1e3, 1e-3), (1e9, 1.0, 1.0, 1.0, 1.0), (1e-9, 1.0, 1.0, 1.0, 1.0)]


class Hinge:
    """The mean hinge loss of two overlapping clouds."""

    def __init__(self, units=1.0):
        rng = np.random.default_rng(0)
        y = np.repeat([-1.0, 1.0], 60)
        self._signed = (rng.normal(size=(120, 5)) + 0.4 * y[:, None]) * y[:, None] * units
        self.dimension = 5

    def __len__(self):
        return len(self._signed)

    def __call__(self, w):
        slack = 1.0 - self._signed @ w
        active = slack > 0
        return float(slack[active].sum()) / len(self), -self._signed[active].sum(axis=0) / len(self)

    def plane(self, i, w):
        if 1.0 - self._signed[i] @ w > 0:
            return -self._signed[i], 1.0
        return np.zeros(self.dimension), 0.0


@pytest.mark.parametrize("units", [*JOINT, *ONE_BY_ONE])
@pytest.mark.parametrize("method", ["level", "cutting-plane"])
@pytest.mark.parametrize(("regularizer", "power"), [(L1, 1), (L2, 2)])
def test_units_do_not_matter(regularizer, power, method, units):
    units = np.broadcast_to(units, 5)
    plain = minimize(Hinge(), regularizer(0.01), tol=TOL, method=method)
    other = minimize(Hinge(units), regularizer(0.01 * units**power), tol=TOL, method=method)
    assert plain.converged
    assert other.converged
    assert max(plain.lower_bound, other.lower_bound) <= min(plain.value, other.value)
    assert other.n_iter <= 1.5 * plain.n_iter + 5
    value, _ = Hinge()(other.w * units)
    assert value + regularizer(0.01)(other.w * units) == pytest.approx(other.value, rel=1e-9)


@pytest.mark.parametrize("units", [*JOINT, *ONE_BY_ONE])
def test_units_do_not_matter_for_planes_of_samples(units):
    units = np.broadcast_to(units, 5)
    plain = minimize_blocks(Hinge(), L2(0.01), tol=TOL)
    other = minimize_blocks(Hinge(units), L2(0.01 * units**2), tol=TOL)
    assert plain.converged
    assert other.converged
    assert max(plain.lower_bound, other.lower_bound) <= min(plain.value, other.value)
    assert other.n_iter <= 1.5 * plain.n_iter + 5


def test_powers_of_two_change_no_bit():
    units = 2.0 ** np.array([30, -30, 3, 0, 7])
    plain = minimize(Hinge(), L2(np.full(5, 0.25)), tol=1e-6)
    other = minimize(Hinge(units), L2(0.25 * units**2), tol=1e-6)
    np.testing.assert_array_equal(other.w * units, plain.w)


def test_a_strength_for_each_coordinate_is_that_of_scaled_features():
    strengths = np.array([0.1, 1.0, 10.0, 0.01, 0.5])
    found = minimize(Hinge(), L2(strengths), tol=1e-8)
    scaled = minimize(Hinge(1 / np.sqrt(strengths)), L2(1.0), tol=1e-8)
    assert found.value == pytest.approx(scaled.value, rel=1e-7)
    np.testing.assert_allclose(found.w, scaled.w / np.sqrt(strengths), atol=1e-3)


def test_strengths_and_weights_must_be_as_many():
    with pytest.raises(ValueError, match="3 strengths for 5 weights"):
        minimize(Hinge(), L2([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match="3 strengths for 5 weights"):
        minimize(Hinge(), L1([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match="expected a finite positive number"):
        L2([1.0, -2.0])


def unscaled_table(seed, n=60):
    """Return incomes, bytes and the like beside numbers of ordinary size."""
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [
            10 ** rng.uniform(0, 9, n),
            rng.integers(0, 65536, n),
            rng.uniform(0, 1e6, n),
            rng.normal(size=n),
            rng.integers(0, 2, n),
        ]
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("factor", [1.0, 1e7, 1e9])
def test_unscaled_tables_converge_with_default_parameters(seed, factor):
    X = factor * (unscaled_table(seed) if factor == 1 else np.random.default_rng(seed).normal(size=(60, 5)))
    rng = np.random.default_rng(seed)
    losses, y = rng.permutation(60) / 60, rng.integers(0, 3, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker = RankingSVM().fit(X, losses)
        svm = StructuredSVM(MultiClassTask(3, 5)).fit(X, y)
    assert ranker.gap_ <= 1e-3
    assert svm.result_.relative_gap <= 1e-3


def test_steep_features_reach_the_optimum_without_regularization():
    # With features times 1e9 the regularizer is nothing beside the risk: its minimum alone is left.
    found = minimize(Hinge(1e9), L2(1.0), tol=TOL)
    least = minimize(Hinge(), L1(1e-9), tol=1e-6)
    assert found.converged
    assert found.value == pytest.approx(least.value, rel=2 * TOL)


def test_a_hopeless_scale_is_a_warning_that_names_the_remedy():
    X = np.random.default_rng(0).normal(size=(40, 4))
    X[0] *= 1e12
    with pytest.warns(ConvergenceWarning, match=r"scale the features.*StandardScaler"):
        StructuredSVM(MultiClassTask(3, 4), max_iter=30).fit(X, np.arange(40) % 3)


def test_blocks_that_do_not_converge_are_left_for_planes_of_the_whole_risk():
    X = 1e6 * np.random.default_rng(0).normal(size=(12, 5))
    y = np.random.default_rng(1).integers(0, 3, 12)
    X = np.vstack([X, X])  # the same inputs with other classes: no weights separate them
    y = np.concatenate([y, (y + 1) % 3])
    task = MultiClassTask(3, 10)
    X = np.hstack([X, X])
    blocks = StructuredSVM(task, solver="blocks", max_iter=150)
    with pytest.warns(ConvergenceWarning):
        blocks.fit(X, y)
    auto = StructuredSVM(task, max_iter=300).fit(X, y)
    assert auto.result_.converged
    assert auto.result_.n_iter > 100
    assert auto.result_.history.n_iter == sorted(auto.result_.history.n_iter)
    assert auto.result_.lower_bound <= blocks.result_.value
