"""The figures and tables of the flowers show the numbers they are given."""

import numpy as np
import pandas as pd
import pytest

from ermlab.taxonomy.tree import Taxonomy
from reproduction.claims.results import over_seeds
from reproduction.experiments.flowers_taxonomy.figures import (
    TITLES,
    accuracy_table,
    class_table,
    family_colors,
    plot_accuracies,
    plot_flower_taxonomies,
    plot_prices,
    price_curves,
    topology_rows,
    tree_rows,
)

PUBLISHED = {"one_vs_rest": 84.9, "semantic": 56.3, "learned": 87.7}
NAMES = ("rose", "apple", "daisy", "aster", "fern")
TREES = {
    "semantic": Taxonomy.from_newick("(((rose,apple)Rosaceae,(daisy,aster)Asteraceae)flowering,fern)plants;"),
    "learned": Taxonomy.from_newick("((rose:1,daisy:2):3,((apple,fern),aster));"),
}


@pytest.fixture
def values():
    accuracies = {method: [80.0 + i, 84.0 + 2 * i] for i, method in enumerate(TITLES)}
    return {
        "accuracy": {method: over_seeds(some) for method, some in accuracies.items()},
        "validation": {method: over_seeds([81.0, 85.0]) for method in TITLES},
        "price": {method: [3.0, 10.0] for method in TITLES},
    }


@pytest.fixture
def prices():
    rows = [
        {"split": split, "run": run, "method": method, "C": C, "validation": 0.5 + 0.1 * split}
        for split in range(2)
        for run, method in enumerate(TITLES)
        for C in ([1, 10, 100] if split else [1, 10])
    ]
    return pd.DataFrame(rows)


def test_table_holds_means_spreads_and_published_values(values):
    table = accuracy_table(values, PUBLISHED).set_index("method")
    learned = table.loc[TITLES["learned"]]
    assert learned["accuracy"] == 86.5
    np.testing.assert_allclose(learned["spread"], np.std([83, 90], ddof=1))
    assert learned["over one-vs-rest"] == 4.5
    assert (learned["published"], learned["published spread"]) == (87.7, 2.6)
    assert np.isnan(table.loc[TITLES["permuted"], "published"])
    assert learned["C chosen"] == "3, 10"


def test_a_single_split_has_no_spread(values):
    one = {key: {m: over_seeds([90.0]) for m in TITLES} for key in ("accuracy", "validation")}
    assert (accuracy_table({**values, **one}, PUBLISHED)["spread"] == 0).all()


def test_curves_are_means_over_all_runs_where_all_tried(prices):
    curves = price_curves(prices)
    assert sorted(curves["C"].unique()) == [1, 10]
    np.testing.assert_allclose(curves["validation"], 55)


def test_prices_are_drawn(prices):
    (ax,) = plot_prices(prices, PUBLISHED).axes
    assert ax.get_xscale() == "log"
    assert PUBLISHED["semantic"] in [line.get_ydata()[0] for line in ax.lines]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [55, 55])


def test_accuracies_are_drawn_with_their_means(values):
    (ax,) = plot_accuracies(values, PUBLISHED).axes
    assert [text.get_text() for text in ax.get_yticklabels()] == list(TITLES.values())
    means = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "D" and len(line.get_xdata())]
    assert means == [82.0, 83.5, 85.0, 86.5, 88.0, 89.5]


def test_every_flower_is_pictured_beside_its_name():
    examples = np.stack([np.full((4, 4, 3), 40 * i, dtype=np.uint8) for i in range(5)])
    fig = plot_flower_taxonomies(TREES, examples, NAMES, TREES["semantic"])
    for tree_axes, side in zip(fig.axes[::2], fig.axes[1::2], strict=True):
        rows = {text.get_text(): text.get_position()[1] for text in tree_axes.texts}
        shown = {image.get_extent()[2] - 0.48: int(image.get_array()[0, 0, 0]) for image in side.images}
        assert len(shown) == 5
        for name, value in zip(NAMES, range(0, 200, 40), strict=True):
            (row,) = [row for row in shown if abs(row - rows[name]) < 1e-9]
            assert shown[row] == value


def test_members_of_a_family_share_a_colour():
    colors = family_colors(TREES["semantic"])
    assert colors["rose"] == colors["apple"] != colors["daisy"] == colors["aster"]
    assert "fern" not in colors


def test_rows_of_trees_name_the_flowers_below_a_node():
    rows = tree_rows(TREES)
    learned = rows[rows["tree"] == "learned"]
    assert learned.loc[learned["flowers"] == "rose, daisy", "length"].tolist() == [3.0]
    assert (learned["parent"] == -1).sum() == 1


def test_lengths_and_topologies_of_trees():
    rows = topology_rows(TREES, "semantic").set_index("taxonomy")
    # Edges of length 1 but for one of 2 and one of 3; five of them end in a flower.
    shares = rows["share of length at single flowers"]
    np.testing.assert_allclose(shares[["semantic", "learned"]], [5 / 8, 6 / 11])
    assert rows["splits not shared with semantic"].tolist() == [0, 1]


def test_flowers_that_lose_most_come_first():
    rows = [
        {"flower": flower, "method": method, "accuracy": 0.9 - loss * (method == "semantic")}
        for flower, loss in (("rose", 0.1), ("daisy", 0.4), ("fern", 0.0))
        for method in TITLES
    ]
    table = class_table(pd.DataFrame(rows), 2)
    assert table.index.tolist() == ["daisy", "rose"]
    assert table.columns.tolist() == list(TITLES.values())
    np.testing.assert_allclose(table.loc["daisy", TITLES["semantic"]], 50)
