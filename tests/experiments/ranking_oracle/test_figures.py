"""The figures of the ranking oracle draw the numbers they are given."""

import numpy as np
import pandas as pd
import pytest
from figure_fixtures import drawn

from reproduction.experiments.ranking_oracle.figures import (
    plot_bipartite_time,
    plot_oracle_time,
    plot_recursion,
)


@pytest.fixture
def times():
    n = np.array([1024, 4096])
    return pd.DataFrame(
        {
            "n": n,
            "bipartite_seconds": 2e-9 * n,
            "algorithm_seconds": 9e-9 * n * np.log2(n),
            "oracle_seconds": 3e-9 * n * np.log2(n),
            "argsort_seconds": 6e-9 * n * np.log2(n),
        }
    )


def test_algorithm_1_beside_a_line_and_for_each_sample(times):
    total, each = plot_bipartite_time(times).axes
    np.testing.assert_allclose(drawn(total, "Algorithm 1")[1], times["bipartite_seconds"])
    np.testing.assert_allclose(drawn(total, "proportional to n")[1], times["bipartite_seconds"])
    np.testing.assert_allclose(each.get_lines()[0].get_ydata(), 2)


def test_the_oracle_beside_numpy_and_divided_by_n_log_n(times):
    total, each = plot_oracle_time(times).axes
    np.testing.assert_allclose(drawn(total, "np.argsort of the scores")[1], times["argsort_seconds"])
    np.testing.assert_allclose(drawn(total, r"proportional to $n \log n$")[1], times["algorithm_seconds"])
    assert [line.get_ydata()[0] for line in each.get_lines()] == pytest.approx([9, 3, 6, 9])


def test_the_recursion_has_a_dot_for_each_node_and_bars_for_each_level():
    levels = pd.DataFrame({"level": [0, 1, 2], "nodes": [1, 2, 4], "samples": 8, "seconds": [1.0, 2.0, 3.0]})
    tree, samples, time = plot_recursion(levels).axes
    dots = [len(item.get_offsets()) for item in tree.collections if hasattr(item, "get_sizes")]
    assert dots == [1, 2, 4]
    assert [text.get_text() for text in tree.texts] == ["$n$", "1", "$n/2$", "2", "$n/4$", "4"]
    assert [bar.get_width() for bar in samples.patches] == [1, 1, 1]
    assert [bar.get_width() for bar in time.patches] == [1000, 2000, 3000]


def test_levels_too_fine_to_draw_have_their_numbers_alone():
    levels = pd.DataFrame({"level": range(12), "nodes": 2 ** np.arange(12), "samples": 4096, "seconds": 1.0})
    tree = plot_recursion(levels).axes[0]
    assert len([item for item in tree.collections if hasattr(item, "get_sizes")]) == 9
    assert tree.texts[-1].get_text() == "2,048"
