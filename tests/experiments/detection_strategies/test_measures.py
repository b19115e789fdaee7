"""Summaries of costs: a case by hand, and the two groups of images."""

import numpy as np
import pytest

from reproduction.experiments.detection_strategies.measures import (
    brute_force_gap,
    compare_strategies,
    cost_table,
    mean_costs,
    presence_difference,
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


def test_shortest_path_is_as_good_as_brute_force():
    costs = np.random.default_rng(0).integers(1, 50, size=(40, 7, 7)).astype(float)
    assert brute_force_gap(costs) == 0


def test_reset_against_the_kept_queue():
    assert reset_over_kept(np.stack([RESET_ONCE, RESET_LATE])) == 1
    assert reset_over_kept(np.stack([RESET_ONCE, KEEP])[:, :2, :2]) == 1
    expensive_reset = np.array([[2.0, 3], [NAN, 10]])
    assert reset_over_kept(np.stack([expensive_reset, RESET_ONCE[:2, :2]])) == 2


def splits_of_two_classes():
    """Gamma .25 and .75; the first class resets once and costs twice as much where it is present.

    For the second gamma both classes keep the queue, and the first one costs three times as much.
    """
    first = np.stack([2 * RESET_ONCE, RESET_ONCE, RESET_ONCE])
    second = np.stack([KEEP, KEEP, KEEP])
    return np.stack([np.stack([first, second]), np.stack([3 * second, second])])


def test_values_by_hand():
    values = strategy_values(splits_of_two_classes(), PRESENT)
    assert values["resets"] == {"min": [0, 0], "median": [0.5, 0], "max": [1, 0]}
    assert values["no_reset_ratio"]["max"] == [2.3, 1.0]
    assert values["reset_first_share"] == 1
    assert values["never_beats_always_share"] == 0.75
    np.testing.assert_allclose(values["reset_cost_last_over_first"], [(4 + 5) / (20 / 3 + 5), 1])
    np.testing.assert_allclose(values["presence_difference"], [1, 0])
    assert values["presence_difference_max"] == pytest.approx(1)
    np.testing.assert_allclose(values["splits_without_reset"], [(23 * 4 / 3 + 7) / 2, (21 + 7) / 2])


def test_presence_compares_within_classes():
    assert seen_with_and_without(PRESENT).tolist() == [0]
    assert presence_difference(splits_of_two_classes()[0], PRESENT) == pytest.approx(1)
    with pytest.raises(ValueError, match="expected more images"):
        presence_difference(splits_of_two_classes()[0], np.ones((2, 3), dtype=bool))


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
    ours = strategy_values(splits_of_two_classes(), PRESENT)["resets"]
    table = statistics_table(
        [0.25, 0.75], {"published": {"min": [3, 1], "median": [4, 2], "max": [4, 3]}, "here": ours}
    )
    assert table["gamma"].tolist() == [0.25] * 3 + [0.75] * 3
    assert table["over classes"].tolist() == ["min", "median", "max"] * 2
    assert table["published"].tolist() == [3, 4, 4, 1, 2, 3]
    assert table["here"].tolist() == [0, 0.5, 1, 0, 0, 0]
