"""Neighbour graphs and matchings against drawn points and against all matchings."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import Voronoi

from reproduction.experiments.tracking.neighbour_graphs import (
    best_matching,
    neighbour_graph,
    neighbourhood_change,
)


def test_neighbours_share_a_border_of_voronoi_cells():
    points = np.random.default_rng(0).random((30, 2))
    expected = {tuple(pair) for pair in Voronoi(points).ridge_points.tolist()}
    found = {(i, j) for i, row in enumerate(neighbour_graph(points)) for j in row.tolist()}
    assert found == expected | {(j, i) for i, j in expected}


@pytest.mark.parametrize(
    "points", [np.zeros((0, 2)), [[1, 2]], [[0, 0], [1, 1]], [[0, 0], [1, 1], [2, 2], [3, 3]]]
)
def test_few_points_and_points_on_a_line_are_all_neighbours(points):
    n = len(points)
    assert [row.tolist() for row in neighbour_graph(points)] == [
        [j for j in range(n) if j != i] for i in range(n)
    ]


def test_a_shift_changes_no_neighbourhood():
    points = np.random.default_rng(1).uniform(0, 100, (20, 2))
    same = np.column_stack([np.arange(20)] * 2)
    np.testing.assert_allclose(
        neighbourhood_change(points, points + np.array([3, -2]), same, 10.0), 0, atol=1e-9
    )
    others = np.column_stack([np.arange(20), np.roll(np.arange(20), 1)])
    assert (neighbourhood_change(points, points, others, 10.0) > 0.2).all()


def test_change_of_a_drawn_neighbourhood():
    square = np.array([[0.0, 0], [10, 0], [0, 10], [30, 30]])  # so that 0 has neighbours 1 and 2
    pairs = np.array([[0, 0]])
    moved = np.array([[0.0, 0], [12, 0], [0, 10], [30, 30]])
    assert neighbourhood_change(square, moved, pairs, 5.0)[0] == pytest.approx(0.4 / 2)
    far = np.array([[0.0, 0], [19, 0], [0, 10], [30, 30]])
    assert neighbourhood_change(square, far, pairs, 5.0)[0] == pytest.approx(1 / 2)
    assert neighbourhood_change(square, square[:1], pairs, 5.0)[0] == 1
    assert neighbourhood_change(square[:1], square[:1], pairs, 5.0)[0] == 0


@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(0, 3))
def test_the_matching_is_the_best_of_all(seed, m, n):
    gains = np.random.default_rng(seed).normal(size=(m, n))
    found = best_matching(gains)
    assert (np.bincount(found[:, 0], minlength=1) <= 1).all()
    assert (np.bincount(found[:, 1], minlength=1) <= 1).all()
    padded = np.pad(np.maximum(gains, 0), ((0, n), (0, m)))
    sums = [padded[np.arange(m + n), list(order)].sum() for order in permutations(range(m + n))]
    assert gains[tuple(found.T)].sum() == pytest.approx(max(sums))
