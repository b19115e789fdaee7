"""The figures of Laplacian KCCA draw the numbers they are given."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from nibabel import Nifti1Image

from reproduction.claims.results import repeated
from reproduction.experiments.laplacian_kcca.figures import (
    map_figure,
    plot_correlations,
    plot_sweep,
    right_center,
)
from reproduction.experiments.laplacian_kcca.movie_study import PUBLISHED_EXPERIMENTS
from reproduction.experiments.laplacian_kcca.tables import TITLES

NAMES = ("motion", "faces")
PUBLISHED = {"exp1": [0.1, 0.2], "exp2": [0.3, 0.4], "exp3": [0.5, 0.6]}


@pytest.fixture
def ours():
    return {name: [repeated([0.1 * i, 0.1 * i + 0.2]), repeated([0.0, 0.0])] for i, name in enumerate(TITLES)}


@pytest.fixture
def sweep():
    rows = [
        {"scenario": name, "signal": signal, "sharing": sharing, "seed": 0, "experiment": e, "output": o}
        | {"correlation": signal * (0.5 + gain)}
        for name, signal, sharing in (("main", 1.0, 0.8), ("null", 0.0, 0.8), ("unshared", 1.0, 0.0))
        for e, gain in (("exp1", 0.0), ("exp2", 0.1), ("exp3", -0.2 if name == "unshared" else 0.2))
        for o in NAMES
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def maps():
    mask = np.ones((6, 5, 4), dtype=bool)
    target = np.zeros(120, dtype=bool)
    target[[0, 100]] = True
    weights = np.zeros(120)
    weights[[0, 50]] = 3.0, 1.0
    affine = np.diag([10.0, 10.0, 10.0, 1.0])
    affine[0, 3] = -25.0
    arrays = {f"faces_{name}": weights.astype(np.float32) for name in PUBLISHED_EXPERIMENTS}
    return arrays | {"faces_target": target, "mask": mask, "affine": affine}


def test_points_are_means_and_crosses_are_published_values(ours):
    fig = plot_correlations(ours, NAMES, PUBLISHED, "title")
    heights = np.concatenate([line.get_ydata() for line in fig.axes[0].lines if len(line.get_ydata())])
    for value in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
        assert np.isclose(heights, value).any()
    labels = [label.get_text() for label in fig.axes[0].get_xticklabels()]
    assert labels == list(NAMES)
    plt.close(fig)


def test_each_panel_of_the_sweep_changes_one_thing(sweep):
    fig = plot_sweep(sweep)
    signal, sharing = ({*np.concatenate([line.get_xdata() for line in ax.lines[:-1]])} for ax in fig.axes)
    assert signal == {0.0, 1.0}
    assert sharing == {0.0, 0.8}
    plt.close(fig)


def test_a_figure_of_maps_has_a_row_for_each_experiment(maps):
    anatomy = Nifti1Image(np.ones((6, 5, 4), dtype=np.float32), maps["affine"])
    fig = map_figure(maps, "faces", anatomy, (5.0, 10.0, 10.0))
    assert [text.get_text()[:12] for text in fig.texts] == ["Experiment 3", "Experiment 2", "Experiment 1"]
    plt.close(fig)


def test_cuts_go_through_the_right_part_of_the_target(maps):
    assert right_center(maps, "faces") == (25.0, 0.0, 0.0)
