"""ROC curves of the published methods."""

import pandas as pd

from reproduction.experiments.voc_taxonomy.evaluate import ALL, METHOD_TITLES
from reproduction.experiments.voc_taxonomy.figures import STYLES, plot_roc_curves


def test_curves_of_the_published_methods():
    line = {"false_positives": [0.0, 1], "true_positives": [0.0, 1]}
    curves = pd.concat(
        pd.DataFrame(line).assign(**{"method": name, "class": label})
        for name in METHOD_TITLES
        for label in ("cat", "dog", ALL)
    )
    fig = plot_roc_curves(curves, ["cat", "dog"])
    assert [ax.get_title() for ax in fig.axes] == ["cat", "dog", ALL]
    assert all(len(ax.lines) == len(STYLES) + 1 for ax in fig.axes)
