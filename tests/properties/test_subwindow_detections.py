"""Many detections: the greedy maxima over all boxes, whatever the strategy, and theorems on their cost."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ermlab.detection import best_boxes, detect, linear
from ermlab.detection._bounds_numba import least_overlap
from ermlab.detection.boxes import overlap as overlaps
from ermlab.detection.strategy import best_strategy, count_splits, measure_costs, strategy_cost

N = 4
THRESHOLDS = st.sampled_from([0.25, 0.5, 0.75, 1.0])


def soft(overlap):
    return 2.0 * overlap * overlap


def flat(overlap):
    return 0.0


def hard_and_soft(overlap):
    return np.inf if overlap > 0.7 else overlap


PENALTIES = {function.__name__: function for function in (soft, flat, hard_and_soft)}


def all_boxes(shape):
    height, width = shape
    sides = itertools.product(range(width)[::-1], range(height)[::-1], range(width), range(height))
    return np.array([box for box in sides if box[0] <= box[2] and box[1] <= box[3]])


def greedy(quality, n_detections, g):
    """The definition: each detection is the first of the best boxes less the penalties by those before."""
    boxes = all_boxes(quality.shape)
    scores = np.array([quality.score(box) for box in boxes])
    found = []
    for _ in range(n_detections):
        best = scores.argmax()
        if scores[best] == -np.inf:
            break
        found.append((*boxes[best].tolist(), scores[best]))
        scores = scores - [g(x) for x in overlaps(boxes, boxes[[best]])[:, 0]]
    return found


def as_rows(detections):
    return [(*detection.box.tolist(), detection.score) for detection in detections]


def random_image(seed, side=7, n_points=15):
    rng = np.random.default_rng(seed)
    height, width = rng.integers(2, side + 1, size=2)
    n = rng.integers(n_points)
    points = np.column_stack([rng.integers(width, size=n), rng.integers(height, size=n)])
    weights = rng.normal(size=n) if seed % 2 else rng.integers(-2, 3, size=n).astype(float)
    return points, weights, (height, width)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), gamma=THRESHOLDS, reset=st.text("01", min_size=N - 1, max_size=N - 1))
def test_all_strategies_find_the_greedy_detections(seed, gamma, reset):
    quality = linear(*random_image(seed))
    expected = greedy(quality, N, lambda x: np.inf if x >= gamma else 0.0)
    assert as_rows(best_boxes(quality, N, gamma, reset)) == expected


@pytest.mark.parametrize("name", PENALTIES)
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), reset=st.text("01", min_size=N - 1, max_size=N - 1))
def test_any_non_decreasing_penalty(name, seed, reset):
    g, quality = PENALTIES[name], linear(*random_image(seed))
    assert as_rows(best_boxes(quality, N, g, reset)) == greedy(quality, N, g)


@pytest.mark.parametrize("bound", ["tight", "classical"])
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), gamma=THRESHOLDS)
def test_larger_images_agree_between_strategies(bound, seed, gamma):
    rng = np.random.default_rng(seed)
    points = rng.integers((60, 40), size=(80, 2))
    weights = np.where(rng.random(80) < 0.5, rng.normal(-0.2, size=80), rng.integers(-2, 3, size=80))
    found = [
        as_rows(detect(points, weights, (40, 60), 6, gamma, reset, bound))
        for reset in ("00000", "11111", "10100")
    ]
    assert found[0] == found[1] == found[2]


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), gamma=THRESHOLDS)
def test_reset_visits_no_more_than_any_strategy_up_to_there(seed, gamma):
    """Theorem 5.1.2: what a search from the root goes through, the kept queue has gone through by then."""
    rng = np.random.default_rng(seed)
    points, weights = rng.integers((20, 15), size=(30, 2)), rng.normal(-0.1, size=30)
    quality = linear(points, weights, (15, 20), "classical")
    assume(len(best_boxes(quality, 5, gamma)) == 5)
    costs = measure_costs(quality, 5, gamma)
    for k in range(5):
        for reset in map("".join, itertools.product("01", repeat=k)):
            assert costs[k, k] <= strategy_cost(costs[: k + 1, : k + 1], reset)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), gamma=THRESHOLDS)
def test_costs_depend_on_the_last_reset_alone(seed, gamma):
    rng = np.random.default_rng(seed)
    points, weights = rng.integers((20, 15), size=(30, 2)), rng.normal(size=30)
    quality = linear(points, weights, (15, 20))
    assume(len(best_boxes(quality, N, gamma)) == N)
    costs = measure_costs(quality, N, gamma)
    for reset in map("".join, itertools.product("01", repeat=N - 1)):
        splits = sum(detection.splits for detection in best_boxes(quality, N, gamma, reset))
        assert splits == strategy_cost(costs, reset)


@pytest.mark.parametrize("bound", ["tight", "classical"])
@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), ties=st.booleans())
def test_one_walk_counts_what_all_queues_take(bound, seed, ties):
    rng = np.random.default_rng(seed)
    points = rng.integers((30, 20), size=(40, 2))
    weights = rng.integers(-2, 3, size=40) if ties else rng.normal(-0.1, size=40)
    quality, gammas = linear(points, weights, (20, 30), bound), [0.25, 0.5, 1.0]
    detections = [best_boxes(linear(points, weights, (20, 30)), 5, gamma) for gamma in gammas]
    assume(all(len(found) == 5 for found in detections))
    measured = [measure_costs(quality, 5, gamma) for gamma in gammas]
    np.testing.assert_array_equal(count_splits(quality, detections, gammas), measured)


@settings(max_examples=100)
@given(n=st.integers(1, 7), seed=st.integers(0, 2**32 - 1), ties=st.booleans())
def test_shortest_path_is_the_best_of_all_strategies(n, seed, ties):
    rng = np.random.default_rng(seed)
    costs = rng.integers(4, size=(n, n)).astype(float) if ties else rng.random((n, n))
    found = best_strategy(costs)
    every = [strategy_cost(costs, "".join(reset)) for reset in itertools.product("01", repeat=n - 1)]
    assert len(every) == 2 ** (n - 1)
    assert found.cost == pytest.approx(min(every), abs=1e-12)
    assert strategy_cost(costs, found.reset) == pytest.approx(found.cost, abs=1e-12)


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32 - 1))
def test_bound_of_the_suppression_is_between_the_truth_and_eq_5_13(seed):
    """Inner intersection over outer union is a bound for all members, and betters that of eq. 5.13."""
    rng, boxes = np.random.default_rng(seed), all_boxes((5, 6))
    low, high = np.sort(boxes[rng.integers(len(boxes), size=2)], axis=0)
    other = boxes[rng.integers(len(boxes))]
    members = boxes[((boxes >= low) & (boxes <= high)).all(axis=1)]
    inner, outer = (*high[:2], *low[2:]), (*low[:2], *high[2:])
    sides = np.minimum(inner[2:], other[2:]) - np.maximum(inner[:2], other[:2]) + 1
    shared = np.prod(np.maximum(sides, 0))
    largest, area = (np.prod(np.subtract(box[2:], box[:2]) + 1) for box in (outer, other))
    ours = least_overlap(tuple(np.column_stack([low, high]).ravel().tolist()), tuple(other.tolist()))
    assert shared / (largest + area - shared) <= ours <= overlaps(members, other[None]).min()
