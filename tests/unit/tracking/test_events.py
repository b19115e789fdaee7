"""Candidate events: which cells they take, what their features say, and rejected input."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ermlab.tracking.assignment import EVENTS, NONE, Assigner
from ermlab.tracking.events import (
    FEATURES,
    Cells,
    Gates,
    guessed_weights,
    hypotheses_between,
    typical_size,
)

AREA = 100.0  # a typical cell is 10 pixels large


def cells(positions, area=AREA, intensity=1.0, eccentricity=0.0):
    positions = np.array(positions, dtype=float).reshape(-1, 2)
    n = len(positions)
    return Cells(
        positions,
        np.broadcast_to(np.asarray(area, dtype=float), n).copy(),
        np.broadcast_to(np.asarray(intensity, dtype=float), n).copy(),
        np.broadcast_to(np.asarray(eccentricity, dtype=float), n).copy(),
        (200, 300),
    )


def feature(problem, event, name):
    return problem.candidates[event].features[:, FEATURES[event].index(name)]


def test_every_feature_has_its_name():
    problem = hypotheses_between(cells([(10, 10), (10, 15)]), cells([(10, 8), (10, 16)]), Gates())
    assert list(problem.candidates) == list(EVENTS)
    for event, names in FEATURES.items():
        assert problem.candidates[event].features.shape[1] == len(names)
        assert (feature(problem, event, "one") == 1).all()
        assert len(problem.candidates[event]) > 0
    assert problem.dimension == sum(map(len, FEATURES.values()))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 6), st.integers(0, 6), st.integers(1, 4))
def test_candidates_are_those_within_the_gates(seed, m, n, n_neighbors):
    rng = np.random.default_rng(seed)
    before, after = cells(rng.uniform(0, 50, (m, 2))), cells(rng.uniform(0, 50, (n, 2)))
    gates = Gates(n_neighbors, move=1.5, division=2.0, pieces=1.2)
    problem = hypotheses_between(before, after, gates)

    def near(centre, around, reach):
        distances = np.linalg.norm(around.position - centre, axis=1)
        nearest = np.argsort(distances)[:n_neighbors]
        return sorted(nearest[distances[nearest] <= reach * 10].tolist())

    def apart(some, a, b):
        return np.linalg.norm(some.position[a] - some.position[b])

    moves = {(i, j) for i in range(m) for j in near(before.position[i], after, 1.5)}
    divisions = {
        (i, *pair) for i in range(m) for pair in combinations(near(before.position[i], after, 2.0), 2)
    }
    merges = {
        (*pair, j)
        for j in range(n)
        for pair in combinations(near(after.position[j], before, 1.2), 2)
        if apart(before, *pair) <= 12
    }
    splits = {(i, a, b) for i, a, b in divisions if apart(after, a, b) <= 12}
    for event, expected in (("move", moves), ("division", divisions), ("merge", merges), ("split", splits)):
        some = problem.candidates[event]
        rows = np.hstack([some.sources, some.targets])
        found = [tuple(cell for cell in row if cell != NONE) for row in rows.tolist()]
        assert len(found) == len(set(found))
        assert set(found) == expected


def test_a_cell_that_stays_has_nothing_to_explain():
    here = cells([(50, 60)], area=120, intensity=3, eccentricity=0.4)
    problem = hypotheses_between(here, here, Gates())
    assert problem.candidates["move"].features.tolist() == [[1, 0, 0, 0, 0, 0, 0]]


def test_a_division_is_described_by_its_children():
    parent = cells([(50, 50)], area=100, intensity=2, eccentricity=0.3)
    children = cells([(50, 45), (50, 57)], area=[50, 25], intensity=[4, 2])
    problem = hypotheses_between(parent, children, Gates())
    size = typical_size([parent, children])
    values = {name: feature(problem, "division", name)[0] for name in FEATURES["division"]}
    assert size == pytest.approx(np.sqrt(50))
    assert values["distance"] == pytest.approx(1 / size)
    assert values["distance of children"] == pytest.approx(12 / size)
    assert values["asymmetry"] == pytest.approx(2 / size)
    assert values["angle"] == pytest.approx(-1)
    assert values["area"] == pytest.approx(np.log(0.75))
    assert values["area of children"] == pytest.approx(np.log(2))
    assert values["intensity"] == pytest.approx(np.log(1.5))
    assert values["intensity of children"] == pytest.approx(np.log(2))
    assert values["eccentricity"] == pytest.approx(0.3)


def test_two_pieces_of_a_cell_are_where_the_cell_is_and_as_large():
    pieces = cells([(50, 44), (50, 53)], area=[60, 30], intensity=[1.0, 4.0])
    whole = cells([(50, 47)], area=90, intensity=2.0, eccentricity=0.9)
    for problem, event in (
        (hypotheses_between(pieces, whole, Gates()), "merge"),
        (hypotheses_between(whole, pieces, Gates()), "split"),
    ):
        for name in ("distance", "area", "intensity"):
            assert feature(problem, event, name)[0] == pytest.approx(0, abs=1e-12)
        assert feature(problem, event, "eccentricity")[0] == 0.9


def test_scale_and_exposure_do_not_matter():
    rng = np.random.default_rng(0)
    before, after = (
        cells(rng.uniform(20, 80, (6, 2)), rng.uniform(50, 200, 6), rng.uniform(1, 2, 6)) for _ in range(2)
    )
    # The border is drawn along: distances to it are of one side of a pixel less.
    larger = [
        replace(
            some,
            position=3 * some.position,
            area=9 * some.area,
            intensity=7 * some.intensity,
            shape=(3 * 199 + 1, 3 * 299 + 1),
        )
        for some in (before, after)
    ]
    for one, other in zip(
        hypotheses_between(before, after, Gates()).candidates.values(),
        hypotheses_between(*larger, Gates()).candidates.values(),
        strict=True,
    ):
        np.testing.assert_allclose(one.features, other.features, atol=1e-9)


def test_frames_without_cells_have_no_events_but_appearance():
    problem = hypotheses_between(cells([]), cells([(3, 4)]), Gates())
    assert [len(some) for some in problem.candidates.values()] == [0, 0, 0, 0, 1, 0]
    assert len(hypotheses_between(cells([]), cells([]), Gates())) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"position": np.zeros((2, 3))}, r"position has shape \(2, 3\)"),
        ({"area": np.ones(3)}, r"area has shape \(3,\): expected \(2,\)"),
        ({"intensity": np.array([1.0, np.nan])}, "cell 1 is not finite"),
        ({"area": np.array([1.0, 0.0])}, "no area or no intensity"),
    ],
)
def test_wrong_cells_are_rejected(change, message):
    with pytest.raises(ValueError, match=message):
        replace(cells([(1, 1), (2, 2)]), **change)


def test_wrong_gates_are_rejected():
    with pytest.raises(ValueError, match="n_neighbors is 0"):
        Gates(n_neighbors=0)
    with pytest.raises(ValueError, match="expected positive distances"):
        Gates(move=-1.0)


def test_the_guess_is_a_tracker_of_cells_that_stay_where_they_are():
    rng = np.random.default_rng(0)
    before = Cells(rng.uniform(20, 480, (30, 2)), np.full(30, 100.0), np.ones(30), np.zeros(30), (500, 500))
    problem = hypotheses_between(before, before, Gates())
    found = Assigner(problem).best(problem.scores(guessed_weights()))
    moves = problem.kind[found] == 0
    assert moves.all()
    np.testing.assert_array_equal(problem.sources[found][:, 0], problem.targets[found][:, 0])
