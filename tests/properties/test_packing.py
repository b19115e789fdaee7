"""Disjoint sets of cells: prices prove what was chosen, and an integer programme has nothing better."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp

from ermlab.tracking import packing
from ermlab.tracking._packing_numba import index
from ermlab.tracking._packing_regions_numba import regions
from ermlab.tracking.packing import NONE, Packing, choose, search_regions


def random_sets(rng, n_sources, n_targets, n_pairs, n_triples):
    """Return pairs by source, then triples with the cell that is alone on its side first."""
    pairs = rng.permutation(n_sources * n_targets)[:n_pairs]
    pairs = np.column_stack([pairs // n_targets, n_sources + pairs % n_targets, np.full(len(pairs), NONE)])
    triples = []
    for _ in range(n_triples):
        sides = [(0, n_sources), (n_sources, n_sources + n_targets)]
        one, two = sides if rng.random() < 0.5 else sides[::-1]
        triples.append([rng.integers(*one), *rng.choice(np.arange(*two), 2, replace=False)])
    return np.concatenate([pairs[np.lexsort(pairs.T[1::-1])], np.array(triples, dtype=int).reshape(-1, 3)])


problems = st.builds(
    lambda seed, m, n, density, triples: _problem(np.random.default_rng(seed), m, n, density, triples),
    st.integers(0, 10**6),
    st.integers(2, 12),
    st.integers(2, 12),
    st.sampled_from([0.2, 0.6]),
    st.sampled_from([0, 3, 20]),
)


def _problem(rng, m, n, density, n_triples):
    cells = random_sets(rng, m, n, int(density * m * n), n_triples)
    gains = rng.uniform(0.1, 1, len(cells)) * np.where(cells[:, 2] == NONE, 1.0, 1.5)
    return m, m + n, cells, gains


def best_value(n_cells, cells, gains):
    """Solve the integer programme as a whole, by scipy."""
    A = np.zeros((n_cells, len(cells)))
    for s, members in enumerate(cells):
        A[members[members != NONE], s] = 1
    found = milp(-gains, constraints=LinearConstraint(A, ub=1), bounds=Bounds(0, 1), integrality=1)
    return -found.fun


@settings(deadline=None, max_examples=80)
@given(problems)
def test_the_best_choice_is_that_of_the_integer_programme(case):
    n_sources, n_cells, cells, gains = case
    chosen = Packing(n_sources, n_cells, cells).best(gains, np.ones(n_cells, dtype=bool))
    members = cells[chosen][cells[chosen] != NONE]
    assert len(np.unique(members)) == len(members)
    if len(cells):
        assert gains[chosen].sum() == pytest.approx(best_value(n_cells, cells, gains), abs=1e-7)


@settings(deadline=None, max_examples=80)
@given(problems, st.sampled_from([0, 1, 5000]))
def test_every_stage_of_the_search_has_the_same_optimum(case, max_steps):
    n_sources, n_cells, cells, gains = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "_MAX_STEPS", max_steps)
        chosen = Packing(n_sources, n_cells, cells).best(gains, np.ones(n_cells, dtype=bool))
    if len(cells):
        assert gains[chosen].sum() == pytest.approx(best_value(n_cells, cells, gains), abs=1e-7)


@settings(deadline=None, max_examples=80)
@given(problems, st.sampled_from([1, 10]))
def test_prices_cover_every_set_and_regions_hold_the_best_choice(case, max_rounds):
    n_sources, n_cells, cells, gains = case
    first_pair, first_set, sets_of = index(cells, n_sources, n_cells)
    chosen, price = choose(
        cells, first_pair, first_set, sets_of, gains, 1e-10, max_rounds=max_rounds, max_passes=8
    )
    worth = np.where(cells == NONE, 0.0, price[cells]).sum(axis=1)
    assert (price >= 0).all()
    assert (gains <= worth + 1e-9).all()
    assert price.sum() - gains[chosen].sum() >= -1e-9
    region, n_regions = regions(cells, first_set, sets_of, gains, chosen, price, 1e-10)
    assert set(region.tolist()) - {-1} == set(range(n_regions))
    value, taken = gains[chosen & (region < 0)].sum(), cells[chosen & (region < 0)]
    for number in range(n_regions):
        here = region == number
        value += best_value(n_cells, cells[here], gains[here])
        taken, others = np.concatenate([taken, cells[here]]), taken
        assert not np.intersect1d(cells[here], others).max(initial=NONE) > NONE  # no cell in common
    if len(cells):
        assert value == pytest.approx(best_value(n_cells, cells, gains), abs=1e-7)


def test_a_search_that_is_stopped_leaves_the_choice_as_it_is():
    rng = np.random.default_rng(0)
    n_sources, n_cells, cells, gains = _problem(rng, 12, 12, 0.6, 20)
    first_pair, first_set, sets_of = index(cells, n_sources, n_cells)
    before, price = choose(cells, first_pair, first_set, sets_of, gains, 1e-10, max_rounds=1, max_passes=8)
    region, n_regions = regions(cells, first_set, sets_of, gains, before, price, 1e-10)
    assert n_regions > 0
    for max_steps in (1, 10**6):
        chosen = before.copy()
        unsolved = search_regions(cells, gains, price, region, n_regions, 1e-10, max_steps, chosen)
        assert unsolved.any() == (max_steps == 1)
        if max_steps == 1:
            np.testing.assert_array_equal(chosen, before)
    assert gains[chosen].sum() == pytest.approx(best_value(n_cells, cells, gains))


@pytest.mark.parametrize(("loss", "n_regions", "n_open"), [(0.4, 2, 2), (0.6, 2, 2), (2.5, 1, 17)])
def test_regions_are_united_where_they_touch(loss, n_regions, n_open):
    """A chain of chosen pairs, linked by pairs that gain 1 less than their prices; two targets cost more."""
    i = np.arange(20)
    cells = np.sort(np.concatenate([np.column_stack([i, 20 + i]), np.column_stack([i[:-1], 21 + i[:-1]])]), 0)
    cells = np.column_stack([cells[:, 0], cells[:, 1], np.full(39, NONE)])
    chosen = cells[:, 0] + 20 == cells[:, 1]
    price = np.ones(40)
    price[[29, 30]] += loss
    _, first_set, sets_of = index(cells, 20, 40)
    region, n = regions(cells, first_set, sets_of, 1.0 + chosen, chosen, price, 1e-10)
    assert n == n_regions
    # A radius of 5: the two chosen pairs and the one between them, to the right five links of 1 and their
    # chosen pairs, to the left a link of 3.5 and one of 1.
    assert (region >= 0).sum() == n_open


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 30))
def test_pairs_alone_are_a_matching_and_proved_to_be_the_best(seed, m, n):
    rng = np.random.default_rng(seed)
    gains = rng.normal(size=(m, n))
    i, j = np.indices((m, n)).reshape(2, -1)
    cells = np.column_stack([i, m + j, np.full(m * n, NONE)])
    packing = Packing(m, m + n, cells)
    chosen = packing.best(gains.ravel(), np.ones(m + n, dtype=bool))
    # A gain below 0 is never taken, so it is as good as none.
    rows, columns = linear_sum_assignment(np.maximum(gains, 0), maximize=True)
    assert gains.ravel()[chosen].sum() == pytest.approx(np.maximum(gains, 0)[rows, columns].sum())
    assert packing.proved == 1


def test_cells_that_are_not_free_are_left_alone():
    cells = np.array([[0, 2, NONE], [0, 3, NONE], [1, 2, NONE], [0, 2, 3]])
    gains, packing = np.array([3.0, 2.0, 1.0, 4.5]), Packing(2, 4, cells)
    free = np.ones(4, dtype=bool)
    assert np.flatnonzero(packing.best(gains, free)).tolist() == [3]
    free[3] = False
    assert np.flatnonzero(packing.best(gains, free)).tolist() == [0]
    free[:2] = False
    assert not packing.best(gains, free).any()


def test_the_same_question_has_the_same_answer_whatever_was_asked_before():
    rng = np.random.default_rng(0)
    n_sources, n_cells, cells, _ = _problem(rng, 10, 10, 0.6, 20)
    packing, free = Packing(n_sources, n_cells, cells), np.ones(n_cells, dtype=bool)
    ties = np.ones(len(cells))
    first = packing.best(ties, free)
    for _ in range(5):
        packing.best(rng.random(len(cells)), free)
    np.testing.assert_array_equal(packing.best(ties, free), first)
