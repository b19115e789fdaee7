"""The location task against every window one by one, and its batches against the generic equivariant task."""

import numpy as np
import pytest

from ermlab.detection.latent_location import LatentLocationTask
from ermlab.detection.location import (
    NOWHERE,
    EquivariantLocationTask,
    LocationTask,
    RegionRotation,
    rotations,
)
from ermlab.features.patches import Region, RegionGrids
from ermlab.kernels.slot import SlotMap, window_descriptors
from ermlab.optimize import L2, minimize
from ermlab.structured import LatentBatchTask, LatentRisk, LatentSVM, LatentTransformationTask
from ermlab.structured.equivariant import EquivariantTask
from ermlab.structured.risk import StructuredRisk
from ermlab.structured.structured_svm import StructuredSVM
from ermlab.structured.task import RESCALINGS, BatchTask

CELLS, WINDOW = 7, (3, 3)


@pytest.fixture(scope="module")
def grids():
    rng = np.random.default_rng(0)
    return RegionGrids([rng.integers(0, 256, (120, 140, 3), dtype=np.uint8)], CELLS)


def task_of(grids, n_slots, tolerance=6.0):
    rng = np.random.default_rng(1)
    grid = grids.grid(Region(0, 60, 60))
    rows, columns = rng.integers(0, CELLS - 2, (2, 40))
    slots = SlotMap(n_slots, 0, window=WINDOW).fit(window_descriptors(grid, rows, columns, WINDOW))
    return LocationTask(grids, slots, tolerance)


def samples(seed=2):
    rng = np.random.default_rng(seed)
    X = [Region(0, *rng.integers(30, 100, 2).tolist()) for _ in range(6)]
    Y = [
        np.array([[1.0, -2.0]]),
        NOWHERE,
        np.array([[-8.0, 6.0], [9.0, 9.0]]),
        np.array([[0.0, 0.0], [30.0, 0.0]]),
        NOWHERE,
        np.array([[10.0, 10.0]]),
    ]
    return X, Y


def every_output():
    steps = np.arange(-10, 11, 5.0)
    return [NOWHERE, *(np.array([[x, y]]) for y in steps for x in steps)]


@pytest.mark.parametrize("n_slots", [1, 4])
def test_feature_is_the_window_in_the_block_of_its_slot(grids, n_slots):
    task, x = task_of(grids, n_slots), Region(0, 50, 40)
    phi = window_descriptors(grids.grid(x), [1], [3], WINDOW)[0]
    feature = task.joint_feature(x, np.array([[6.1, -4.0]])).reshape(n_slots, -1)
    q = int(task.slots.assign([phi])[0])
    np.testing.assert_allclose(feature[q], np.append(phi, 1))
    assert np.count_nonzero(np.delete(feature, q, axis=0)) == 0
    assert not task.joint_feature(x, NOWHERE).any()
    assert task.dimension == feature.size


def test_loss_is_that_of_the_nearest_location(grids):
    task = task_of(grids, 1)
    y = np.array([[0.0, 0.0], [10.0, 0.0]])
    assert task.loss(y, y) == 0
    assert task.loss(y, np.array([[0.0, 6.0]])) == 0
    assert task.loss(y, np.array([[13.0, 5.0]])) == 0
    assert task.loss(y, np.array([[0.0, 6.1]])) == 1
    assert task.loss(y, NOWHERE) == 1
    assert task.loss(NOWHERE, NOWHERE) == 0
    assert task.loss(NOWHERE, y[:1]) == 1


@pytest.mark.parametrize("n_slots", [1, 4])
@pytest.mark.parametrize("rescaling", RESCALINGS)
def test_search_against_every_output(grids, n_slots, rescaling):
    task = task_of(grids, n_slots)
    for seed in range(5):
        w = np.random.default_rng(seed).normal(0, 0.3, task.dimension)
        for x, y in zip(*samples(), strict=True):
            scores = {k: float(w @ task.joint_feature(x, z)) for k, z in enumerate(every_output())}
            best = max(scores, key=scores.get)
            z = task.predict(w, x)
            np.testing.assert_allclose(w @ task.joint_feature(x, z), scores[best], atol=1e-4)
            truth = float(w @ task.joint_feature(x, y))

            def violation(z, score, x=x, y=y, truth=truth):
                loss = task.loss(y, z)
                return loss * (1 + score - truth) if rescaling == "slack" else loss + score - truth

            largest = max(violation(z, scores[k]) for k, z in enumerate(every_output()))
            z = task.most_violated(w, x, y, rescaling)
            found = violation(z, float(w @ task.joint_feature(x, z)))
            assert found == pytest.approx(max(largest, 0.0), abs=1e-4)


@pytest.mark.parametrize("rescaling", RESCALINGS)
@pytest.mark.parametrize("n_slots", [1, 3])
def test_batches_equal_the_generic_risk(grids, n_slots, rescaling):
    task, (X, Y) = task_of(grids, n_slots), samples()
    generic = EquivariantTask(task, rotations(5))
    batched = EquivariantLocationTask(task, rotations(5))
    assert isinstance(batched, BatchTask)
    assert not isinstance(generic, BatchTask)
    slow, fast = (StructuredRisk(some, X, Y, rescaling) for some in (generic, batched))
    for seed in range(4):
        w = np.random.default_rng(seed).normal(0, 0.2, task.dimension)
        (value, slope), (expected, expected_slope) = fast(w), slow(w)
        assert value == pytest.approx(expected, abs=1e-5)
        np.testing.assert_allclose(slope, expected_slope, atol=1e-6)
    assert fast.virtual_samples == slow.virtual_samples != set()


def test_the_identity_alone_is_the_plain_task_to_the_last_bit(grids):
    task, (X, Y) = task_of(grids, 3), samples()
    w = np.random.default_rng(3).normal(0, 0.2, task.dimension)
    plain = StructuredRisk(task, X, Y)(w)
    turned = StructuredRisk(EquivariantLocationTask(task, rotations(1)), X, Y)(w)
    assert plain[0] == turned[0]
    np.testing.assert_array_equal(plain[1], turned[1])


def test_more_rotations_never_lower_the_risk_and_reuse_the_cells():
    rng = np.random.default_rng(0)
    grids = RegionGrids([rng.integers(0, 256, (120, 140, 3), dtype=np.uint8)], CELLS)
    task, (X, Y) = task_of(grids, 2), samples()
    w = rng.normal(0, 0.2, task.dimension)
    before, last = grids.computed, 0.0
    for n in (1, 2, 4, 8):
        risk = StructuredRisk(EquivariantLocationTask(task, rotations(n)), X, Y)
        # Of n rotations half were there before: only the others are computed.
        assert grids.computed == before + len(X) * n
        value, _ = risk(w)
        assert value >= last
        last = value
    StructuredRisk(EquivariantLocationTask(task_of(grids, 4), rotations(8)), X, Y)
    assert grids.computed == before + len(X) * 8


def test_subgradient_supports_the_risk(grids):
    task, (X, Y) = task_of(grids, 3), samples()
    risk = StructuredRisk(EquivariantLocationTask(task, rotations(4)), X, Y)
    rng = np.random.default_rng(4)
    for _ in range(10):
        v, w = rng.normal(0, 0.2, (2, task.dimension))
        value, slope = risk(v)
        assert risk(w)[0] >= value + slope @ (w - v) - 1e-4


def test_a_learned_model_finds_its_training_locations(grids):
    task, (X, Y) = task_of(grids, 1), samples()
    svm = StructuredSVM(task, C=100.0, tol=1e-2, solver="bundle").fit(X, Y)
    assert svm.score(X, Y) == 1.0
    turning = EquivariantLocationTask(task, rotations(2))
    w = minimize(StructuredRisk(turning, X, Y), L2(1e-3), tol=1e-2, max_iter=500).w
    half = RegionRotation(np.pi)
    for x, y in zip(X, Y, strict=True):
        assert task.loss(y, turning.predict(w, x)) == 0
        assert task.loss(half.output(y), turning.predict(w, half.input(x))) == 0


def test_rotations():
    four = rotations(4)
    assert [t.angle for t in four] == pytest.approx([0, np.pi / 2, np.pi, 3 * np.pi / 2])
    np.testing.assert_allclose(four[1].output([[2.0, 0.0], [0.0, 1.0]]), [[0, 2], [-1, 0]], atol=1e-12)
    assert four[1].output(NOWHERE).shape == (0, 2)
    assert four[3].input(four[1].input(Region(0, 3, 4))) == Region(0, 3, 4)
    with pytest.raises(ValueError, match="n is 0: expected"):
        rotations(0)


def test_bad_tolerance(grids):
    with pytest.raises(ValueError, match="tolerance is -1: expected"):
        task_of(grids, 1, tolerance=-1)


def test_bad_batches(grids):
    task = task_of(grids, 1)
    X, _ = samples()
    with pytest.raises(ValueError, match="0 samples and 0 labels"):
        task.batch([], [])
    with pytest.raises(ValueError, match="1 samples and 2 labels"):
        task.batch([X[:1]], [[[]], [[]]])
    for wrong in ([[np.nan, 0.0]], [1.0, 2.0, 3.0]):
        with pytest.raises(ValueError, match=r"expected rows \(x, y\) of finite numbers"):
            task.batch([X[:1]], [[wrong]])


@pytest.mark.parametrize("n_slots", [1, 3])
def test_latent_batches_equal_the_generic_task(grids, n_slots):
    base, (X, Y) = task_of(grids, n_slots), samples()
    generic = LatentTransformationTask(base, rotations(4))
    batched = LatentLocationTask(base, rotations(4))
    assert isinstance(batched, LatentBatchTask)
    assert not isinstance(generic, LatentBatchTask)
    slow, fast = LatentRisk(generic, X, Y), LatentRisk(batched, X, Y)
    for seed in range(3):
        w = np.random.default_rng(seed).normal(0, 0.2, base.dimension)
        for name in ("convex", "reward"):
            (value, slope), (expected, expected_slope) = (getattr(r, name)(w) for r in (fast, slow))
            np.testing.assert_allclose(value, expected, atol=1e-5)
            np.testing.assert_allclose(slope, expected_slope, atol=1e-6)
        located = [i for i, y in enumerate(Y) if len(y)]  # without a location all poses are the same
        assert [fast.complete(w)[i] for i in located] == [slow.complete(w)[i] for i in located]


def test_predictions_are_in_the_frame_of_the_region(grids):
    base, (X, _) = task_of(grids, 1), samples()
    task = LatentLocationTask(base, rotations(4))
    outputs = every_output()
    for seed in range(3):
        w = np.random.default_rng(seed).normal(0, 0.2, base.dimension)
        for x in X:
            scores = [max(w @ task.joint_feature(x, z, h) for h in range(4)) for z in outputs]
            z = task.predict(w, x)
            found = max(w @ task.joint_feature(x, z, h) for h in range(4))
            assert found == pytest.approx(max(scores), abs=1e-4)


def test_latent_training_is_reproducible_and_knows_margin_rescaling_only(grids):
    base, (X, Y) = task_of(grids, 1), samples()
    task = LatentLocationTask(base, rotations(4))
    first, second = (LatentSVM(task, C=0.1, tol=1e-2).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    assert (np.diff(first.objective_) <= 1e-9).all()
    with pytest.raises(ValueError, match="rescaling is 'slack': expected 'margin'"):
        LatentSVM(task, rescaling="slack").fit(X, Y)
