"""Figures of graph kernels draw the numbers they are given."""

import numpy as np
import pytest
from nibabel import Nifti1Image

from reproduction.claims.results import repeated
from reproduction.experiments.fmri_studies.studies import GROUP_TITLES
from reproduction.experiments.graph_kernels.evaluate import TITLES
from reproduction.experiments.graph_kernels.figures import (
    map_images,
    plot_accuracies,
    plot_effects,
    plot_graph_maps,
    strongest_place,
)

KINDS = {"drug_stroop": "simulated", "wager2008_contrasts": "real"}


@pytest.fixture
def values():
    permuted = {"permuted": 48.0, "permuted_deviation": 9.0, "leak": 88.0, "leak_deviation": 5.0}
    studies = {
        name: {
            "methods": {
                method: {"mean": 40.0 + 10 * i + j, "standard_error": 3.0} for j, method in enumerate(TITLES)
            },
            "permuted": dict.fromkeys(TITLES, permuted),
        }
        for i, name in enumerate(GROUP_TITLES)
    }
    return {"studies": studies}


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    mask = np.zeros((12, 14, 12), dtype=bool)
    mask[2:10, 2:12, 2:10] = True
    affine = np.diag([15.0, 15, 15, 1])
    affine[:3, 3] = [-80, -115, -70]
    used = rng.random(mask.sum()) < 0.1
    maps = {
        name: np.where(used, rng.normal(size=mask.sum()), 0) for name in ("selection", "positive", "negative")
    }
    return {**maps, "mask": mask, "affine": affine}


def test_accuracies_against_the_effect():
    accuracy = {method: [repeated([50 + i, 60 + i]), repeated([90.0])] for i, method in enumerate(TITLES)}
    (ax,) = plot_effects({"effects": {"sizes": [0.3, 1.2], "accuracy": accuracy}}).axes
    lines = [line for line in ax.lines if line.get_marker() == "o"]
    assert [line.get_ydata().tolist() for line in lines] == [[55 + i, 90] for i in range(4)]
    assert lines[0].get_xdata().tolist() == [0.3, 1.2]


def test_bars_controls_and_the_published_value(values):
    fig = plot_accuracies(values, KINDS, {"wl_pyramid": 64.28})
    left, right = fig.axes
    assert [bar.get_height() for bar in left.patches] == [40, 41, 42, 43]
    assert [bar.get_height() for bar in right.patches] == [50, 51, 52, 53]
    dotted = [line.get_ydata()[0] for line in left.lines if line.get_linestyle() == ":"]
    assert dotted == [64.28]
    assert not [line for line in right.lines if line.get_linestyle() == ":"]
    squares = [line.get_ydata()[0] for line in left.lines if line.get_marker() == "s"]
    assert squares == [88.0] * 4
    circles = [line.get_ydata()[0] for line in left.lines if line.get_marker() == "o"]
    assert circles == [48.0] * 4
    assert left.get_title(loc="left") == "drug Stroop (simulated)"
    assert any("LEAK" in text.get_text() for text in fig.legends[0].get_texts())


def test_maps_are_drawn(arrays):
    background = Nifti1Image(np.ones((24, 28, 24), np.float32), np.diag([8.0, 8, 8, 1]))
    images = map_images(arrays)
    difference = np.asarray(images["difference"].dataobj)[arrays["mask"]]
    np.testing.assert_allclose(difference, arrays["positive"] - arrays["negative"], rtol=1e-6)
    fig = plot_graph_maps(arrays, "drug_stroop", KINDS, background)
    titles = [text.get_text() for text in fig.texts]
    assert "drug Stroop (simulated): learned function, cocaine users" in titles
    volume = np.abs(np.asarray(images["selection"].dataobj))
    voxel = np.argwhere(volume == volume.max())[0]
    assert strongest_place(images["selection"]) == (15 * voxel + [-80, -115, -70]).tolist()
