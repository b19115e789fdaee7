"""Figures are drawn in the project's style, without a screen, and closed after each test."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from ermlab.plotting.style import use_style


@pytest.fixture(autouse=True)
def _style():
    with mpl.rc_context():
        mpl.use("agg")
        use_style()
        yield
        plt.close("all")
