"""Summaries of costs: a case by hand, and the two groups of images."""

import numpy as np
import pytest

from ermlab.detection import best_strategy
from reproduction.claims.results import resampled
from reproduction.experiments.detection_strategies.measures import (
    brute_force_gap,
    compare_strategies,
    cost_table,
    mean_costs,
    measure_strategies,
    reset_over_kept,
    seen_with_and_without,
    statistics_table,
    strategy_values,
)

NAN = np.nan
# Resetting pays before the second detection; always costs 5 + 4 + 3, never 5 + 9 + 9, the best 5 + 4 + 1.
RESET_ONCE = np.array([[5.0, 9, 9], [NAN, 4, 1], [NAN, NAN, 3]])
KEEP = np.array([[5.0, 1, 1], [NAN, 5, 1], [NAN, NAN, 5]])
RESET_LATE = np.array([[5.0, 1, 9], [NAN, 5, 9], [NAN, NAN, 5]])
PRESENT = np.array([[True, False, False], [True, True, True]])


def test_strategies_by_hand():
    found = compare_strategies(np.stack([RESET_ONCE, KEEP, RESET_LATE]))
    assert found["reset"].tolist() == ["10", "00", "01"]
    assert found["resets"].tolist() == [1, 0, 1]
    assert found["reset_first"].tolist() == [True, True, False]
    np.testing.assert_allclose(found["all_reset"], [12 / 10, 15 / 7, 15 / 11])
    np.testing.assert_allclose(found["no_reset"], [23 / 10, 1, 15 / 11])
    np.testing.assert_allclose(found["best_reset_first"], [1, 1, 15 / 11])


def test_ties_keep_the_queue_as_the_shortest_path_does():
    costs = np.random.default_rng(1).integers(1, 3, size=(200, 6, 6)).astype(float)
    digits = compare_strategies(costs)["reset"].tolist()
    assert digits == [best_strategy(table).reset for table in costs]
    assert measure_strategies(costs.reshape(10, 20, 6, 6))["resets"].shape == (10, 20)


def test_shortest_path_is_as_good_as_brute_force():
    costs = np.random.default_rng(0).integers(1, 50, size=(40, 7, 7)).astype(float)
    assert brute_force_gap(costs) == 0


def test_reset_against_the_kept_queue():
    # The second search of `RESET_LATE` costs 5, the kept queue 5 + 1; the third 5 against 5 + 1 + 9, 5 + 9.
    assert reset_over_kept(RESET_LATE[None]) == 5 / 6
    expensive_reset = np.array([[2.0, 3], [NAN, 10]])
    assert reset_over_kept(np.stack([expensive_reset, RESET_ONCE[:2, :2]])) == 2


def test_reset_against_a_queue_that_was_reset_later():
    """The third search costs 9, the queue of the second 2 + 1, and the first 5 + 5 + 5."""
    assert reset_over_kept(np.array([[[5.0, 5, 5], [NAN, 2, 1], [NAN, NAN, 9]]])) == 3


def splits_of_two_classes():
    """Gamma .25 and .75; the first class resets once and costs twice as much where it is present.

    For the second gamma both classes keep the queue, and the first one costs three times as much.
    """
    first = np.stack([2 * RESET_ONCE, RESET_ONCE, RESET_ONCE])
    second = np.stack([KEEP, KEEP, KEEP])
    return np.stack([np.stack([first, second]), np.stack([3 * second, second])])


def test_values_by_hand():
    values = strategy_values(splits_of_two_classes())
    assert {name: column.tolist() for name, column in values["resets"].items()} == {
        "min": [0, 0],
        "median": [0.5, 0],
        "max": [1, 0],
    }
    assert values["no_reset_ratio"]["max"].tolist() == [2.3, 1.0]
    assert values["reset_first_share"] == 1
    np.testing.assert_allclose(values["splits_without_reset"], [(23 * 4 / 3 + 7) / 2, (21 + 7) / 2])


def test_classes_with_and_without():
    assert seen_with_and_without(PRESENT).tolist() == [0]


def test_curves_in_long_form():
    table = mean_costs(splits_of_two_classes(), [0.25, 0.75], ["cat", "train"], PRESENT)
    assert len(table) == 2 * (2 + 1 + 1) * 6
    here = table[(table["gamma"] == 0.25) & (table["class"] == "cat")].set_index(
        ["images", "reset_before", "detection"]
    )["splits"]
    assert here["all", 1, 2] == pytest.approx(9 * 4 / 3)
    assert (here["present", 2, 3], here["absent", 2, 3]) == (2, 1)
    assert set(table[table["class"] == "train"]["images"]) == {"all"}


def test_costs_come_back_as_a_table():
    """The mean over the classes cat, as `RESET_ONCE`, and train, three times as expensive."""
    splits = np.stack([RESET_ONCE, 3 * RESET_ONCE])[None, :, None]
    table = mean_costs(splits, [0.5], ["cat", "train"], np.ones((2, 1), dtype=bool))
    np.testing.assert_array_equal(cost_table(table), 2 * RESET_ONCE)


def test_statistics_side_by_side():
    ours = strategy_values(splits_of_two_classes())["resets"]
    ours["max"] = [resampled(1, [0.0, 3.0], "image", 2), 0]
    table = statistics_table(
        [0.25, 0.75], {"published": {"min": [3, 1], "median": [4, 2], "max": [4, 3]}, "here": ours}
    )
    assert table["gamma"].tolist() == [0.25] * 3 + [0.75] * 3
    assert table["over classes"].tolist() == ["min", "median", "max"] * 2
    assert table["published"].tolist() == [3, 4, 4, 1, 2, 3]
    assert table["here"].tolist() == [0, 0.5, 1, 0, 0, 0]
