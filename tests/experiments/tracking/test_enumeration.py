"""The enumeration of assignments against all sets of events."""

from itertools import product

import numpy as np
import pytest

from reproduction.experiments.tracking import enumeration
from reproduction.experiments.tracking.enumeration import (
    all_assignments,
    enumeration_difference,
    random_hypotheses,
)


@pytest.mark.parametrize(("n_sources", "n_targets"), [(0, 0), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)])
def test_all_sets_of_events_that_are_assignments_are_found(n_sources, n_targets):
    problem = random_hypotheses(np.random.default_rng(0), n_sources, n_targets)
    found = all_assignments(problem)
    expected = [y for y in product([False, True], repeat=len(problem)) if problem.is_assignment(y)]
    assert sorted(map(tuple, found.tolist())) == sorted(expected)


def test_one_cell_each_moves_or_not():
    assert len(all_assignments(random_hypotheses(np.random.default_rng(0), 1, 1))) == 2


def test_a_share_of_the_events_is_drawn():
    rng = np.random.default_rng(0)
    assert len(random_hypotheses(rng, 3, 3, share=0.0)) == 6
    assert len(random_hypotheses(rng, 3, 3, share=1.0)) == 6 + 9 + 3 * (9)
    assert random_hypotheses(rng, 3, 3, n_features=4).dimension == 6 * 4


def test_enumeration_agrees_and_would_tell_if_not(monkeypatch):
    found = enumeration_difference(problems=20, largest=3, seed=0)
    assert found["enumeration_difference_max"] < 1e-9
    assert found["enumerated_assignments"] > 20

    class Late:
        """Finds the second best where there are two."""

        def __init__(self, hypotheses):
            self._every = all_assignments(hypotheses)

        def best(self, scores):
            order = np.argsort(self._every @ scores)
            return self._every[order[-2:][0]]

    monkeypatch.setattr(enumeration, "Assigner", Late)
    assert enumeration_difference(problems=20, largest=3, seed=0)["enumeration_difference_max"] > 0.1
