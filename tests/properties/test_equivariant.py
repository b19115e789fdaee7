"""The equivariant risk: convex, above the loss it stands for, and never less for more transformations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ermlab.structured.equivariant import AngleRange, EquivariantTask, Identity, Rotation
from ermlab.structured.multiclass import MultiClassTask
from ermlab.structured.risk import StructuredRisk


class Relabel:
    """Turn a point, and its class with it: an output that follows the input."""

    def __init__(self, angle, shift, n_classes):
        self.angle, self.shift, self.n_classes = angle, shift, n_classes

    def input(self, x):
        return Rotation(self.angle).input(x)

    def output(self, y):
        return (y + self.shift) % self.n_classes


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(1, 6)), int(rng.integers(2, 5))
    losses = rng.random((classes, classes)) * (1 - np.eye(classes))
    turns = [
        Relabel(rng.uniform(0, 6), int(rng.integers(classes)), classes) for _ in range(rng.integers(1, 5))
    ]
    X, y = rng.normal(size=(n, 2)), rng.integers(classes, size=n)
    return MultiClassTask(classes, 2, losses), [Identity(), *turns], X, y, rng


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_bounds_the_worst_loss_and_is_convex(rescaling, seed):
    """Eq. 6 is above eq. 4, for a loss that depends on the transformation, too."""
    task, turns, X, y, rng = random_problem(seed)
    weights = {id(t): weight for t, weight in zip(turns, rng.uniform(0.2, 3, len(turns)), strict=True)}
    equivariant = EquivariantTask(task, turns, weight=lambda t: weights[id(t)])
    risk = StructuredRisk(equivariant, X, y, rescaling)
    w, u = rng.normal(size=(2, task.dimension))
    value, subgradient = risk(w)
    assert risk(u)[0] >= value + subgradient @ (u - w) - 1e-9
    worst = [
        max(weights[id(t)] * task.loss(t.output(truth), task.predict(w, t.input(x))) for t in turns)
        for x, truth in zip(X, y, strict=True)
    ]
    assert value >= np.mean(worst) - 1e-9


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_more_transformations_never_lower_the_risk(rescaling, seed):
    task, turns, X, y, rng = random_problem(seed)
    w = rng.normal(size=task.dimension)
    sets = [turns[: k + 1] for k in range(len(turns))]
    values = [StructuredRisk(EquivariantTask(task, some), X, y, rescaling)(w)[0] for some in sets]
    assert values[0] == pytest.approx(StructuredRisk(task, X, y, rescaling)(w)[0], abs=1e-12)
    assert (np.diff(values) >= -1e-12).all()


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), limit=st.floats(0.05, np.pi))
def test_any_angle_is_as_bad_as_the_worst_of_a_fine_grid(seed, limit):
    task, _, X, y, rng = random_problem(seed)
    w = rng.normal(size=task.dimension)
    fine = [Rotation(angle) for angle in np.linspace(-limit, limit, 1001)]
    by_angle, by_grid = (
        StructuredRisk(EquivariantTask(task, turns), X[:1], y[:1], "margin")(w)[0]
        for turns in (AngleRange(Rotation, limit), fine)
    )
    assert by_angle >= by_grid - 1e-4 * np.abs(w).sum()
