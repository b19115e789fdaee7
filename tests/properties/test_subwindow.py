"""Subwindow search against all boxes of small images, and its bounds against all boxes of a set."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ermlab.detection import (
    best_box,
    best_boxes,
    histogram,
    linear,
    loss_augmented,
    pyramid,
    search,
)
from ermlab.detection._depth_first_numba import reached_score
from ermlab.detection._search_numba import halves

N_WORDS = 4


def all_boxes(shape):
    """All boxes of an image, in the order in which equal ones are preferred."""
    height, width = shape
    return np.array(
        [
            (left, top, right, bottom)
            for left in range(width)[::-1]
            for top in range(height)[::-1]
            for right in range(left, width)
            for bottom in range(top, height)
        ]
    )


def holds(boxes, points):
    """Which box holds which point."""
    x, y = points.T
    left, top, right, bottom = boxes[:, :, None].transpose(1, 0, 2)
    return (left <= x) & (x <= right) & (top <= y) & (y <= bottom)


def overlaps(boxes, other):
    """Share of the union of each box with another that both cover, by sets of pixels."""
    other = pixels(other)
    return np.array([len(pixels(box) & other) / len(pixels(box) | other) for box in boxes])


def pixels(box):
    left, top, right, bottom = box
    return {(x, y) for x in range(left, right + 1) for y in range(top, bottom + 1)}


def cell_counts(box, points, words, grids):
    """Histogram of the words in each cell of a box, by walking over its points."""
    left, top, right, bottom = box
    counts = []
    for grid in grids:
        level = np.zeros((grid, grid, N_WORDS))
        rows = [top + i * (bottom - top + 1) // grid for i in range(grid + 1)]
        columns = [left + i * (right - left + 1) // grid for i in range(grid + 1)]
        for (x, y), word in zip(points, words, strict=True):
            for i in range(grid):
                for j in range(grid):
                    level[i, j, word] += rows[i] <= y < rows[i + 1] and columns[j] <= x < columns[j + 1]
        counts.append(level.ravel())
    return np.concatenate(counts)


@st.composite
def images(draw, largest=6, most_points=12):
    """Points and weights in a small image: points may coincide, weights may be equal, 0, or all negative."""
    height, width = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    n = draw(st.integers(0, most_points))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    points = np.column_stack([rng.integers(width, size=n), rng.integers(height, size=n)])
    weights = draw(
        st.sampled_from(
            [
                rng.normal(size=n),
                rng.integers(-2, 3, size=n).astype(float),
                -rng.random(n),
                0.1 * rng.integers(-9, 3, size=n),
            ]
        )
    )
    return points, weights, (height, width)


@pytest.mark.parametrize("bound", ["tight", "classical"])
@settings(max_examples=200)
@given(image=images())
def test_search_finds_the_first_of_the_best_boxes(bound, image):
    points, weights, shape = image
    boxes = all_boxes(shape)
    scores = holds(boxes, points) @ weights
    found = search(points, weights, shape, bound)
    best = np.flatnonzero(scores >= scores.max() - 1e-12)[0]
    assert found.score == pytest.approx(scores[best], abs=1e-12)
    np.testing.assert_array_equal(found.box, boxes[best])


def qualities(points, weights, shape, rng):
    """One quality of each kind with its scores of all boxes by definition."""
    boxes, words = all_boxes(shape), rng.integers(N_WORDS, size=len(points))
    truth = tuple(boxes[rng.integers(len(boxes))])
    grids = [(1,), (2,), (1, 3)][rng.integers(3)]
    cells = sum(grid**2 for grid in grids)
    counts = np.array([cell_counts(box, points, words, grids) for box in boxes])
    W, references = rng.normal(size=(cells, N_WORDS)), rng.integers(5, size=(2, cells * N_WORDS))
    coefficients = rng.normal(size=2)
    h = counts[:, None]
    with np.errstate(invalid="ignore"):
        chi2 = np.nan_to_num(2 * references * h / (references + h))
        distance = np.nan_to_num(-((references - h) ** 2) / (references + h))
    additive = {"chi2": chi2, "chi2_distance": distance, "intersection": np.minimum(references, h)}

    scores = holds(boxes, points) @ weights
    losses = 1 - overlaps(boxes, truth)
    margins = scores - scores[(boxes == truth).all(axis=1)]
    for bound in ("tight", "classical"):
        quality = linear(points, weights, shape, bound)
        yield quality, scores
        yield loss_augmented(quality, truth, "margin"), losses + margins
        yield loss_augmented(quality, truth, "slack"), losses * (1 + margins)
    yield pyramid(points, W[:, words].T, shape, grids), counts @ W.ravel()
    for kernel, terms in additive.items():
        quality = histogram(points, words, shape, references, coefficients, kernel, grids)
        yield quality, terms.sum(axis=2) @ coefficients


@settings(max_examples=25)
@given(image=images(largest=5, most_points=8), seed=st.integers(0, 2**32 - 1))
def test_bounds_hold_for_sets_and_are_the_values_of_single_boxes(image, seed):
    rng = np.random.default_rng(seed)
    boxes = all_boxes(image[2])
    for quality, scores in qualities(*image, rng):
        np.testing.assert_allclose([quality.score(box) for box in boxes], scores, atol=1e-12)
        exact = np.array([quality.score(box) for box in boxes])
        for _ in range(10):
            low, high = np.sort(boxes[rng.integers(len(boxes), size=2)], axis=0)
            members = ((boxes >= low) & (boxes <= high)).all(axis=1)
            bound = quality.bound(*zip(low, high, strict=True))
            assert bound >= exact[members].max()  # not even rounding may break it


@settings(max_examples=25)
@given(image=images(largest=5, most_points=8), seed=st.integers(0, 2**32 - 1))
def test_every_quality_is_maximised_exactly(image, seed):
    for quality, scores in qualities(*image, np.random.default_rng(seed)):
        found = best_box(quality)
        assert found.score == quality.score(found.box)
        assert found.score == pytest.approx(scores.max(), abs=1e-12)


@settings(max_examples=50)
@given(image=images(largest=12, most_points=60))
def test_tighter_bounds_visit_no_more_sets(image):
    """Theorem 5.1.1: the tight bound is nowhere above the classical one, with the same rule of splitting."""
    tight, classical = (best_boxes(linear(*image, bound), 1)[0] for bound in ("tight", "classical"))
    np.testing.assert_array_equal(tight.box, classical.box)
    assert tight.score == classical.score
    assert tight.splits <= classical.splits


@settings(max_examples=50)
@given(image=images(largest=12, most_points=60), bound=st.sampled_from(["tight", "classical"]))
def test_depth_first_search_agrees_with_best_first(image, bound):
    """The first of the best boxes is the same, and above a score that is reached fewer sets cannot do."""
    quality = linear(*image, bound)
    (first,), found = best_boxes(quality, 1), best_box(quality)
    np.testing.assert_array_equal(found.box, first.box)
    assert found.score == first.score
    assert found.splits >= first.splits
    reached = reached_score(quality.tables.positive, quality.tables.negative)
    assert reached <= first.score
    if reached == first.score:  # then only sets as good as the best box can be taken in vain
        assert found.splits <= sets_no_worse(quality, first.score)


def sets_no_worse(quality, score):
    """The sets of more than one box with a bound of at least a score, by splitting one after the other."""
    height, width = quality.shape
    waiting, count = [(0, width - 1, 0, height - 1, 0, width - 1, 0, height - 1)], 0
    while waiting:
        l1, l2, t1, t2, r1, r2, b1, b2 = boxes = waiting.pop()
        several = (l1, t1, r1, b1) != (l2, t2, r2, b2)
        if several and quality.bound((l1, l2), (t1, t2), (r1, r2), (b1, b2)) >= score:
            count += 1
            waiting.extend(halves(boxes))
    return count


@settings(max_examples=50)
@given(image=images(), seed=st.integers(0, 2**32 - 1))
def test_tight_bound_is_nowhere_above_the_classical_one(image, seed):
    tight, classical = (linear(*image, bound) for bound in ("tight", "classical"))
    rng, boxes = np.random.default_rng(seed), all_boxes(image[2])
    for _ in range(10):
        low, high = np.sort(boxes[rng.integers(len(boxes), size=2)], axis=0)
        intervals = list(zip(low, high, strict=True))
        assert tight.bound(*intervals) <= classical.bound(*intervals)
