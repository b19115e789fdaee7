"""Training with stored planes: the losses and the optimum are those of a search at every step."""

from dataclasses import replace

import numpy as np
import pytest

from ermlab.structured.transfer import transfer_cccp
from ermlab.tracking.annotations import Annotation
from ermlab.tracking.events import Cells, Gates, hypotheses_between
from ermlab.tracking.films import FramePair
from ermlab.tracking.small_assignment import SmallAssigner, SmallHypotheses
from ermlab.tracking.training import partial_risk
from reproduction.experiments.transfer.patch_training import PatchPool, PatchRisk, train_on_patches


def cells(rng, position):
    n = len(position)
    return Cells(position, rng.uniform(80, 120, n), rng.uniform(1, 2, n), rng.uniform(0, 0.5, n), (100, 100))


def patch(rng, number):
    """Return four cells that move a little; of every third patch two cells are all that is known."""
    start = rng.uniform(20, 80, (4, 2))
    found = hypotheses_between(cells(rng, start), cells(rng, start + rng.normal(0, 4, (4, 2))), Gates())
    hypotheses = SmallHypotheses(found.n_sources, found.n_targets, found.candidates)
    moves = (hypotheses.kind == 0) & (hypotheses.sources[:, 0] == hypotheses.targets[:, 0])
    events = np.flatnonzero(moves)
    complete = len(events) == 4 and number % 3 > 0
    return FramePair(number, hypotheses, Annotation(events if complete else events[:2], (), complete))


@pytest.fixture(scope="module")
def sets():
    rng = np.random.default_rng(0)
    return [[patch(rng, i) for i in range(n)] for n in (24, 15)]


@pytest.fixture
def pools(sets):
    return [PatchPool(patches) for patches in sets]


@pytest.fixture
def w(pools):
    return np.random.default_rng(1).normal(size=pools[0].dimension)


def with_assigners(patches):
    """Return the risk that searches patch by patch at every call."""
    for one in patches:
        one.__dict__["assigner"] = SmallAssigner(one.hypotheses)
    return partial_risk(patches, n_jobs=1)


def test_after_a_search_the_risk_is_that_of_every_patch(sets, pools, w):
    numbers = np.array([17, 3, 0, 8, 9])
    plain = with_assigners([sets[0][i] for i in numbers])
    risk = PatchRisk(pools[0], numbers)
    assert not pools[0].searched(risk.numbers)
    risk.search(w)
    assert pools[0].searched(risk.numbers)
    assert not pools[0].searched(np.arange(len(pools[0])))
    for part in ("convex_part", "reward"):
        value, slope = getattr(risk, part)(w)
        expected, expected_slope = getattr(plain, part)(w)
        assert value == pytest.approx(expected)
        np.testing.assert_allclose(slope, expected_slope)
    assert risk.search(w) == 0
    # Elsewhere what is known is a lower bound, and no less than the reward's tangent.
    for u in np.random.default_rng(2).normal(size=(30, len(w))):
        known = risk.convex_part(u)[0]
        assert known <= plain.convex_part(u)[0] + 1e-9
        assert known >= risk.reward(w)[1] @ u - 1e-9
        missing = plain.convex_part(u)[0] - known
        assert risk.search(u) == pytest.approx(missing, abs=1e-8)
        assert risk.convex_part(u)[0] == pytest.approx(plain.convex_part(u)[0])


def test_planes_are_shared_by_all_subsets(pools, w):
    PatchRisk(pools[0], [1, 2, 3, 4]).search(w)
    before = pools[0].n_planes
    assert PatchRisk(pools[0], [2, 4]).search(w) == 0
    PatchRisk(pools[0], [1, 4]).search(w)
    assert pools[0].n_planes == before


def test_known_events(sets, pools):
    assert pools[1].n_events(np.arange(15)) == sum(len(one.annotation.events) for one in sets[1])
    for i, one in enumerate(sets[1]):
        np.testing.assert_array_equal(pools[1].events(i), one.annotation.events)
        assert pools[1].complete[i] == one.annotation.complete


def test_events_that_are_no_hypothesis_are_known_too(sets):
    first, *others = sets[1]
    lost = (("move", (0,), (1,)), ("disappearance", (2,), ()))
    pool = PatchPool([replace(first, annotation=replace(first.annotation, lost=lost)), *others])
    assert pool.n_events(np.array([0, 1])) == 2 + sum(len(one.annotation.events) for one in sets[1][:2])
    assert pool.n_events(np.array([1])) == len(others[0].annotation.events)


@pytest.mark.parametrize(("alpha", "rho"), [(0.3, np.inf), (0.3, 1.0), (np.inf, 0.5)])
def test_the_optimum_is_that_of_a_search_at_every_step(sets, pools, alpha, rho):
    plain = [with_assigners(some) for some in sets]
    start = np.zeros((2, pools[0].dimension))
    searched = transfer_cccp(plain, alpha=alpha, rho=rho, sizes=[24, 15], tol=1e-4, w0=start)
    found = train_on_patches([PatchRisk(pool) for pool in pools], alpha=alpha, rho=rho, tol=1e-4, w0=start)
    assert found.converged
    assert found.n_iter < searched.n_iter
    risks = sum(n * risk(w) for n, risk, w in zip([24, 15], plain, found.weights, strict=True))
    shared = 0.0 if np.isinf(alpha) else alpha / 2 * np.sum(found.shared**2)
    apart = 0.0 if np.isinf(rho) else rho / 2 * np.sum((found.weights - found.shared) ** 2)
    assert found.value == pytest.approx(shared + apart + risks, rel=1e-6)
    # Bridge losses have several minima; these two are as good as each other.
    assert found.value == pytest.approx(searched.value, rel=0.02)
    again = train_on_patches([PatchRisk(pool) for pool in pools], alpha=alpha, rho=rho, tol=1e-4)
    assert again.n_iter <= found.n_iter
    assert again.value == pytest.approx(found.value, rel=0.02)


@pytest.mark.parametrize("tol", [0.5, 0.1])
def test_the_value_is_that_of_all_planes_however_few_are_known(sets, pools, tol):
    found = train_on_patches([PatchRisk(pool) for pool in pools], alpha=0.3, rho=1.0, tol=tol)
    risks = sum(len(some) * with_assigners(some)(w) for some, w in zip(sets, found.weights, strict=True))
    shared = 0.3 / 2 * np.sum(found.shared**2) + 1.0 / 2 * np.sum((found.weights - found.shared) ** 2)
    assert found.value == pytest.approx(shared + risks, rel=1e-9)


def test_threads_do_not_matter(sets):
    found = []
    for n_jobs in (1, 2):
        pools = [PatchPool(some * 4, n_jobs=n_jobs) for some in sets]
        found.append(train_on_patches([PatchRisk(pool) for pool in pools], alpha=1.0, rho=1.0))
    np.testing.assert_array_equal(found[0].weights, found[1].weights)
    assert found[0].value == found[1].value


def test_random_truth_is_an_assignment_of_each_patch(sets, pools):
    shuffled = pools[0].random_truth(np.random.default_rng(0))
    pool = PatchPool(sets[0], truth=shuffled)
    assert pool.complete.all()
    assert (shuffled != pools[0].truth).mean() > 0.02
    # What cannot be learned is not: the loss stays high.
    risk = PatchRisk(pool)
    result = train_on_patches([risk], alpha=1.0, rho=np.inf)
    assert risk.convex_part(result.w)[0] - risk.reward(result.w)[0] > 0.2


def test_wrong_input_is_reported(sets, pools):
    empty = FramePair(0, sets[0][0].hypotheses, Annotation(np.zeros(0, dtype=np.int64), (), False))
    with pytest.raises(ValueError, match="patch 1 has no known event"):
        PatchPool([sets[0][1], empty])
    undecided = PatchRisk(pools[0], [2, 3])
    with pytest.raises(ValueError, match="no plane of patch 3 is known: expected a search before"):
        undecided.convex_part(np.zeros(pools[0].dimension))
    with pytest.raises(ValueError, match="no patches"):
        PatchRisk(pools[0], [])
