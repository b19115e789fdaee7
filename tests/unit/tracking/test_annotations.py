"""True events from tracks: each kind, what is unknown, and what gating loses."""

import numpy as np
import pytest

from ermlab.tracking.annotations import annotate
from ermlab.tracking.assignment import EVENTS
from ermlab.tracking.ctc import Lineage
from ermlab.tracking.events import Cells, Gates, hypotheses_between

#: Between frames 4 and 5: 1 continues, 2 divides into 3 and 4, 5 ends, 6 begins, 7 has a child only later,
#: and the parent of 9 ended before.
LINEAGE = Lineage(
    label=np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
    begin=np.array([0, 0, 5, 5, 0, 5, 0, 7, 5, 0]),
    end=np.array([9, 4, 9, 9, 4, 9, 4, 9, 9, 2]),
    parent=np.array([0, 0, 2, 2, 0, 0, 0, 7, 10, 0]),
)


def hypotheses(n_sources, n_targets):
    """Return all events: all cells are near each other."""
    rng = np.random.default_rng(0)
    frames = [
        Cells(rng.uniform(50, 60, (n, 2)), np.full(n, 400.0), np.ones(n), np.zeros(n), (100, 100))
        for n in (n_sources, n_targets)
    ]
    return hypotheses_between(*frames, Gates(n_neighbors=9))


def events(sources, targets, problem=None):
    problem = problem or hypotheses(len(sources), len(targets))
    found = annotate(problem, sources, targets, LINEAGE, 4)
    names = np.array(list(EVENTS))
    cells = [
        (str(names[problem.kind[e]]), problem.sources[e].tolist(), problem.targets[e].tolist())
        for e in found.events
    ]
    return sorted(cells), found


def test_each_kind_is_found():
    found, annotation = events([[1], [2], [5]], [[6], [4], [1], [3]])
    assert found == [
        ("appearance", [-1, -1], [0, -1]),
        ("disappearance", [2, -1], [-1, -1]),
        ("division", [1, -1], [1, 3]),
        ("move", [0, -1], [2, -1]),
    ]
    assert annotation.complete
    assert annotation.lost == ()


def test_pieces_merge_and_cells_in_one_split():
    assert events([[1], [1]], [[1]])[0] == [("merge", [0, 1], [0, -1])]
    assert events([[1]], [[1], [1]])[0] == [("split", [0, -1], [0, 1])]
    assert events([[1, 5]], [[1]])[0] == [("move", [0, -1], [0, -1])]
    # Both children in one detection: the cell seems to stay.
    assert events([[2]], [[3, 4]])[0] == [("move", [0, -1], [0, -1])]


def test_tracks_with_a_gap_to_their_child_disappear_and_appear():
    found, _ = events([[7]], [[9]])
    assert found == [("appearance", [-1, -1], [0, -1]), ("disappearance", [0, -1], [-1, -1])]


def test_unknown_events_are_not_annotated():
    found, annotation = events([[1], []], [[1], []])
    assert found == [("move", [0, -1], [0, -1])]
    assert not annotation.complete
    # The next detection of track 1, a child of track 2, and the last one of track 1 are missing.
    assert events([[1]], [[6]])[0] == [("appearance", [-1, -1], [0, -1])]
    assert events([[2]], [[3]])[0] == []
    assert events([[5]], [[1]])[0] == [("disappearance", [0, -1], [-1, -1])]
    # Three detections of one cell are no event that the model has.
    assert events([[1], [1], [1]], [[1]])[0] == []


def test_where_an_unknown_detection_may_be_the_cell_nothing_appears_or_disappears():
    # Track 6 begins and 5 ends: the detection without a track could be either cell a frame away.
    assert events([[]], [[6]])[0] == []
    assert events([[5]], [[]])[0] == []
    # Far away it could not.
    places = [[[5.0, 5.0]], [[5.0, 95.0]]]
    frames = [
        Cells(np.array(place), np.full(1, 16.0), np.ones(1), np.zeros(1), (100, 100)) for place in places
    ]
    problem = hypotheses_between(*frames, Gates())
    assert events([[]], [[6]], problem)[0] == [("appearance", [-1, -1], [0, -1])]
    assert events([[5]], [[]], problem)[0] == [("disappearance", [0, -1], [-1, -1])]


def test_children_that_begin_later_are_no_division():
    assert events([[7]], [[6]])[0] == [
        ("appearance", [-1, -1], [0, -1]),
        ("disappearance", [0, -1], [-1, -1]),
    ]


def test_events_beyond_the_gates_are_counted():
    frames = [
        Cells(np.array([[5.0, place]]), np.full(1, 16.0), np.ones(1), np.zeros(1), (100, 100))
        for place in (5.0, 95.0)
    ]
    problem = hypotheses_between(*frames, Gates())
    found, annotation = events([[1]], [[1]], problem)
    assert found == []
    assert annotation.lost == (("move", (0,), (0,)),)
    assert not annotation.complete


def test_frames_without_cells_are_legal():
    assert events([], [])[1].complete
    assert events([], [[6]])[0] == [("appearance", [-1, -1], [0, -1])]


def test_wrong_tracks_are_rejected():
    with pytest.raises(ValueError, match="track 77 is not in the lineage"):
        events([[77]], [[1]])
    with pytest.raises(ValueError, match="tracks of 1 and 1 detections: expected those of 2 and 1"):
        events([[1]], [[1]], hypotheses(2, 1))
