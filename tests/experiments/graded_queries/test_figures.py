"""Figure, table and text of the ranking of pages show the numbers they are given."""

import numpy as np
import pytest

from reproduction.experiments.graded_queries.figures import NAMES, comparison_text, plot_grades, quality_table


@pytest.fixture
def values():
    repeats = {"slack": [0.2, 0.4], "margin": [0.3, 0.3], "ridge": [0.5, 0.3], "chance": [0.1, 0.1]}
    return {
        "ndcg": {name: {"repeats": found, "unit": "query"} for name, found in repeats.items()},
        "strengths": {"slack": [1, 10], "margin": [0.1, 1], "ridge": [100, 100]},
        "at_edge": ["margin"],
        "levels": [2, 4],
    }


def test_table(values):
    table = quality_table(values)
    assert table.index.tolist() == list(NAMES.values())
    assert table["NDCG@10"].tolist() == pytest.approx([0.3, 0.3, 0.4, 0.1])
    assert table["chosen C or alpha"].tolist() == ["1, 10", "0.1, 1", "100, 100", ""]
    # Half of an interval of two values .2 apart: 12.706 times .1.
    assert table["half of the interval"].iloc[0] == pytest.approx(1.2706, abs=1e-4)


def test_figure(values):
    fig = plot_grades(values, {"passes_seconds": [0.001, 0.004], "halving_seconds": [0.001, 0.002]})
    left, right = fig.axes
    assert [text.get_text() for text in left.get_yticklabels()] == list(NAMES.values())
    assert [line.get_ydata().tolist() for line in right.lines] == [[1, 4], [1, 2]]
    assert np.array_equal(right.lines[0].get_xdata(), [2, 4])


def test_text(values):
    text = comparison_text(values)
    assert "over 2 queries with relevant pages: -0.100 ±" in text
    assert text.endswith("at the edge of its grid: ranking SVM, margin.")
    assert comparison_text({**values, "at_edge": []}).endswith(
        "No chosen strength is at the edge of its grid."
    )
