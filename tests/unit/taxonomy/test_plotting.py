"""Drawn trees: every name once, edges as long as they are, groups in one color."""

import numpy as np
import pandas as pd

from ermlab.taxonomy.plotting import (
    colors_by_group,
    leaf_order,
    plot_rerooting,
    plot_taxonomies,
    rerooting_rows,
)
from ermlab.taxonomy.tree import Taxonomy

TREE = Taxonomy.from_newick("((cat:1,dog:2)pets:3,(car:1,bus:2)vehicles:4,oak:5);")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_every_leaf_is_named_once_at_the_end_of_its_path():
    ax = plot_taxonomies({"tree": TREE}).axes[0]
    assert sorted(texts(ax)) == sorted([*TREE.names, "pets", "vehicles"])
    ends = {tuple(line.get_xdata())[-1] for line in ax.lines}
    assert ends >= {4, 5, 6}  # 3 + 1, 3 + 2 and 4 + 1, 4 + 2
    rows = [text.get_position()[1] for text in ax.texts if text.get_text() in TREE.names]
    assert sorted(rows) == [0, 1, 2, 3, 4]
    assert ax.get_xlim()[1] > 6


def test_trees_side_by_side_follow_one_order():
    other = Taxonomy.from_newick("(((oak,bus),car),(dog,cat));")
    fig = plot_taxonomies({"one": TREE, "other": other}, colors={"cat": "#ff0000"})
    assert [ax.get_title() for ax in fig.axes] == ["one", "other"]
    for ax in fig.axes:
        colors = {text.get_text(): text.get_color() for text in ax.texts}
        assert colors["cat"] == "#ff0000"
        assert colors["dog"] == "black"
    assert leaf_order(TREE) == ["cat", "dog", "car", "bus", "oak"]
    place = {text.get_text(): text.get_position()[1] for text in fig.axes[1].texts}
    assert place["cat"] < place["dog"] < place["car"] < place["bus"] < place["oak"]


def test_groups_have_their_color_and_leaves_of_the_root_none():
    colors = colors_by_group(TREE)
    assert colors["cat"] == colors["dog"] != colors["car"] == colors["bus"]
    assert "oak" not in colors


def test_a_tree_without_lengths_can_be_drawn():
    star = Taxonomy.from_newick("(a:0,b:0,c:0);")
    assert sorted(texts(plot_taxonomies({"star": star}).axes[0])) == ["a", "b", "c"]


def test_rerooted_trees_are_shown_with_their_matrices():
    trees = {"one": TREE, "other": TREE.rerooted(2)}
    fig = plot_rerooting(trees)
    assert len(fig.axes) == 8
    rows = pd.DataFrame(rerooting_rows(trees))
    assert len(rows) == 2 * 3 * 25
    wide = rows.pivot_table(index=["matrix", "row", "column"], columns="tree", values="value")
    same = np.isclose(wide["one"], wide["other"]).reshape(3, -1).all(axis=1)
    assert dict(zip(wide.index.levels[0], same, strict=True)) == {
        "centred, $HBH$": True,
        "covariance $B$": False,
        "distances $M$": True,
    }
