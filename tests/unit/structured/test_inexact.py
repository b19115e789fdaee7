"""Training with an approximate search for the most violated output."""

import itertools
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ermlab.optimize import L2, PlaneBlocks, minimize, minimize_blocks
from ermlab.structured import (
    AngleRange,
    EquivariantTask,
    Identity,
    MultiClassTask,
    PlanesTask,
    Rotation,
    StructuredRisk,
    StructuredSVM,
    TransferSVM,
)
from ermlab.structured._found_planes import MAX_IDLE, FoundPlanes


class BinarySequences:
    """Label each of a few positions with 0 or 1, exactly by enumeration."""

    exact = True

    def __init__(self, n_features=3, length=4):
        self.dimension = n_features + 1
        self.outputs = list(itertools.product((0, 1), repeat=length))

    def joint_feature(self, x, y):
        return np.append(np.asarray(y) @ x, np.sum(np.equal(y[1:], y[:-1])))

    def loss(self, y, z):
        return float(np.mean(np.not_equal(y, z)))

    def predict(self, w, x):
        return max(self.outputs, key=lambda z: w @ self.joint_feature(x, z))

    def violation(self, w, x, y, z, rescaling):
        margin = w @ (self.joint_feature(x, z) - self.joint_feature(x, y))
        return self.loss(y, z) * (1 + margin) if rescaling == "slack" else self.loss(y, z) + margin

    def most_violated(self, w, x, y, rescaling):
        return max(self.outputs, key=lambda z: self.violation(w, x, y, z, rescaling))


class SampledSequences(BinarySequences):
    """The best of a few outputs that are drawn at random in each call."""

    exact = False

    def __init__(self, seed=0, n_drawn=3, excess=0.25, **sizes):
        super().__init__(**sizes)
        self._rng, self.n_drawn, self.excess = np.random.default_rng(seed), n_drawn, excess

    def most_violated(self, w, x, y, rescaling):
        drawn = [self.outputs[i] for i in self._rng.choice(len(self.outputs), self.n_drawn, replace=False)]
        return max(drawn, key=lambda z: self.violation(w, x, y, z, rescaling))

    def violation_bound(self, w, x, y, rescaling):
        best = super().most_violated(w, x, y, rescaling)
        return self.violation(w, x, y, best, rescaling) + self.excess


@pytest.fixture(scope="module")
def sequences():
    rng = np.random.default_rng(1)
    X, w = list(rng.normal(size=(20, 4, 3))), np.array([1.0, -1.0, 0.5, 0.7])
    task = BinarySequences()
    return X, [task.predict(w + rng.normal(size=4), x) for x in X]


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize(("solver", "penalty"), [("bundle", "l2"), ("blocks", "l2"), ("bundle", "l1")])
@pytest.mark.parametrize("seed", range(3))
def test_the_interval_contains_the_true_minimum(sequences, solver, rescaling, penalty, seed):
    options = {"rescaling": rescaling, "penalty": penalty, "solver": solver, "tol": 1e-4}
    truth = StructuredSVM(BinarySequences(), C=2.0, **options).fit(*sequences)
    model = StructuredSVM(SampledSequences(seed), C=2.0, **options).fit(*sequences)
    assert truth.exact_
    assert truth.objective_bounds_ == (truth.result_.lower_bound, truth.result_.value)
    assert not model.exact_
    assert not model.result_.exact
    low, high = model.objective_bounds_
    assert low <= truth.result_.value * (1 + 1e-9)
    assert high >= truth.result_.lower_bound * (1 - 1e-9)
    assert low <= model.result_.value <= high
    # Every output is found sooner or later, so that little is missing.
    assert low >= 0.9 * truth.result_.value


def test_the_upper_bound_is_that_of_the_task_at_the_weights(sequences):
    model = StructuredSVM(SampledSequences(excess=0.25), C=2.0).fit(*sequences)
    exact = StructuredRisk(BinarySequences(), *sequences)(model.coef_)[0]
    regularization = model.coef_ @ model.coef_ / (2 * 2.0 * len(sequences[0]))
    bounds = [
        model.task.violation_bound(model.coef_, x, y, "margin") for x, y in zip(*sequences, strict=True)
    ]
    assert model.objective_bounds_[1] == pytest.approx(np.mean(bounds) + regularization)
    assert model.objective_bounds_[1] == pytest.approx(exact + regularization + 0.25)


def test_without_a_bound_of_the_violation_nothing_is_known_above(sequences):
    task = SampledSequences()
    task.violation_bound = None
    assert StructuredSVM(task).fit(*sequences).objective_bounds_[1] == np.inf


def test_a_bound_below_an_output_that_was_found_is_refused(sequences):
    with pytest.raises(ValueError, match=r"violation_bound is .* for sample 0: expected at least"):
        StructuredSVM(SampledSequences(excess=-3.0)).fit(*sequences)
    task = SampledSequences()
    task.violation_bound = lambda *_: np.nan
    with pytest.raises(ValueError, match="violation_bound is nan"):
        StructuredSVM(task).fit(*sequences)


def test_a_search_that_finds_everything_gives_the_exact_solution(sequences):
    task = SampledSequences(n_drawn=16, excess=0.0)
    for solver in ("bundle", "blocks"):
        exact = StructuredSVM(BinarySequences(), tol=1e-6, solver=solver).fit(*sequences)
        model = StructuredSVM(task, tol=1e-6, solver=solver).fit(*sequences)
        np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-3)
        assert model.objective_bounds_[1] == pytest.approx(exact.result_.value, rel=1e-6)


def test_values_are_those_of_the_found_outputs_and_never_shrink(sequences):
    X, y = sequences
    task = SampledSequences()
    risk, truth = StructuredRisk(task, X, y), StructuredRisk(BinarySequences(), X, y)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(6, 4))
    before = np.zeros(6)
    for w in points.repeat(3, axis=0):
        risk(w)
        known = np.array([risk.known(p)[0] for p in points])
        assert (known >= before - 1e-12).all()
        assert (known <= [truth(p)[0] + 1e-12 for p in points]).all()
        before = known
    planes = [risk.plane(i, points[0]) for i in range(len(X))]
    assert np.mean([a @ points[0] + b for a, b in planes]) == pytest.approx(risk.known(points[0])[0])


def test_idle_planes_are_dropped():
    found, w = FoundPlanes(1), np.ones(1)
    found.add(np.array([1000.0]), 0.0)
    for k in range(5 * MAX_IDLE):
        found.add(np.array([float(k)]), 0.0)
        assert found.highest(w)[0] == 1000.0
        assert len(found) <= MAX_IDLE + 2
    found.add(np.array([1000.0]), 0.0)
    assert found.highest(-w)[0] < 1000.0


class ForgetfulTask(SampledSequences):
    """An output is found only in the first calls; the plane is dropped later."""

    def __init__(self):
        super().__init__()
        self._calls = 0

    def most_violated(self, w, x, y, rescaling):
        self._calls += 1
        return BinarySequences.most_violated(self, w, x, y, rescaling) if self._calls < 200 else y


@pytest.mark.parametrize("solver", ["bundle", "blocks"])
def test_no_contradiction_is_reported_when_outputs_are_lost(sequences, solver, monkeypatch):
    monkeypatch.setattr("ermlab.structured._found_planes.MAX_IDLE", 1)
    model = StructuredSVM(ForgetfulTask(), C=10.0, tol=1e-6, solver=solver, max_iter=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*sequences)
    truth = StructuredSVM(BinarySequences(), C=10.0, tol=1e-6).fit(*sequences)
    assert model.result_.lower_bound <= truth.result_.value * (1 + 1e-9)
    assert model.objective_bounds_[1] >= truth.result_.lower_bound


def test_one_strength_for_each_weight(sequences):
    strengths = L2(np.array([0.1, 0.2, 0.3, 0.4]))
    truth = minimize(StructuredRisk(BinarySequences(), *sequences), strengths, tol=1e-5)
    for solver in (minimize, minimize_blocks):
        result = solver(StructuredRisk(SampledSequences(), *sequences), strengths, tol=1e-5)
        assert not result.exact
        assert result.lower_bound <= truth.value * (1 + 1e-9)


def test_exactness_may_depend_on_the_course_of_the_training(sequences):
    class Depends(BinarySequences):
        calls = 0

        @property
        def exact(self):
            return self.calls < 10

        def most_violated(self, w, x, y, rescaling):
            self.calls += 1
            return super().most_violated(w, x, y, rescaling)

    model = StructuredSVM(Depends()).fit(*sequences)
    assert not model.exact_
    assert model.objective_bounds_ == (model.result_.lower_bound, np.inf)


class ClassesWithPlanes(MultiClassTask):
    """Classes whose planes are found for all samples at once."""

    def __init__(self, n_classes, n_features, exact):
        super().__init__(n_classes, n_features)
        self.exact, self.calls = exact, 0

    block_dual = None

    def batch_planes(self, w, X, Y, rescaling):
        self.calls += 1
        scores = self.scores(w, X)
        Z = (scores + self.losses[Y].T).argmax(axis=0)
        slopes = np.zeros((len(X), self.n_classes, self.n_features))
        rows = np.arange(len(X))
        slopes[rows, Z] += X
        slopes[rows, Y] -= X
        return slopes.reshape(len(X), -1), self.losses[Y, Z]


@pytest.mark.parametrize("exact", [True, False])
def test_planes_of_all_samples_at_once(exact):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15, 5)), rng.integers(0, 3, 15)
    task = ClassesWithPlanes(3, 5, exact)
    assert isinstance(task, PlanesTask)
    risk = StructuredRisk(task, X, y)
    expected = StructuredRisk(MultiClassTask(3, 5), X, y)
    w = rng.normal(size=15)
    planes = list(risk.planes_at(w))
    for i, (a, b) in enumerate(planes):
        slope, offset = expected.plane(i, w)
        np.testing.assert_allclose(a, slope)
        assert b == offset
    assert task.calls == 1
    result = minimize_blocks(expected, L2(0.1), tol=1e-6)
    task.block_dual = lambda *_: pytest.fail("not used")
    dual = PlaneBlocks(risk, 0.1)
    dual.collect()
    assert task.calls == 2
    assert minimize(risk, L2(0.1), tol=1e-6).value == pytest.approx(result.value, rel=1e-5)


def test_planes_of_the_wrong_shape_are_refused():
    X, y = np.zeros((4, 2)), np.zeros(4, dtype=int)
    task = ClassesWithPlanes(2, 2, False)
    task.batch_planes = lambda *_: (np.zeros((4, 3)), np.zeros(4))
    with pytest.raises(ValueError, match=r"planes of shapes \(4, 3\) and \(4,\): expected \(4, 4\)"):
        StructuredSVM(task).fit(X, y)


def test_missing_features_are_refused(sequences):
    X, y = sequences
    X = [x.copy() for x in X]
    X[3][1, 2] = np.nan
    with pytest.raises(ValueError, match=r"sample 3 is NaN: expected finite features"):
        StructuredSVM(SampledSequences()).fit(X, y)


def test_bounds_of_the_weights_are_not_for_blocks(sequences):
    task = BinarySequences()
    task.bounds = (np.zeros(4), np.full(4, np.inf))
    with pytest.raises(ValueError, match="solver is 'blocks' and the task bounds its weights"):
        StructuredSVM(task, solver="blocks").fit(*sequences)


@dataclass(frozen=True)
class Shift:
    """Add a constant to all features; labels do not change."""

    by: float

    def input(self, x):
        return x + self.by

    def output(self, y):
        return y


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_equivariance_with_an_approximate_task(sequences, rescaling):
    X, y = sequences
    sets = [Identity(), Shift(0.5), Shift(-0.5)]
    exact = EquivariantTask(BinarySequences(), sets, weight=lambda t: 1 + abs(getattr(t, "by", 0)))
    task = EquivariantTask(SampledSequences(excess=0.0), sets, weight=exact.weight)
    assert exact.exact
    assert not task.exact
    assert not hasattr(EquivariantTask(SampledSequences(), AngleRange(Rotation, 1.0)), "violation_bound")
    w = np.random.default_rng(0).normal(size=4)
    risk = StructuredRisk(exact, X, y, rescaling)
    for i in range(5):
        a, b = risk.plane(i, w)
        assert max(task.violation_bound(w, X[i], y[i], rescaling), 0.0) == pytest.approx(max(a @ w + b, 0.0))
    truth = StructuredSVM(exact, rescaling=rescaling).fit(X, y)
    low, high = StructuredSVM(task, rescaling=rescaling).fit(X, y).objective_bounds_
    assert low <= truth.result_.value
    assert high >= truth.result_.lower_bound


def test_transfer_with_an_approximate_task(sequences):
    X, y = sequences
    domains = [0] * 10 + [1] * 10
    truth = TransferSVM(BinarySequences()).fit(X, y, domains)
    model = TransferSVM(SampledSequences()).fit(X, y, domains)
    assert truth.result_.result.exact
    assert not model.result_.result.exact
    assert model.result_.result.lower_bound <= truth.result_.value


def test_transfer_without_bounds_of_the_weights(sequences):
    task = BinarySequences()
    task.bounds = (np.zeros(4), np.ones(4))
    with pytest.raises(ValueError, match="the task bounds its weights"):
        TransferSVM(task).fit(*sequences, [0] * 20)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("task_type", [BinarySequences, SampledSequences])
def test_weights_stay_within_the_bounds_of_the_task(sequences, task_type, penalty):
    free = StructuredSVM(BinarySequences(), C=10.0, penalty=penalty).fit(*sequences)
    task, exact = task_type(), BinarySequences()
    task.bounds = exact.bounds = (np.array([-np.inf, 0.0, 0.0, 0.1]), np.array([0.3, np.inf, np.inf, 0.2]))
    model = StructuredSVM(task, C=10.0, penalty=penalty).fit(*sequences)
    assert (model.coef_ >= task.bounds[0]).all()
    assert (model.coef_ <= task.bounds[1]).all()
    truth = StructuredSVM(exact, C=10.0, penalty=penalty, tol=1e-5).fit(*sequences)
    assert truth.result_.value > free.result_.lower_bound
    assert model.objective_bounds_[0] <= truth.result_.value * (1 + 1e-9)
    assert model.objective_bounds_[1] >= truth.result_.lower_bound * (1 - 1e-9)
