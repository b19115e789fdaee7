"""The figure and the table of the Weisfeiler-Lehman kernel show the numbers they are given."""

import pytest
from matplotlib import pyplot as plt

from reproduction.claims.results import repeated
from reproduction.experiments.weisfeiler_lehman.figures import PUBLISHED, accuracy_rows, plot_patterns

TIMES = {
    "edges": [10, 20],
    "seconds_by_edges": [0.1, 0.2],
    "heights": [0, 1],
    "seconds_by_height": [0.1, 0.3],
}


@pytest.mark.parametrize("accuracy", [{"MUTAG": repeated([80.0, 84.0])}, {}])
def test_accuracies_and_times(accuracy):
    values = {"accuracy": accuracy}
    fig = plot_patterns(values, TIMES)
    left, middle, right = fig.axes
    heights = [line.get_ydata().tolist() for line in left.lines if line.get_marker() == "o"]
    assert heights == ([[82.0]] if accuracy else [])
    assert middle.lines[0].get_xdata().tolist() == [10, 20]
    assert right.lines[0].get_ydata().tolist() == [0.1, 0.3]
    plt.close(fig)
    table = accuracy_rows(values).set_index(["source", "data"])
    assert len(table) == 2 * len(PUBLISHED) + len(accuracy)
    assert table.loc[("Shervashidze et al. (2011)", "ENZYMES")].tolist() == [52.22, 1.26]
    if accuracy:
        assert table.loc[("ours", "MUTAG")].tolist() == [82, 2]
