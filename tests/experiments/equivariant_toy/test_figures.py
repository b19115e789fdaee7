"""The figure of the rings draws the points and curves it is given."""

import numpy as np
import pandas as pd
import pytest

from reproduction.experiments.equivariant_toy.figures import plot_rings


@pytest.fixture
def triples():
    rows = [(k, part, 0.5 - 0.4 * part, 0.1, 3 + 10 * part) for k in (0, 1) for part in (0, 0.125, 1)]
    return pd.DataFrame(rows, columns=["triple", "range", "symmetry_error", "ring_error", "n_virtual"])


def test_panels_points_and_means(triples):
    axis = np.linspace(-1, 1, 5)
    regions = {
        "axis": axis,
        "ranges": np.array([0, 0.125, 1]),
        "classes": np.zeros((3, 5, 5), dtype=np.int8),
        "latent": np.ones((5, 5), dtype=np.int8),
        "margins": np.broadcast_to(np.hypot(*np.meshgrid(axis, axis)) + 0.3, (3, 5, 5)),
    }
    points = pd.DataFrame(
        [(1.0, kind, i, 0.1 * i, 0.2) for kind in ("given", "virtual") for i in range(3)],
        columns=["range", "kind", "sample", "x", "y"],
    )
    fig = plot_rings(regions, points, triples, 1080, {"symmetry_error": 0.02, "ring_error": 0.08})
    panels = [ax for ax in fig.axes if "range" in ax.get_title()]
    assert [ax.get_title() for ax in panels] == ["(a) range 0", "range ±π/8", "range ±π"]
    dots = panels[2].collections
    assert any(len(collection.get_offsets()) == 3 for collection in dots)
    assert fig.axes[3].get_title() == "latent rotation"
    assert len(fig.axes[3].collections) == 4  # no virtual samples, three given points
    mean = next(line for line in fig.axes[4].lines if line.get_label() == "mean")
    np.testing.assert_allclose(mean.get_ydata(), [0.5, 0.45, 0.1])
    latent = [line for ax in fig.axes for line in ax.lines if line.get_label() == "latent rotation"]
    assert [line.get_ydata()[0] for line in latent] == [0.02, 0.08]
