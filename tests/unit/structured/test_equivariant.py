"""Equivariant tasks: the plain code to the bit, the definition by brute force, peers, bad input."""

import numpy as np
import pytest

from ermlab.optimize import L2, minimize, minimize_blocks
from ermlab.structured.equivariant import AngleRange, EquivariantTask, FiniteSet, Identity, Rotation
from ermlab.structured.invariant import InvariantSVM
from ermlab.structured.multiclass import MultiClassTask
from ermlab.structured.risk import StructuredRisk
from ermlab.structured.structured_svm import StructuredSVM


class RingTask:
    """Where on a ring of values is the mark? ``phi(x, y)`` is the values seen from place ``y``."""

    def __init__(self, size):
        self.dimension = size

    def joint_feature(self, x, y):
        return np.roll(x, -y)

    def loss(self, y, z):
        around = abs(y - z)
        return min(around, self.dimension - around) / self.dimension

    def predict(self, w, x):
        return max(range(self.dimension), key=lambda z: float(np.sum(w * self.joint_feature(x, z))))

    def most_violated(self, w, x, y, rescaling):
        def violation(z):
            margin = np.sum(w * (self.joint_feature(x, z) - self.joint_feature(x, y)))
            return self.loss(y, z) * (1 + margin) if rescaling == "slack" else self.loss(y, z) + margin

        return max(range(self.dimension), key=violation)


class Turn:
    """Turn a ring of values, and the place on it."""

    def __init__(self, places, size):
        self.places, self.size = places, size

    def input(self, x):
        return np.roll(x, self.places)

    def output(self, y):
        return (y + self.places) % self.size


class Mirror:
    """Read a ring backwards: a change that the joint feature cannot follow by itself."""

    def input(self, x):
        return x[::-1]

    def output(self, y):
        return 5 - y


@pytest.fixture
def rings():
    rng = np.random.default_rng(3)
    y = rng.integers(6, size=8)
    X = rng.normal(size=(8, 6))
    X[np.arange(8), y] += 2
    X[np.arange(8), (y + 1) % 6] += 1
    return X, y


@pytest.fixture
def classes():
    rng = np.random.default_rng(4)
    return rng.normal(size=(12, 3)), rng.integers(3, size=12)


@pytest.mark.parametrize("solver", ["bundle", "blocks"])
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("copies", [1, 4])
def test_identity_gives_the_bits_of_the_plain_task(rings, rescaling, solver, copies):
    options = {"C": 3.0, "rescaling": rescaling, "solver": solver}
    plain = StructuredSVM(RingTask(6), **options).fit(*rings)
    task = EquivariantTask(RingTask(6), [Identity()] * copies)
    equivariant = StructuredSVM(task, **options).fit(*rings)
    np.testing.assert_array_equal(equivariant.coef_, plain.coef_)
    assert equivariant.result_.value == plain.result_.value
    assert plain.virtual_samples_ == []
    assert {version for _, version in equivariant.virtual_samples_} == {0}


@pytest.mark.parametrize("solver", ["bundle", "blocks"])
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_identity_of_a_task_in_batches(classes, rescaling, solver):
    options = {"C": 3.0, "rescaling": rescaling, "solver": solver}
    plain = StructuredSVM(MultiClassTask(3, 3), **options).fit(*classes)
    for transformations in ([Identity()], AngleRange(Rotation, 0)):
        equivariant = StructuredSVM(EquivariantTask(MultiClassTask(3, 3), transformations), **options)
        equivariant.fit(*classes)
        np.testing.assert_array_equal(equivariant.coef_, plain.coef_)
        np.testing.assert_array_equal(equivariant.predict(classes[0]), plain.predict(classes[0]))


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_transformations_that_the_features_follow_change_nothing(rings, rescaling):
    """All turned versions of a sample have the same violation, and the task's own version is taken."""
    plain = StructuredSVM(RingTask(6), C=3.0, rescaling=rescaling, tol=1e-6).fit(*rings)
    turns = EquivariantTask(RingTask(6), [Turn(k, 6) for k in range(6)])
    turned = StructuredSVM(turns, C=3.0, rescaling=rescaling, tol=1e-6).fit(*rings)
    assert turned.result_.value == pytest.approx(plain.result_.value, rel=1e-5)
    np.testing.assert_allclose(turned.coef_, plain.coef_, atol=1e-2)


def test_output_must_follow_the_input(rings):
    """Where the truth is not turned with the input the same data contradict themselves."""

    class InputAlone(Turn):
        def output(self, y):
            return y

    follow = EquivariantTask(RingTask(6), [Turn(k, 6) for k in range(6)])
    stay = EquivariantTask(RingTask(6), [InputAlone(k, 6) for k in range(6)])
    values = [StructuredSVM(task, C=3.0).fit(*rings).result_.value for task in (follow, stay)]
    assert values[1] > 1.2 * values[0]


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("weighted", [False, True])
def test_worst_pair_by_brute_force(rings, rescaling, weighted):
    X, y = rings
    base, members = RingTask(6), [Identity(), Mirror(), Turn(2, 6)]
    weights = {id(t): [1.0, 0.4, 2.5][k] if weighted else 1.0 for k, t in enumerate(members)}
    weight = (lambda t: weights[id(t)]) if weighted else None
    task = EquivariantTask(base, members, weight)
    risk = StructuredRisk(task, X, y, rescaling)
    w = np.random.default_rng(5).normal(size=6)
    worst = []
    for i in range(len(X)):
        heights = {}
        for name, t in enumerate(members):
            for z in range(6):
                tx, ty = t.input(X[i]), t.output(y[i])
                loss = weights[id(t)] * base.loss(ty, z)
                margin = w @ (base.joint_feature(tx, z) - base.joint_feature(tx, ty))
                heights[name, z] = loss * (1 + margin) if rescaling == "slack" else loss + margin
        best = max(heights.values())
        worst.append(best)
        assert heights[task.most_violated(w, X[i], y[i], rescaling)] == pytest.approx(best)
        a, b = risk.plane(i, w)
        assert a @ w + b == pytest.approx(best)
    assert risk(w)[0] == pytest.approx(np.mean(worst))


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_solvers_agree(rings, rescaling):
    task = EquivariantTask(RingTask(6), [Identity(), Mirror()])
    risk = StructuredRisk(task, *rings, rescaling)
    bundle, blocks = (solve(risk, L2(0.05), tol=1e-6) for solve in (minimize, minimize_blocks))
    assert bundle.value == pytest.approx(blocks.value, rel=1e-5)
    assert {version for _, version in risk.virtual_samples} == {0, 1}


def test_two_classes_are_the_invariant_svm():
    """``w_1 - w_0`` of two classes, of half the squared length, is the ``w`` of the binary machine."""
    rng = np.random.default_rng(6)
    X, y = rng.normal((1, 0), size=(10, 2)), rng.integers(2, size=10)
    turns = [Rotation(angle) for angle in np.linspace(0, 1, 5)]
    svm = StructuredSVM(EquivariantTask(MultiClassTask(2, 2), turns), C=2.0, tol=1e-7).fit(X, y)
    bags = np.array([[t.input(x) for t in turns] for x in X])
    binary = InvariantSVM(C=4.0, tol=1e-8).fit(bags, 2 * y - 1)
    W = svm.coef_.reshape(2, 2)
    np.testing.assert_allclose(W[1] - W[0], binary.coef_, atol=1e-2)
    assert svm.result_.value == pytest.approx(binary.result_.value, rel=1e-5)


def test_prediction_is_the_tasks_own(rings):
    X, y = rings
    task = EquivariantTask(RingTask(6), [Identity(), Mirror()])
    svm = StructuredSVM(task, C=3.0).fit(X, y)
    assert svm.predict(X) == [RingTask(6).predict(svm.coef_, x) for x in X]
    assert task.loss(1, 4) == 0.5
    np.testing.assert_array_equal(task.joint_feature(X[0], 2), np.roll(X[0], -2))


@pytest.mark.parametrize("limit", [np.pi / 8, np.pi / 2, np.pi])
def test_continuous_angle_against_a_fine_grid(limit):
    rng = np.random.default_rng(7)
    angles, fine = AngleRange(Rotation, limit), np.linspace(-limit, limit, 20_001)
    for _ in range(20):
        amplitudes, phases = rng.normal(size=5), rng.uniform(0, 2 * np.pi, 5)

        def height(angle, amplitudes=amplitudes, phases=phases):
            return np.cos(np.multiply.outer(angle, np.arange(1, 6)) - phases) @ amplitudes

        angle, found = angles.worst(lambda t, height=height: (height(t.angle), t.angle))
        assert angle == found
        assert -limit <= angle <= limit
        assert height(angle) >= height(fine).max() - 1e-6


def test_of_equally_bad_angles_the_smallest_is_taken():
    assert AngleRange(Rotation, np.pi).worst(lambda t: (1.0, t.angle)) == (0.0, 0.0)
    angles = AngleRange(Rotation, 0.5, step=0.1)
    assert len(angles.grid) == 11
    assert angles.grid[0] == 0
    assert angles[0.2] == Rotation(0.2)


def test_rotation_turns_anticlockwise_and_keeps_the_label():
    np.testing.assert_allclose(Rotation(np.pi / 2).input(np.array([1.0, 0])), [0, 1], atol=1e-15)
    assert Rotation(1.0).output("label") == "label"


def test_bad_input():
    task = RingTask(6)
    with pytest.raises(ValueError, match="0 transformations"):
        EquivariantTask(task, [])
    with pytest.raises(ValueError, match="transformation 1 is 3: expected methods"):
        FiniteSet([Identity(), 3])
    with pytest.raises(ValueError, match=r"task is 3: expected a `Task`"):
        EquivariantTask(3, [Identity()])
    with pytest.raises(ValueError, match="limit is 4"):
        AngleRange(Rotation, 4)
    with pytest.raises(ValueError, match="step is 0 and precision"):
        AngleRange(Rotation, 1, step=0)
    weighted = EquivariantTask(task, [Identity()], weight=lambda t: 0.0)
    with pytest.raises(ValueError, match=r"weight is 0.0 for transformation Identity\(\)"):
        weighted.most_violated(np.zeros(6), np.zeros(6), 0, "slack")


@pytest.mark.parametrize("turns", [FiniteSet([Identity(), Rotation(1.0)]), AngleRange(Rotation, 1.0)])
def test_violation_that_is_not_a_number(turns):
    with pytest.raises(ValueError, match="is NaN: expected finite features"):
        turns.worst(lambda t: (np.nan if getattr(t, "angle", 0.0) else 1.0, None))


def test_grid_of_angles_has_a_limit():
    with pytest.raises(ValueError, match="step is 1e-300: expected at least 1e-05"):
        AngleRange(Rotation, 1.0, step=1e-300)
