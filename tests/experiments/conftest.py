"""Every test of an experiment may draw figures."""

import pytest


@pytest.fixture(autouse=True)
def _style(figure_style):
    pass
