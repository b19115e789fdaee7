"""Metrics, combinations and losses of trees that can be counted by hand."""

import numpy as np
import pytest

from ermlab.taxonomy import Taxonomy
from reproduction.experiments.tree_covariance.theorems import (
    ancestor_loss_difference,
    combination_changes,
    metric_changes,
    random_taxonomy,
    relative_change,
    relative_violation,
)

#: Two pairs, each with a common edge of length 1.
PAIRS = "((a:1,b:1):1,(c:1,d:1):1);"


def test_a_square_violates_the_four_point_condition():
    """Opposite corners are 2 apart, neighbors 1: 2 + 2 exceeds 1 + 1 by 2, or 1 time the largest distance."""
    square = np.array([[0.0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]])
    assert relative_violation(square) == 1
    assert relative_violation(Taxonomy.from_newick(PAIRS).metric()) == 0


def test_change_is_relative_to_the_largest_entry():
    assert relative_change(np.array([1.0, -4.0]), np.array([3.0, -4.0])) == 0.5


def test_distances_of_a_tree_have_that_tree_and_noisy_ones_none():
    changes = metric_changes(Taxonomy.from_newick(PAIRS), np.random.default_rng(0))
    assert changes["four_point"] == changes["recovered"] == pytest.approx(0, abs=1e-12)
    assert min(changes["noisy_four_point"], changes["noisy_recovered"]) > 0.01


def test_combinations_keep_the_topology():
    changes = combination_changes(Taxonomy.from_newick(PAIRS), np.random.default_rng(0))
    assert changes["combined_topology"] == 0
    assert changes["combined_four_point"] < 1e-12
    assert changes["other_four_point"] > 0.01


def test_loss_is_the_path_to_the_nearest_common_ancestor(monkeypatch):
    tree = Taxonomy.from_newick("((a:1,b:2):3,c:7);")
    assert ancestor_loss_difference(tree) == 0
    # With a wrong covariance, diag(4, 5, 7), the loss of b for a would be 5 instead of 2; the largest is 7.
    monkeypatch.setattr(Taxonomy, "covariance", lambda self: np.diag([4.0, 5, 7]))
    assert ancestor_loss_difference(tree) == pytest.approx(3 / 7)


@pytest.mark.parametrize("binary", [True, False])
def test_random_trees(binary):
    tree = random_taxonomy(np.random.default_rng(3), 9, binary=binary)
    assert tree.n_leaves == 9
    children = {len(tree.children(node)) for node in tree.inner.tolist()}
    assert children == {2} if binary else children <= {2, 3}
