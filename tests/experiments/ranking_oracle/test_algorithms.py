import numpy as np
import pytest

from reproduction.experiments.ranking_oracle.algorithms import bipartite_constraint, complete_constraint


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"order": [0, 1, 3]}, "order has indices from 0 to 3: expected 0 to 2"),
        ({"order": [-1, 0, 1]}, "order has indices from -1 to 1"),
        ({"order": [0, 1]}, r"shape \(2,\): expected 3 integers"),
        ({"order": [0.0, 1.0, 2.0]}, "order of type float64"),
        ({"order": [0, 0, 2]}, "repeats or lacks an index below t = 1: expected a permutation"),
        ({"t": -1}, "t is -1: expected 0 to 3"),
        ({"t": 4}, "t is 4: expected 0 to 3"),
        ({"losses": [0, np.nan, 1]}, r"losses\[1\] is nan"),
        ({"scores": [0, 1]}, r"scores have shape \(2,\)"),
    ],
)
def test_bad_input_of_algorithm_1(change, words):
    arguments = {"losses": [0, 1, 2], "scores": [1.0, 2.0, 3.0], "order": [0, 1, 2], "t": 1} | change
    with pytest.raises(ValueError, match=words):
        bipartite_constraint(**arguments)


@pytest.mark.parametrize(
    ("losses", "scores", "words"),
    [
        ([0, np.nan], [0, 1], r"losses\[1\] is nan"),
        ([0, 1], [0, np.inf], r"scores\[1\] is inf"),
        ([0, 1], [0, 1, 2], r"scores have shape \(3,\): expected \(2,\)"),
        ([], [], r"losses have shape \(0,\)"),
    ],
)
def test_bad_input_of_algorithm_2(losses, scores, words):
    with pytest.raises(ValueError, match=words):
        complete_constraint(losses, scores)
