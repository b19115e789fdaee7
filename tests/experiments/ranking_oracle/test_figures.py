"""The figures of ranking draw the numbers they are given."""

import numpy as np
import pandas as pd
import pytest

from reproduction.experiments.ranking_oracle.figures import (
    plot_bipartite_time,
    plot_oracle_time,
    plot_recursion,
)
from reproduction.experiments.window_cascade.figures import plot_cascade
from reproduction.experiments.window_cascade.measures import COUNTS, SIDES
from reproduction.experiments.window_cascade.protocol import VARIANTS


def drawn(ax, label):
    """Return the heights of the one line of ``ax`` with this label."""
    (line,) = [line for line in ax.get_lines() if line.get_label() == label]
    return np.asarray(line.get_ydata(), float)


@pytest.fixture
def times():
    n = np.array([1024, 4096])
    return pd.DataFrame(
        {
            "n": n,
            "bipartite_seconds": 2e-9 * n,
            "oracle_seconds": 3e-9 * n * np.log2(n),
            "argsort_seconds": 6e-9 * n * np.log2(n),
        }
    )


def test_algorithm_1_beside_a_line_and_for_each_sample(times):
    total, each = plot_bipartite_time(times).axes
    np.testing.assert_allclose(drawn(total, "Algorithm 1"), times["bipartite_seconds"])
    np.testing.assert_allclose(drawn(total, "proportional to n"), times["bipartite_seconds"])
    np.testing.assert_allclose(each.get_lines()[0].get_ydata(), 2)


def test_the_oracle_beside_numpy_and_divided_by_n_log_n(times):
    total, each = plot_oracle_time(times).axes
    np.testing.assert_allclose(drawn(total, "np.argsort of the scores"), times["argsort_seconds"])
    np.testing.assert_allclose(drawn(total, r"proportional to $n \log n$"), times["oracle_seconds"])
    assert [line.get_ydata()[0] for line in each.get_lines()] == pytest.approx([3, 6, 3])


def test_the_recursion_has_a_dot_for_each_node_and_bars_for_each_level():
    levels = pd.DataFrame({"level": [0, 1, 2], "nodes": [1, 2, 4], "samples": 8, "seconds": [1.0, 2.0, 3.0]})
    tree, samples, time = plot_recursion(levels).axes
    dots = [len(item.get_offsets()) for item in tree.collections if hasattr(item, "get_sizes")]
    assert dots == [1, 2, 4]
    assert [text.get_text() for text in tree.texts] == ["$n$", "1", "$n/2$", "2", "$n/4$", "4"]
    assert [bar.get_width() for bar in samples.patches] == [1, 1, 1]
    assert [bar.get_width() for bar in time.patches] == [1000, 2000, 3000]


def test_levels_too_fine_to_draw_are_told_in_numbers():
    levels = pd.DataFrame({"level": range(12), "nodes": 2 ** np.arange(12), "samples": 4096, "seconds": 1.0})
    tree = plot_recursion(levels).axes[0]
    assert len([item for item in tree.collections if hasattr(item, "get_sizes")]) == 9
    assert tree.texts[-1].get_text() == "2,048"


@pytest.fixture
def cascade():
    """One image with two objects, found by the first ten windows and by the first thousand."""
    rows = [
        {"image": 5, "windows": count, "overlap": overlap}
        | {f"object_{side}": value for side, value in zip(SIDES, (1, 2, 11, 12), strict=True)}
        | {f"window_{side}": value + count // 10 for side, value in zip(SIDES, (1, 2, 11, 12), strict=True)}
        for count, overlaps in zip(COUNTS, ((0.6, 0.1), (0.6, 0.2), (0.7, 0.5)), strict=True)
        for overlap in overlaps
    ]
    names = [*VARIANTS, "chance", "all"]
    curves = pd.concat(
        pd.DataFrame({"variant": name, "windows": count, "overlap": [0.5, 1.0], "recall": [k / 10, 0.0]})
        for k, name in enumerate(names)
        for count in COUNTS
    )
    areas = pd.DataFrame(
        {"variant": name, "windows": count, "mean": k / 100 + count / 1e4, "sd": 0.0}
        for k, name in enumerate(names)
        for count in COUNTS
    )
    images = {5: np.zeros((31, 45, 3), dtype=np.uint8)}
    return images, pd.DataFrame(rows), curves, areas


def test_curves_carry_their_areas(cascade):
    fig = plot_cascade(*cascade)
    panels = {ax.get_title(): ax for ax in fig.axes if ax.get_title().endswith(" windows")}
    assert list(panels) == ["10 windows", "100 windows", "1000 windows"]
    assert drawn(panels["100 windows"], "complete, slack (0.010)").tolist() == [0, 0]
    assert drawn(panels["1000 windows"], "structured SVM (0.160)").tolist() == [0.6, 0]
    assert drawn(panels["10 windows"], "all initial windows (0.081)").tolist() == [0.8, 0]


def test_images_tell_how_many_objects_are_found(cascade):
    ax = next(ax for ax in plot_cascade(*cascade).axes if ax.images)
    assert ax.get_title() == "found: 1 of 2 with 10, 2 with 1000"
    corners = [patch.get_xy() for patch in ax.patches]
    # Objects, windows among the first 10, windows among the first 1000; half a pixel around each.
    assert corners == [(0.5, 1.5)] * 2 + [(1.5, 2.5)] * 2 + [(100.5, 101.5)] * 2
