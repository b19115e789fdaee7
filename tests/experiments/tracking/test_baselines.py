"""Trackers without learning: drawn films whose events are plain to see, and all assignments of small ones."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import Voronoi

from ermlab.tracking.assignment import EVENTS
from ermlab.tracking.events import Gates
from ermlab.tracking.films import CellFilm, frame_pairs
from reproduction.experiments.tracking.baselines import (
    CELL_TYPES,
    best_matching,
    choose_lap_distances,
    graph_matching,
    hand_tuned,
    lap_links,
    max_flow,
    neighbor_graph,
    neighborhood_change,
)
from reproduction.experiments.tracking.enumeration import all_assignments

KINDS = list(EVENTS)


def film_of(frames, areas, tracks=((), ()), lineage=()):
    """Return a film of frames of places, of 200 x 200 pixels."""
    place = np.concatenate([np.asarray(frame, dtype=float).reshape(-1, 2) for frame in frames])
    n = len(place)
    numbers = [track for frame in tracks for track in frame]
    return CellFilm(
        frame=np.repeat(np.arange(len(frames)), [len(frame) for frame in frames]),
        position=place,
        area=np.concatenate([np.asarray(some, dtype=float) for some in areas]),
        intensity=np.ones(n),
        eccentricity=np.zeros(n),
        shape=np.array([200, 200]),
        n_frames=len(frames),
        tracks=np.column_stack([np.arange(len(numbers)), numbers]).astype(int).reshape(-1, 2),
        lineage=np.array(lineage, dtype=int).reshape(-1, 4),
    )


@pytest.fixture
def dividing():
    """Cells 1 to 3 move a little, 4 divides, 5 leaves, 8 comes; a cell has 100 pixels, so its size is 10."""
    before = [[50, 50], [50, 150], [150, 50], [100, 100], [2, 195]]
    after = [[52, 49], [49, 152], [151, 51], [96, 100], [104, 100], [198, 3]]
    return film_of(
        [before, after],
        [[100, 100, 100, 110, 100], [100, 100, 100, 55, 55, 100]],
        tracks=([1, 2, 3, 4, 5], [1, 2, 3, 6, 7, 8]),
        lineage=[
            [1, 0, 1, 0],
            [2, 0, 1, 0],
            [3, 0, 1, 0],
            [4, 0, 0, 0],
            [5, 0, 0, 0],
            [6, 1, 1, 4],
            [7, 1, 1, 4],
            [8, 1, 1, 0],
        ],
    )


@pytest.mark.parametrize("tracker", [graph_matching, max_flow])
def test_plain_events_are_found(dividing, tracker):
    (pair,) = frame_pairs(dividing, Gates())
    assert pair.annotation.complete
    assert np.flatnonzero(tracker(dividing, pair)).tolist() == pair.annotation.events.tolist()


@pytest.mark.parametrize("cell_type", CELL_TYPES)
def test_weights_set_by_hand_find_plain_events(dividing, cell_type):
    (pair,) = frame_pairs(dividing, Gates())
    y = pair.assigner.best(pair.hypotheses.scores(hand_tuned(cell_type)))
    found = np.isin(pair.annotation.events, np.flatnonzero(y))
    moves = pair.hypotheses.kind[pair.annotation.events] == KINDS.index("move")
    assert found[moves].all()
    with pytest.raises(ValueError, match="cell_type is 'none': expected one of nuclei, migration"):
        hand_tuned("none")


def test_laptrack_finds_plain_events(dividing):
    pairs = frame_pairs(dividing, Gates())
    limits = choose_lap_distances(dividing, pairs, [0.2, 1.0, 3.0])
    (links,) = lap_links(dividing, range(1), *limits)
    assert links.tolist() == [[0, 0], [1, 1], [2, 2], [3, 3], [3, 4]]


def test_laptrack_joins_a_second_child_within_the_reach_of_divisions(dividing):
    """A child is 0.4 sizes from its parent; the first of two is linked as any cell."""
    assert len(lap_links(dividing, range(1), 3.0, 0.5)[0]) == 5
    assert len(lap_links(dividing, range(1), 3.0, 0.3)[0]) == 4


@pytest.mark.parametrize(
    ("parent", "children", "divides"),
    [(110, (55, 55), True), (110, (100, 10), False), (110, (70, 40), True), (110, (220, 220), False)],
)
def test_graphs_divide_where_children_are_alike_and_together_as_large_as_the_parent(
    dividing, parent, children, divides
):
    area = dividing.area.copy()
    area[3], area[8:10] = parent, children
    film = replace(dividing, area=area)
    (pair,) = frame_pairs(film, Gates())
    kinds = pair.hypotheses.kind[graph_matching(film, pair)]
    assert (kinds == KINDS.index("division")).sum() == divides


@pytest.mark.parametrize(("area", "divides"), [(50, True), (30, False)])
def test_graphs_do_not_divide_where_much_of_the_parent_is_lost(dividing, area, divides):
    """The children are half a cell size away, on average; the smaller ones have 60 of 110 pixels together."""
    position, areas = dividing.position.copy(), dividing.area.copy()
    position[8:10] = [[100, 100], [100, 110]]
    areas[8:10] = area
    film = replace(dividing, position=position, area=areas)
    (pair,) = frame_pairs(film, Gates())
    kinds = pair.hypotheses.kind[graph_matching(film, pair)]
    assert (kinds == KINDS.index("division")).sum() == divides


def test_neighbours_decide_where_distance_does_not():
    # All cells go 9 pixels to the right, so that each comes closest to where its neighbour was.
    before = np.array([[100.0, 20 + 17 * i] for i in range(9)] + [[120.0, 25 + 30 * i] for i in range(5)])
    film = film_of([before, before + np.array([0.0, 9.0])], [np.full(14, 100.0)] * 2)
    (pair,) = frame_pairs(film, Gates())
    y = graph_matching(film, pair)
    moves = y & (pair.hypotheses.kind == KINDS.index("move"))
    assert moves.sum() == 14
    assert (pair.hypotheses.sources[moves, 0] == pair.hypotheses.targets[moves, 0]).all()
    nearest = pair.hypotheses.candidates["move"].features[:, 1].min()
    assert nearest < 0.9


def random_film(rng, n_sources, n_targets):
    return film_of(
        [rng.uniform(80, 110, (n, 2)) for n in (n_sources, n_targets)],
        [rng.uniform(60, 140, n) for n in (n_sources, n_targets)],
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_flow_is_the_cheapest_of_all_assignments(seed):
    rng = np.random.default_rng(seed)
    film = random_film(rng, *rng.integers(2, 4, size=2))
    (pair,) = frame_pairs(film, Gates())
    before, after = film.cells(0), film.cells(1)
    size = np.sqrt(np.median(film.area))

    def cost(number):
        kind = KINDS[pair.hypotheses.kind[number]]
        i, j = (
            [c for c in cells[number].tolist() if c >= 0]
            for cells in (pair.hypotheses.sources, pair.hypotheses.targets)
        )
        if kind == "split":
            return np.inf
        if not i or not j:
            return 1.0
        way = sum(np.linalg.norm(before.position[a] - after.position[b]) for a in i for b in j)
        return way / size + abs(np.log(after.area[j].sum() / before.area[i].sum()))

    costs = np.array([cost(number) for number in range(len(pair.hypotheses))])
    cheapest = min(costs[y].sum() for y in all_assignments(pair.hypotheses))
    found = max_flow(film, pair)
    assert pair.hypotheses.is_assignment(found)
    assert costs[found].sum() == pytest.approx(cheapest)


@pytest.mark.parametrize("seed", range(8))
def test_graphs_are_matched_as_well_as_any_matching(seed):
    rng = np.random.default_rng(seed)
    film = random_film(rng, 3, 3)
    (pair,) = frame_pairs(film, Gates(move=9.0))
    before, after = film.cells(0), film.cells(1)
    size = np.sqrt(np.median(film.area))
    pairs = np.argwhere(np.ones((3, 3), dtype=bool))
    change = neighborhood_change(before.position, after.position, pairs, size).reshape(3, 3)
    cost = (
        change
        + np.linalg.norm(before.position[:, None] - after.position, axis=-1) / size
        + np.abs(np.log(before.area[:, None] / after.area))
    )
    # Three more places stand for no successor.
    table = np.hstack([cost, np.full((3, 3), 2.0)])
    best = min(table[np.arange(3), list(order)].sum() for order in permutations(range(6), 3))
    y = graph_matching(film, pair)
    assert pair.hypotheses.is_assignment(y)
    links = [
        (i, j)
        for number in np.flatnonzero(y)
        for i in pair.hypotheses.sources[number]
        for j in pair.hypotheses.targets[number]
        if i >= 0 and j >= 0
    ]
    divided = (pair.hypotheses.kind[y] == KINDS.index("division")).any()
    if not divided:
        assert sum(cost[link] for link in links) + 2.0 * (3 - len(links)) == pytest.approx(best)


def test_frames_without_cells_are_legal():
    for shape in ((0, 2), (2, 0), (0, 0)):
        film = random_film(np.random.default_rng(0), *shape)
        (pair,) = frame_pairs(film, Gates())
        for tracker in (graph_matching, max_flow):
            assert pair.hypotheses.is_assignment(tracker(film, pair))
        (links,) = lap_links(film, range(1), 1.0, 1.0)
        assert links.shape == (0, 2)
        assert len(choose_lap_distances(film, [pair], [0.5, 1.0])) == 2


def test_frames_that_are_not_there_are_refused(dividing):
    for frames in (range(2), range(-1, 1)):
        with pytest.raises(ValueError, match="expected first frames 0 to 0"):
            lap_links(dividing, frames, 1.0, 1.0)


def test_neighbours_share_a_border_of_voronoi_cells():
    points = np.random.default_rng(0).random((30, 2))
    expected = {tuple(pair) for pair in Voronoi(points).ridge_points.tolist()}
    found = {(i, j) for i, row in enumerate(neighbor_graph(points)) for j in row.tolist()}
    assert found == expected | {(j, i) for i, j in expected}


@pytest.mark.parametrize(
    "points", [np.zeros((0, 2)), [[1, 2]], [[0, 0], [1, 1]], [[0, 0], [1, 1], [2, 2], [3, 3]]]
)
def test_few_points_and_points_on_a_line_are_all_neighbours(points):
    n = len(points)
    assert [row.tolist() for row in neighbor_graph(points)] == [
        [j for j in range(n) if j != i] for i in range(n)
    ]


def test_a_shift_changes_no_neighbourhood():
    points = np.random.default_rng(1).uniform(0, 100, (20, 2))
    same = np.column_stack([np.arange(20)] * 2)
    np.testing.assert_allclose(
        neighborhood_change(points, points + np.array([3, -2]), same, 10.0), 0, atol=1e-9
    )
    others = np.column_stack([np.arange(20), np.roll(np.arange(20), 1)])
    assert (neighborhood_change(points, points, others, 10.0) > 0.2).all()


def test_change_of_a_drawn_neighbourhood():
    square = np.array([[0.0, 0], [10, 0], [0, 10], [30, 30]])  # so that 0 has neighbours 1 and 2
    pairs = np.array([[0, 0]])
    moved = np.array([[0.0, 0], [12, 0], [0, 10], [30, 30]])
    assert neighborhood_change(square, moved, pairs, 5.0)[0] == pytest.approx(0.4 / 2)
    far = np.array([[0.0, 0], [19, 0], [0, 10], [30, 30]])
    assert neighborhood_change(square, far, pairs, 5.0)[0] == pytest.approx(1 / 2)
    assert neighborhood_change(square, square[:1], pairs, 5.0)[0] == 1
    assert neighborhood_change(square[:1], square[:1], pairs, 5.0)[0] == 0


@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(0, 3))
def test_the_matching_is_the_best_of_all(seed, m, n):
    gains = np.random.default_rng(seed).normal(size=(m, n))
    found = best_matching(gains)
    assert (np.bincount(found[:, 0], minlength=1) <= 1).all()
    assert (np.bincount(found[:, 1], minlength=1) <= 1).all()
    padded = np.pad(np.maximum(gains, 0), ((0, n), (0, m)))
    sums = [padded[np.arange(m + n), list(order)].sum() for order in permutations(range(m + n))]
    assert gains[tuple(found.T)].sum() == pytest.approx(max(sums))
