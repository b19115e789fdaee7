"""Searches over boxes with hostile weights, points, histograms and penalties."""

import math
from collections.abc import Callable
from itertools import chain, combinations_with_replacement, product

import numpy as np
import pytest
from expectations import refused
from harness import Cases, survive
from hostile_data import all_tables
from hostile_weights import hostile_weights
from numpy.typing import NDArray

from ermlab.detection import (
    BoxDetector,
    Detection,
    Detector,
    Quality,
    best_box,
    best_boxes,
    histogram,
    linear,
    loss_augmented,
    pyramid,
)
from ermlab.detection.boxes import overlap
from ermlab.detection.strategy import best_strategy, count_splits, measure_costs, strategy_cost

Vector = NDArray[np.float64]
#: Shapes with all boxes few enough to be listed, among them lines and a single pixel.
SHAPES = ((1, 1), (1, 9), (9, 1), (2, 2), (5, 6))


def all_boxes(shape: tuple[int, int]) -> list[tuple[int, int, int, int]]:
    """Return every box of an image (left, top, right, bottom)."""
    rows, columns = (list(combinations_with_replacement(range(side), 2)) for side in shape)
    return [(left, top, right, bottom) for (top, bottom), (left, right) in product(rows, columns)]


def require_best(quality: Quality, found: Detection) -> None:
    """Raise an AssertionError unless a box is the best of all, and bounds are above its score."""
    boxes = all_boxes(quality.shape)
    scores = np.array([quality.score(box) for box in boxes])
    assert quality.score(found.box) == found.score, "the score is not that of the box"
    assert found.score == scores.max(), f"the score is {found.score}: expected {scores.max()}"
    height, width = quality.shape
    whole = quality.bound((0, width - 1), (0, height - 1), (0, width - 1), (0, height - 1))
    assert whole >= scores.max(), "the bound of all boxes is below the best"


def weighted_points() -> Cases:
    """Compare searches of sums of weights with a list of all boxes."""
    for seed, shape in enumerate(SHAPES):
        for n in (0, 1, 40):
            rng = np.random.default_rng(seed)
            points = rng.integers(0, shape[::-1], (n, 2))
            for k, (name, weights) in enumerate(hostile_weights(n, rng).items()):
                # Without points all weights are alike; of other cases either bound takes its turn.
                if n or name == "plain":
                    bound = ("tight", "classical")[(k + seed) % 2]
                    yield (
                        f"{shape}, {n} points, {bound}, {name}",
                        lambda p=points, w=weights, s=shape, b=bound: search_points(p, w, s, b),
                    )


def search_points(points: NDArray, weights: Vector, shape: tuple[int, int], bound: str) -> None:
    """Find the best box, those after it, and the worst violations of a margin."""
    quality = linear(points, weights, shape, bound)
    best = best_box(quality)
    require_best(quality, best)
    n = min(3, math.prod(side * (side + 1) // 2 for side in shape))
    for overlap_limit in (1e-300, 0.5, 1.0):
        found = best_boxes(quality, n, overlap_limit)
        assert found[0].score == best.score, "the first detection is the best box"
        shared = overlap(*[[detection.box for detection in found]] * 2)
        assert (shared[np.triu_indices(len(found), 1)] < overlap_limit).all(), "boxes overlap too much"
    for rescaling in ("margin", "slack"):
        augmented = loss_augmented(quality, (0, 0, 0, 0), rescaling)
        require_best(augmented, best_box(augmented))


def many_ties() -> Cases:
    """Search images where many boxes are equal: the queue grows beyond its first room."""
    for name, shape, n in (("line", (1, 300), 150), ("square", (24, 24), 60)):
        rng = np.random.default_rng(0)
        points = rng.integers(0, shape[::-1], (n, 2))
        for weight_name, weights in (
            ("zeros", np.zeros(n)),
            ("ones", np.ones(n)),
            ("signs", rng.choice([-1.0, 1.0], n)),
        ):
            yield (
                f"{name} of {weight_name}",
                lambda p=points, w=weights, s=shape: [
                    (d.box, d.score) for d in best_boxes(linear(p, w, s, "classical"), 30, 1.0)
                ],
            )
    # Each of the four sides takes 15 halvings: the stack of the depth-first search holds one set for each.
    for side in (32767, 32768):
        line = np.array([[0, 0], [side - 1, 0], [side // 2, 0]])
        yield f"{side} pixels in a row", lambda p=line, n=side: best_box(linear(p, [1.0, 1.0, -3.0], (1, n)))
        yield (
            f"{side} pixels in a column",
            lambda p=line[:, ::-1], n=side: best_box(linear(p, [-1.0, -1.0, -1.0], (n, 1))),
        )


def cells_and_histograms() -> Cases:
    """Compare searches with pyramids and histograms with a list of all boxes."""
    for seed, shape in enumerate(SHAPES):
        for n in (0, 1, 12):
            rng = np.random.default_rng(seed)
            points, words = rng.integers(0, shape[::-1], (n, 2)), rng.integers(0, 3, n)
            for grids in ((1,), (1, 2), (3,), (7,)):
                n_cells = sum(grid**2 for grid in grids)
                for name, weights in hostile_weights(n * n_cells, rng).items():
                    if (grids == (1, 2) and n) or name == "plain":
                        yield (
                            f"pyramid {grids}, {shape}, {n} points, {name}",
                            lambda p=points, w=weights, s=shape, g=grids: search_quality(
                                lambda: pyramid(p, w.reshape(len(p), -1) if len(p) else w, s, g)
                            ),
                        )
                for name, row in hostile_weights(3 * n_cells, rng).items():
                    rows = np.abs([row, row[::-1]])
                    if (grids == (1,) and n == 12) or name in ("plain", "zeros"):
                        for kernel in ("intersection", "chi2", "chi2_distance"):
                            yield (
                                f"{kernel} {grids}, {shape}, {n} points, {name}",
                                lambda p=points, w=words, s=shape, r=rows, k=kernel, g=grids: search_quality(
                                    lambda: histogram(p, w, s, r, [1.0, -2.0], k, g)
                                ),
                            )


def search_quality(build: Callable[[], Quality]) -> None:
    """Build a quality and find its best box."""
    quality = build()
    require_best(quality, best_box(quality))


def penalties() -> Cases:
    """Search with functions of the overlap, some of which are no penalty where nobody looked."""
    rng = np.random.default_rng(0)
    quality = linear(rng.integers(0, 7, (15, 2)), rng.normal(size=15), (7, 7))
    for name, penalty in {
        "none": lambda x: 0.0,
        "linear": lambda x: 3 * x,
        "infinite": lambda x: np.inf if x > 0.2 else 0.0,
        "huge": lambda x: 1e308 * x,
    }.items():
        yield name, lambda g=penalty: [(d.box, d.score) for d in best_boxes(quality, 8, g)]
    for name, penalty in {
        "negative": lambda x: -x,
        "NaN": lambda x: np.nan,
        "falling": lambda x: 1 - x,
        "negative at a third": lambda x: -5.0 if 0.2 < x * 1024 % 1 < 0.8 else x,
        "NaN at a third": lambda x: np.nan if 0.2 < x * 1024 % 1 < 0.8 else x,
        "of two numbers": lambda x, y: x + y,
        "a text": lambda x: "penalty",
    }.items():
        yield name, lambda g=penalty: refused(lambda: best_boxes(quality, 12, g))
    for limit in (0.0, -1.0, np.nan, np.inf, 1.5):
        yield f"threshold {limit}", lambda limit=limit: refused(lambda: best_boxes(quality, 2, limit))
    for n in (0, -1, 10**9, 1.5, np.nan):
        yield f"{n} detections", lambda n=n: refused(lambda: best_boxes(quality, n))
    for found in ([[0, 0, 7, 3]], [[-1, 0, 3, 3]], [[3, 3, 2, 3]], [[0, 0, np.nan, 3]]):
        yield f"found {found}", lambda found=found: refused(lambda: Detector(quality, found=found))
    everything = all_boxes((7, 7))
    yield "all suppressed", lambda: Detector(quality, 1e-3, found=everything).next() is None


def costs_of_queues() -> Cases:
    """Count splits in one walk as in many searches, and with detections that are wrong."""
    for seed, shape in enumerate(SHAPES[3:]):
        rng = np.random.default_rng(seed)
        points = rng.integers(0, shape[::-1], (10, 2))
        for name, weights in hostile_weights(10, rng).items():
            yield name, lambda p=points, w=weights, s=shape: compare_costs(linear(p, w, s))
    quality = linear([[0, 0], [2, 1]], [1.0, 2.0], (2, 3))
    for score in (np.nan, np.inf, -np.inf):
        wrong = [Detection(np.array([0, 0, 1, 1]), score, 0)]
        yield f"score {score}", lambda wrong=wrong: refused(lambda: count_splits(quality, [wrong], [0.5]))
    low = [Detection(np.array([0, 0, 1, 1]), -1e300, 0)]
    yield "score too low", lambda: count_splits(quality, [low], [0.5])
    for name, costs in hostile_weights(16, np.random.default_rng(0)).items():
        yield f"costs {name}", lambda costs=costs: follow_strategy(costs.reshape(4, 4))


def compare_costs(quality: Quality) -> None:
    """Compare the costs that one walk finds with those that are measured."""
    found = best_boxes(quality, 2, 0.9)
    if len(found) == 2:
        costs = measure_costs(quality, 2, 0.9)
        assert np.array_equal(costs, count_splits(quality, [found], [0.9])[0], equal_nan=True)


def follow_strategy(costs: NDArray) -> None:
    """Compare the cost of the best strategy with that of each."""
    best = best_strategy(costs)
    each = [strategy_cost(costs, "".join(digits)) for digits in product("01", repeat=len(costs) - 1)]
    scale = np.nanmax(np.abs(costs)) or 1.0  # below the diagonal, nothing is asked of costs
    assert abs(best.cost - min(each)) <= 1e-12 * scale, "another strategy is cheaper"


def wrong_points() -> Cases:
    """Build qualities of what are no points, words, grids or boxes."""
    for name, points in {
        "beyond the last": [[3, 0]],
        "negative": [[0, -1]],
        "beyond 64 bits": np.array([[2**63, 0]], dtype=np.uint64),
        "fractions": [[0.5, 0.0]],
        "NaN": [[np.nan, 0.0]],
    }.items():
        yield f"points {name}", lambda points=points: refused(lambda: linear(points, [1.0], (2, 3)))
    for shape in ((0, 3), (-1, 3), (2.5, 3), (np.nan, 3), (np.inf, 3), (32769, 1), (3,), ()):
        yield f"shape {shape}", lambda shape=shape: refused(lambda: linear([], [], shape))
    for grids in ((), (0,), (-1,), (1.5,), (2**32,), (1, 2**31), [[1]]):
        yield (
            f"grids {grids}",
            lambda grids=grids: refused(lambda: histogram([], [], (2, 3), [1.0], grids=grids)),
        )
    for name, words in {"beyond the last": [2], "negative": [-1], "fraction": [0.5], "two": [0, 1]}.items():
        yield (
            f"words {name}",
            lambda words=words: refused(lambda: histogram([[0, 0]], words, (2, 3), [1.0, 2.0])),
        )
    quality = linear([[0, 0]], [1.0], (2, 3))
    for ends in (
        ((0, 3), (0, 1), (0, 2), (0, 1)),
        ((2, 1), (0, 1), (2, 2), (0, 1)),
        ((2, 2), (0, 1), (0, 2), (0, 1)),
    ):
        yield f"intervals {ends}", lambda ends=ends: refused(lambda: quality.bound(*ends))


def detector() -> Cases:
    """Fit and apply detectors to images that repeat each table."""
    for name, X in all_tables().items():
        yield name, lambda X=X: learn_boxes(X)


def learn_boxes(X: NDArray) -> dict[str, object]:
    """Return what a detector learns from an image with a box, and one without."""
    image = np.tile(X, (1 + 64 // max(len(X), 1), 1 + 80 // max(X.shape[1], 1)))[:64, :80]
    found = BoxDetector(n_cells=12, max_iter=10).fit([image, image[::-1]], [[[8, 8, 39, 31]], []])
    boxes, scores = found.predict([image])
    return {"coef_": found.coef_, "boxes": boxes[0], "scores": scores[0]}


# Cases of one subject share a process: to start one takes longer than most of them.
SUBJECTS = {
    "searches": lambda: chain(
        weighted_points(), many_ties(), cells_and_histograms(), penalties(), costs_of_queues(), wrong_points()
    ),
    "detector": detector,
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    survive(__file__, subject)
