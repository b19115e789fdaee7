"""Slots of windows against brute force and the KD-tree; scores and sums against features written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from ermlab.kernels import slot
from ermlab.kernels.slot import SlotMap, score_windows, sum_of_features, window_descriptors, windows_shape


def random_grid(rng, shape=(12, 14, 5)):
    return rng.random(shape, dtype=np.float32)


def all_windows(grid, window):
    rows, columns = np.indices(windows_shape(grid.shape[:2], window)).reshape(2, -1)
    return np.stack(
        [grid[i : i + window[0], j : j + window[1]].ravel() for i, j in zip(rows, columns, strict=True)]
    ), (rows, columns)


def feature(descriptor, q, n_slots):
    """The feature map with all its zeros."""
    return np.kron(np.eye(n_slots)[q], np.append(descriptor, 1.0))


@given(
    seed=st.integers(0, 2**32 - 1),
    n_slots=st.integers(1, 6),
    window=st.tuples(st.integers(1, 4), st.integers(1, 4)),
)
def test_windows_get_the_slot_of_the_nearest_centre(seed, n_slots, window):
    rng = np.random.default_rng(seed)
    grid = random_grid(rng)
    descriptors, (rows, columns) = all_windows(grid, window)
    np.testing.assert_array_equal(window_descriptors(grid, rows, columns, window), descriptors)
    slots = SlotMap(n_slots, random_state=0, window=window).fit(descriptors[::3])
    nearest = cdist(descriptors.astype(float), slots.centers_.astype(float)).argmin(axis=1)
    np.testing.assert_array_equal(slots.assign(descriptors), nearest)
    np.testing.assert_array_equal(slots.assign_windows(grid).ravel(), nearest)


def test_centres_that_single_precision_cannot_tell_apart():
    """Centres differ in the seventh digit, far from the origin: only the second measurement can decide."""
    rng = np.random.default_rng(1)
    grid = (100 + random_grid(rng, (9, 9, 3))).astype(np.float32)
    slots = SlotMap(2, random_state=0, window=(3, 3)).fit(all_windows(grid, (3, 3))[0])
    middle = np.full(27, 100.5, dtype=np.float32)
    nudge = np.where(np.arange(27) % 2, 1e-4, 0).astype(np.float32)
    slots.centers_ = np.stack([middle, middle + nudge])
    descriptors = all_windows(grid, (3, 3))[0]
    nearest = cdist(descriptors.astype(float), slots.centers_.astype(float)).argmin(axis=1)
    assert set(nearest) == {0, 1}
    np.testing.assert_array_equal(slots.assign_windows(grid).ravel(), nearest)


@given(seed=st.integers(0, 2**32 - 1), n_slots=st.integers(1, 4))
def test_scores_and_sums_are_those_of_the_features(seed, n_slots):
    rng = np.random.default_rng(seed)
    window, stack = (3, 2), rng.random((3, 6, 5, 4), dtype=np.float32)
    slots = SlotMap(n_slots, random_state=0, window=window).fit(all_windows(stack[0], window)[0])
    assigned = slots.assign_windows(stack)
    w = rng.normal(size=n_slots * 25)
    scores = score_windows(w, stack, assigned, window)
    picked = [(g, *divmod(int(k), 4)) for g in range(3) for k in rng.integers(16, size=5)]
    features = [
        feature(stack[g, i : i + 3, j : j + 2].ravel(), assigned[g, i, j], n_slots) for g, i, j in picked
    ]
    np.testing.assert_allclose([scores[place] for place in picked], features @ w, atol=1e-4)
    factors = rng.normal(size=len(picked))
    places = tuple(np.array(picked).T)
    total = sum_of_features(stack, places, assigned[places], factors, n_slots, window)
    np.testing.assert_allclose(total.ravel(), factors @ np.array(features), atol=1e-6)


def test_a_grid_is_a_stack_of_one_and_threads_do_not_matter(monkeypatch):
    rng = np.random.default_rng(2)
    stack = rng.random((5, 20, 12, 6), dtype=np.float32)
    slots = SlotMap(4, random_state=0, window=(3, 3)).fit(all_windows(stack[0], (3, 3))[0])
    w = rng.normal(size=(4, 55))
    whole = slots.assign_windows(stack, n_jobs=2)
    scores = score_windows(w, stack, whole, (3, 3), n_jobs=2)
    monkeypatch.setattr(slot, "_BAND", 4)
    for grid, expected, values in zip(stack, whole, scores, strict=True):
        np.testing.assert_array_equal(slots.assign_windows(grid, n_jobs=1), expected)
        np.testing.assert_array_equal(score_windows(w, grid, expected, (3, 3), n_jobs=1), values)


def test_centres_depend_on_the_seed_alone():
    descriptors = np.random.default_rng(3).random((200, 49))
    one, again = (SlotMap(5, random_state=1).fit(descriptors) for _ in range(2))
    other = SlotMap(5, random_state=2).fit(descriptors)
    np.testing.assert_array_equal(one.centers_, again.centers_)
    assert not np.array_equal(one.centers_, other.centers_)


@pytest.mark.parametrize(
    ("n_slots", "descriptors", "message"),
    [
        (0, np.zeros((3, 49)), "0 slots: expected 1 to 3"),
        (4, np.zeros((3, 49)), "4 slots: expected 1 to 3"),
        (1, np.zeros((3, 50)), "50 numbers: expected a multiple of the window's 49 cells"),
        (1, np.zeros(49), r"shape \(49,\): expected \(n, n_features\)"),
        (1, np.full((3, 49), np.inf), "not finite"),
    ],
)
def test_bad_descriptors(n_slots, descriptors, message):
    with pytest.raises(ValueError, match=message):
        SlotMap(n_slots).fit(descriptors)


def test_bad_grids_and_slots():
    slots = SlotMap(1).fit(np.zeros((2, 98)))
    with pytest.raises(ValueError, match=r"shape \(6, 9, 2\): expected .* at least \(7, 7\) cells"):
        slots.assign_windows(np.zeros((6, 9, 2)))
    with pytest.raises(ValueError, match="windows of 7 x 7 cells with 3 numbers: expected 98 in all"):
        slots.assign_windows(np.zeros((9, 9, 3)))
    with pytest.raises(ValueError, match=r"descriptors have shape \(2, 97\): expected \(n, 98\)"):
        slots.assign(np.zeros((2, 97)))
    with pytest.raises(ValueError, match=r"slots of shape \(2, 2\) from 0 to 0: expected \(3, 3\)"):
        score_windows(np.zeros(99), np.zeros((9, 9, 2)), np.zeros((2, 2), dtype=int))
    with pytest.raises(ValueError, match=r"from 0 to 1: expected \(3, 3\), from 0 to 0"):
        score_windows(np.zeros(99), np.zeros((9, 9, 2)), np.ones((3, 3), dtype=int))


def test_slots_below_0_are_refused():
    with pytest.raises(ValueError, match=r"from -1 to 0: expected \(3, 3\), from 0 to 1"):
        score_windows(np.zeros((2, 99)), np.zeros((9, 9, 2)), np.full((3, 3), -1))


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ((1, 0, 0, 0), "numbers of grids from 1 to 1: expected 0 to 0"),
        ((-1, 0, 0, 0), "numbers of grids from -1 to -1"),
        ((0, 3, 0, 0), "rows from 3 to 3: expected 0 to 2"),
        ((0, 0, -1, 0), "columns from -1 to -1: expected 0 to 2"),
        ((0, 0, 0, 2), "slots from 2 to 2: expected 0 to 1"),
    ],
)
def test_places_out_of_range_are_refused(place, message):
    grid, row, column, q = ([number] for number in place)
    with pytest.raises(ValueError, match=message):
        sum_of_features(np.ones((1, 9, 9, 2)), (grid, row, column), q, [1.0], 2)


def test_windows_whose_products_overflow_have_the_nearest_centre():
    rng = np.random.default_rng(0)
    slots = SlotMap(4, 0, (2, 2)).fit(rng.normal(size=(60, 8)))
    grid = 1e38 * rng.normal(size=(5, 5, 2)).astype(np.float32)
    rows, columns = (axis.ravel() for axis in np.indices((4, 4)))
    expected = slots.assign(window_descriptors(grid, rows, columns, (2, 2)))
    np.testing.assert_array_equal(slots.assign_windows(grid).ravel(), expected)


def test_number_of_slots_is_that_of_the_centres():
    rng = np.random.default_rng(0)
    slots = SlotMap(4, 0, (2, 2)).fit(rng.normal(size=(60, 8)))
    grid = rng.normal(size=(5, 5, 2))
    expected = slots.assign_windows(grid)
    np.testing.assert_array_equal(slots.set_params(n_slots=2).assign_windows(grid), expected)


def test_whole_numbers_of_any_type():
    grid, places = np.ones((1, 3, 3, 1), dtype=np.float32), ([0], [0], [0])
    expected = sum_of_features(grid, places, [0], [1.0], 2, (2, 2))
    np.testing.assert_array_equal(sum_of_features(grid, places, [0], [1.0], 2.0, (2.0, 2.0)), expected)
    slots, weights = np.zeros((1, 2, 2), dtype=np.int64), np.ones((1, 5))
    np.testing.assert_array_equal(
        score_windows(weights, grid, slots, (2.0, np.int8(2))), score_windows(weights, grid, slots, (2, 2))
    )
    model = SlotMap(2.0, 0, (1.0, 3.0)).fit(np.random.default_rng(0).normal(size=(9, 3)))
    assert model.assign_windows(np.ones((4, 5, 1))).shape == (4, 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: SlotMap(1, 0, (1, 2)).fit(np.ones((4, 2)) * 1j),
        lambda: score_windows(np.ones((1, 2)) * 1j, np.ones((1, 1, 1)), np.zeros((1, 1), dtype=int), (1, 1)),
        lambda: score_windows(np.ones((1, 2)), np.ones((1, 1, 1)) * 1j, np.zeros((1, 1), dtype=int), (1, 1)),
    ],
)
def test_complex_numbers_are_refused(call):
    with pytest.raises(ValueError, match="complex"):
        call()


def test_window_that_is_a_number_is_refused():
    with pytest.raises(ValueError, match="window is 3"):
        SlotMap(1, 0, 3).fit(np.ones((4, 3)))
