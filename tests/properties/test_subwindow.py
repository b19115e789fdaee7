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
PYRAMIDS = [(1,), (2,), (1, 2), (1, 3), (2, 3), (1, 2, 4)]


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
    """Points and weights in a small image: points may coincide, weights may be equal, 0, or all negative.

    Sums of weights that can tie are exact, so that it does not depend on rounding which box is the first.
    """
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
                0.125 * rng.integers(-9, 3, size=n),
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
    grids = PYRAMIDS[rng.integers(len(PYRAMIDS))]
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
    in_cells = counts @ W.ravel()
    margins = in_cells - in_cells[(boxes == truth).all(axis=1)]
    for bound in ("tight", "classical"):
        quality = pyramid(points, W[:, words].T, shape, grids, bound)
        yield quality, in_cells
        yield loss_augmented(quality, truth, "margin"), losses + margins
        yield loss_augmented(quality, truth, "slack"), losses * (1 + margins)
    for kernel, terms in additive.items():
        quality = histogram(points, words, shape, references, coefficients, kernel, grids)
        yield quality, terms.sum(axis=2) @ coefficients


@settings(max_examples=25)
@given(image=images(largest=5, most_points=8), seed=st.integers(0, 2**32 - 1))
def test_bounds_hold_for_sets_and_are_the_values_of_single_boxes(image, seed):
    rng = np.random.default_rng(seed)
    boxes = all_boxes(image[2])
    for quality, scores in qualities(*image, rng):
        np.testing.assert_allclose([quality.score(box) for box in boxes], scores, atol=1e-11)
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
        assert found.score == pytest.approx(scores.max(), abs=1e-11)


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


@st.composite
def pyramids(draw, largest=7, most_points=20):
    """Points with a weight for each cell of a pyramid, scaled by powers of two so that sums are exact."""
    points, _, shape = draw(images(largest, most_points))
    grids = draw(st.sampled_from(PYRAMIDS))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = (len(points), sum(grid**2 for grid in grids))
    weights = draw(
        st.sampled_from(
            [
                rng.integers(-4, 5, size=size) / 4,
                rng.integers(-1, 2, size=size).astype(float),
                -rng.integers(0, 8, size=size) / 8,
                rng.integers(-(2**20), 2**20, size=size) / 2**20,
            ]
        )
    )
    return points, weights, shape, grids


def scores_in_cells(boxes, points, weights, grids):
    """Sum of the weights of the points in each box, by walking over the cells."""
    scores = np.zeros(len(boxes))
    for k, (left, top, right, bottom) in enumerate(boxes):
        cell = 0
        for grid in grids:
            rows = [top + i * (bottom - top + 1) // grid for i in range(grid + 1)]
            columns = [left + i * (right - left + 1) // grid for i in range(grid + 1)]
            for i in range(grid):
                for j in range(grid):
                    box = np.array([[columns[j], rows[i], columns[j + 1] - 1, rows[i + 1] - 1]])
                    scores[k] += holds(box, points)[0] @ weights[:, cell]
                    cell += 1
    return scores


@settings(max_examples=60, deadline=None)
@given(image=pyramids(), seed=st.integers(0, 2**32 - 1))
def test_pyramids_find_the_first_of_the_best_boxes(image, seed):
    """With exact sums, boxes and scores are those of a list of all boxes, with and without the loss."""
    points, weights, shape, grids = image
    boxes, quality = all_boxes(shape), pyramid(*image)
    scores = scores_in_cells(boxes, points, weights, grids)
    first = scores.argmax()
    found = best_box(quality)
    np.testing.assert_array_equal(found.box, boxes[first])
    assert found.score == scores[first]
    k = np.random.default_rng(seed).integers(len(boxes))
    losses = 1 - overlaps(boxes, boxes[k])
    for rescaling, values in (
        ("margin", (scores - scores[k]) + losses),
        ("slack", losses * (1 + (scores - scores[k]))),
    ):
        found = best_box(loss_augmented(quality, boxes[k], rescaling))
        np.testing.assert_array_equal(found.box, boxes[values.argmax()])
        assert found.score == values.max()


@settings(max_examples=60, deadline=None)
@given(image=pyramids(), threshold=st.sampled_from([0.2, 0.5, 1.0]), reset=st.sampled_from("01"))
def test_pyramids_find_the_best_boxes_one_after_the_other(image, threshold, reset):
    points, weights, shape, grids = image
    boxes = all_boxes(shape)
    n = min(4, len(boxes))
    scores = scores_in_cells(boxes, points, weights, grids)
    for detection in best_boxes(pyramid(*image), n, threshold, reset * (n - 1)):
        first = scores.argmax()
        np.testing.assert_array_equal(detection.box, boxes[first])
        assert detection.score == scores[first]
        scores[overlaps(boxes, boxes[first]) >= threshold] = -np.inf


@settings(max_examples=60, deadline=None)
@given(image=pyramids(largest=12, most_points=60), seed=st.integers(0, 2**32 - 1))
def test_bounds_of_pyramids_hold_for_weights_of_all_sizes(image, seed):
    """Not even rounding may make the bound of a set smaller than the score of one of its boxes."""
    points, weights, shape, grids = image
    rng = np.random.default_rng(seed)
    weights = weights * rng.lognormal(sigma=8, size=weights.shape)
    tight, classical = (pyramid(points, weights, shape, grids, bound) for bound in ("tight", "classical"))
    boxes = all_boxes(shape)
    for _ in range(20):
        one, other, box = boxes[rng.integers(len(boxes), size=3)]
        low, high = np.minimum(np.minimum(one, other), box), np.maximum(np.maximum(one, other), box)
        score = tight.score(box)
        assert score == classical.score(box)
        assert tight.bound(*zip(low, high, strict=True)) >= score
