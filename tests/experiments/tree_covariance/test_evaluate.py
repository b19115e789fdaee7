"""Changes of the matrices of a tree, counted by hand, and roots that change nothing but the covariance."""

import pandas as pd
import pytest

from ermlab.taxonomy import Taxonomy
from reproduction.claims.results import read_results
from reproduction.experiments.tree_covariance.evaluate import main, rerooting_changes, summarize


def test_changes_of_a_star_with_one_longer_edge():
    """``B`` is diag(1, 2, 3), the largest distance 5, the largest entry of ``HBH`` is 5/3; 9 replaces 3."""
    star, longer = (Taxonomy.from_newick(f"(a:1,b:2,c:{length});") for length in (3, 9))
    expected = {"covariance": 6 / 3, "metric": 6 / 5, "centred": (13 / 3 - 5 / 3) / (5 / 3)}
    assert rerooting_changes(star, longer) == pytest.approx(expected)


def test_changes_by_a_root_at_a_leaf():
    """The covariance diag(1, 2) becomes diag(0, 3)."""
    tree = Taxonomy.from_newick("(a:1,b:2);")
    expected = {"covariance": 0.5, "metric": 0, "centred": 0}
    assert rerooting_changes(tree, tree.rerooted(tree.leaves[0])) == pytest.approx(expected, abs=1e-12)


def test_summary_of_two_trees():
    changes = pd.DataFrame(
        {
            "tree": [0, 0, 1],
            "four_point": [0.1, 0.1, 0.4],
            "covariance": [1.0, 5.0, 2.0],
            "metric": [0.2, 0.7, 0.5],
            "centred": [0.6, 0.3, 0.0],
        }
    )
    assert summarize(changes) == {
        "trees": 2,
        "roots": 3,
        "metric_change_max": 0.7,
        "centred_change_max": 0.6,
        "covariance_change_median": 2.0,
        "four_point_violation_max": 0.4,
    }


def test_the_root_changes_neither_distances_nor_centered_covariance(tmp_path):
    folders = [tmp_path / turn / "tree_covariance" for turn in ("once", "twice")]
    for folder in folders:
        outputs = {"values": folder / "values.json", "changes": folder / "changes.csv"}
        main({}, outputs, seed=1, trees=2)
    values, changes = read_results(folders[0])["values"], pd.read_csv(folders[0] / "changes.csv")
    assert max(values["metric_change_max"], values["centred_change_max"]) < 1e-12
    assert values["covariance_change_median"] > 0.1
    assert (values["trees"], values["roots"]) == (2, len(changes))
    # A binary tree has 2n - 1 nodes; all but its root give a root at the node and one on the edge above it.
    binary = changes[changes["tree"] == 0]
    assert len(binary) == 2 * (2 * binary["leaves"].iloc[0] - 2)
    one, other = (Taxonomy.from_newick(values["figure"][name]) for name in ("newick", "rerooted"))
    assert one.splits() == other.splits()
    for name in ("values.json", "changes.csv"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
