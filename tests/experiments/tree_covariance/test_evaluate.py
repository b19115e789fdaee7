"""Changes of the matrices of a tree, counted by hand, and roots that change nothing but the covariance."""

import numpy as np
import pandas as pd
import pytest

from ermlab.taxonomy import Taxonomy
from reproduction.claims.results import read_results
from reproduction.experiments.tree_covariance.evaluate import (
    main,
    rerooting_changes,
    summarize_roots,
    summarize_trees,
)


def test_changes_of_a_star_with_one_longer_edge():
    """``B`` is diag(1, 2, 3), the largest distance 5, the largest entry of ``HBH`` is 5/3; 9 replaces 3.

    With ``K = I`` HSIC is the sum of 2/3 of the variances: 2/3 of 6, then of 12.
    """
    star, longer = (Taxonomy.from_newick(f"(a:1,b:2,c:{length});") for length in (3, 9))
    expected = {"covariance": 6 / 3, "metric": 6 / 5, "centred": (13 / 3 - 5 / 3) / (5 / 3), "hsic": 1}
    assert rerooting_changes(star, longer, np.eye(3)) == pytest.approx(expected)


def test_changes_by_a_root_at_a_leaf():
    """The covariance diag(1, 2) becomes diag(0, 3)."""
    tree = Taxonomy.from_newick("(a:1,b:2);")
    expected = {"covariance": 0.5, "metric": 0, "centred": 0, "hsic": 0}
    changes = rerooting_changes(tree, tree.rerooted(tree.leaves[0]), np.diag([1.0, 2, 3, 4]))
    assert changes == pytest.approx(expected, abs=1e-12)


def test_summary_of_two_trees():
    changes = pd.DataFrame(
        {
            "tree": [0, 0, 1],
            "covariance": [1.0, 5.0, 2.0],
            "metric": [0.2, 0.7, 0.5],
            "centred": [0.6, 0.3, 0.0],
            "hsic": [0.1, 0.0, 0.3],
        }
    )
    assert summarize_roots(changes) == {
        "trees": 2,
        "roots": 3,
        "metric_change_max": 0.7,
        "centred_change_max": 0.6,
        "hsic_change_max": 0.3,
        "covariance_change_median": 2.0,
    }
    names = (
        "four_point recovered noisy_four_point noisy_recovered combined_four_point combined_topology ancestor"
    )
    measured = pd.DataFrame({name: [0.2, 0.5] for name in names.split()} | {"other_four_point": [0.2, 0.6]})
    assert summarize_trees(measured) == {
        "four_point_violation_max": 0.5,
        "recovered_change_max": 0.5,
        "noisy_four_point_min": 0.2,
        "noisy_recovered_min": 0.2,
        "combined_four_point_max": 0.5,
        "combined_topology_max": 0.5,
        "other_four_point_median": 0.4,
        "ancestor_loss_difference_max": 0.5,
    }


def test_the_statements_hold_on_random_trees(tmp_path):
    folders = [tmp_path / turn / "tree_covariance" for turn in ("once", "twice")]
    for folder in folders:
        outputs = {"values": folder / "values.json", "changes": folder / "changes.csv"}
        main({}, outputs, seed=1, trees=2)
    values, changes = read_results(folders[0])["values"], pd.read_csv(folders[0] / "changes.csv")
    exact = (
        "metric_change centred_change hsic_change four_point_violation recovered_change combined_four_point"
    )
    assert max(values[f"{name}_max"] for name in exact.split()) < 1e-10
    assert values["combined_topology_max"] == 0
    assert values["ancestor_loss_difference_max"] < 1e-12
    assert values["covariance_change_median"] > 0.1
    assert min(values["noisy_four_point_min"], values["other_four_point_median"]) > 0.01
    assert values["noisy_recovered_min"] > 0.01
    assert (values["trees"], values["roots"]) == (2, len(changes))
    # A binary tree has 2n - 1 nodes; all but its root give a root at the node and one on the edge above it.
    binary = changes[changes["tree"] == 0]
    assert len(binary) == 2 * (2 * binary["leaves"].iloc[0] - 2)
    one, other = (Taxonomy.from_newick(values["figure"][name]) for name in ("newick", "rerooted"))
    assert one.splits() == other.splits()
    for name in ("values.json", "changes.csv"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
