import numpy as np
import pytest

from ermlab.segmentation import labeling_score
from ermlab.segmentation.potentials import check_edges, check_labels, check_potentials

UNARY = np.array([[1.0, 2.0], [3.0, 5.0], [8.0, 13.0]])
EDGES = np.array([[0, 1], [2, 1]])
PAIRWISE = np.array([[[0.1, 0.2], [0.3, 0.4]], [[0.5, 0.6], [0.7, 0.8]]])


def test_score_counted_by_hand():
    assert labeling_score(UNARY, EDGES, PAIRWISE, [1, 0, 1]) == pytest.approx(2 + 3 + 13 + 0.3 + 0.7)


def test_shared_potentials_are_those_of_every_edge():
    shared = labeling_score(UNARY, EDGES, PAIRWISE[0], [1, 0, 0])
    assert shared == labeling_score(UNARY, EDGES, PAIRWISE[[0, 0]], [1, 0, 0])


def test_no_edges():
    assert labeling_score(UNARY, [], np.zeros((2, 2)), [0, 0, 0]) == 12


@pytest.mark.parametrize("edges", [[[0, 3]], [[-1, 0]], [[1, 1]], [[0, 1, 2]], [[0.0, 1.0]], [0, 1]])
def test_bad_edges_are_refused(edges):
    with pytest.raises(ValueError, match="edge"):
        check_edges(edges, 3)


@pytest.mark.parametrize("labels", [[0, 1], [0, 1, 2], [0, -1, 0], [0.0, 1.0, 0.0]])
def test_bad_labels_are_refused(labels):
    with pytest.raises(ValueError, match="label"):
        check_labels(labels, 3, 2)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_unusable_scores_are_named(value):
    unary = UNARY.copy()
    unary[1, 0] = value
    with pytest.raises(ValueError, match=r"unary is .* at \(1, 0\)"):
        check_potentials(unary, EDGES, PAIRWISE)


def test_shapes_of_pairwise_scores_are_checked():
    with pytest.raises(ValueError, match="pairwise has shape"):
        check_potentials(UNARY, EDGES, np.zeros((3, 2, 2)))
