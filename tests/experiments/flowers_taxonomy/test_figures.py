"""The figures of the flowers show the numbers they are given."""

import numpy as np
import pytest

from ermlab.taxonomy import Taxonomy
from reproduction.claims.results import repeated
from reproduction.experiments.flowers_taxonomy.evaluate import TITLES
from reproduction.experiments.flowers_taxonomy.figures import (
    family_colors,
    plot_accuracies,
    plot_flower_taxonomies,
    plot_validation,
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
        "accuracy": {method: repeated(of_splits) for method, of_splits in accuracies.items()},
    }


def test_validation_accuracies_are_drawn(trials):
    (ax,) = plot_validation(trials, PUBLISHED).axes
    assert ax.get_xscale() == "log"
    assert PUBLISHED["semantic"] in [line.get_ydata()[0] for line in ax.lines]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [55, 55])


def test_accuracies_are_drawn_with_their_means(values):
    (ax,) = plot_accuracies(values, PUBLISHED, dict.fromkeys(PUBLISHED, 2.0)).axes
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


def test_members_of_a_family_share_a_color():
    colors = family_colors(TREES["semantic"])
    assert colors["rose"] == colors["apple"] != colors["daisy"] == colors["aster"]
    assert "fern" not in colors
