"""Reset strategies: a case by hand, and bad input."""

import numpy as np
import pytest

from ermlab.detection import best_boxes, linear
from ermlab.detection.strategy import best_strategy, count_splits, measure_costs, strategy_cost

COSTS = np.array([[5.0, 9, 9], [np.nan, 4, 1], [np.nan, np.nan, 3]])


def test_strategy_by_hand():
    assert [strategy_cost(COSTS, reset) for reset in ("00", "01", "10", "11")] == [23, 17, 10, 12]
    assert best_strategy(COSTS) == ("10", 10.0)
    assert best_strategy([[7.0]]) == ("", 7.0)


def test_equal_strategies_keep_the_queue():
    assert best_strategy(np.ones((4, 4))) == ("000", 4.0)


def test_costs_in_splits_and_in_seconds():
    rng = np.random.default_rng(0)
    quality = linear(rng.integers((30, 20), size=(40, 2)), rng.normal(size=40), (20, 30))
    splits = measure_costs(quality, 4, 0.5)
    np.testing.assert_array_equal(splits, measure_costs(quality, 4, 0.5))
    seconds = measure_costs(quality, 4, 0.5, unit="seconds")
    for costs in (splits, seconds):
        above = np.triu_indices(4)
        assert np.isnan(costs[np.tril_indices(4, -1)]).all()
        assert (costs[above] > 0).all()


def test_bad_input():
    quality = linear([[0, 0]], [1.0], (1, 2))
    with pytest.raises(ValueError, match="unit is 'hours'"):
        measure_costs(quality, 2, unit="hours")
    with pytest.raises(ValueError, match="3 detections: expected at most 2"):
        measure_costs(quality, 3)
    with pytest.raises(ValueError, match=r"costs of shape \(2, 3\)"):
        best_strategy(np.ones((2, 3)))
    with pytest.raises(ValueError, match="not finite"):
        best_strategy([[1.0, np.nan], [1.0, 1.0]])
    with pytest.raises(ValueError, match="reset is '0': expected a string of 2 digits"):
        strategy_cost(COSTS, "0")


def test_bad_input_of_the_count():
    quality = linear([[0, 0], [2, 1]], [1.0, 2.0], (2, 3))
    found = best_boxes(quality, 2)
    with pytest.raises(ValueError, match="overlaps contain a function"):
        count_splits(quality, [found], [lambda x: x])
    with pytest.raises(ValueError, match="overlap is 0"):
        count_splits(quality, [found], [0])
    with pytest.raises(ValueError, match=r"\[2, 1\] detections: expected the same number"):
        count_splits(quality, [found, found[:1]], [0.5, 0.75])
    with pytest.raises(ValueError, match="for each of 2 overlaps"):
        count_splits(quality, [found], [0.5, 0.75])
    with pytest.raises(ValueError, match=r"\[0\] detections"):
        count_splits(quality, [[]], [0.5])
    with pytest.raises(ValueError, match="expected the best first"):
        count_splits(quality, [found[::-1]], [0.5])
    with pytest.raises(ValueError, match="expected a box inside 2 x 2 pixels"):
        count_splits(linear([[0, 0]], [1.0], (2, 2)), [found], [0.5])
