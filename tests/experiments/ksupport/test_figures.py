"""Figures of the k-support norm draw the numbers they are given."""

import numpy as np
import pandas as pd
import pytest
from nibabel import Nifti1Image

from reproduction.experiments.fmri_studies.studies import GROUP_TITLES
from reproduction.experiments.ksupport.evaluate import PROTOCOLS
from reproduction.experiments.ksupport.figures import (
    heaviest_places,
    plot_cluster_sizes,
    plot_correlations,
    plot_maps,
    weight_images,
)

KINDS = {
    "movie_watching": "simulated",
    "haxby2001_slice": "real",
    "wager2008_contrasts": "real",
    "drug_stroop": "simulated",
}
PUBLISHED = {"lasso": (44, 0.1198), "elastic_net": (866, 0.1189), "ksupport": (800, 0.129)}


@pytest.fixture
def values():
    summary = {
        method: {"best_shape": shape, "nested": 0.15, "splits": 4}
        for method, shape in (("lasso", 1.0), ("elastic_net", 0.1), ("ksupport", 80.0))
    }
    return {"correlations": {"_".join(key): summary for key in PROTOCOLS}}


@pytest.fixture
def paths():
    rows = []
    for study, protocol in PROTOCOLS:
        for method, shapes in (("lasso", [1.0]), ("elastic_net", [0.5, 0.1]), ("ksupport", [1.0, 80.0])):
            for shape in shapes:
                for i, strength in enumerate((1.0, 0.1)):
                    rows.append(
                        {
                            "study": study,
                            "protocol": protocol,
                            "method": method,
                            "shape": shape,
                            "strength": strength,
                            "correlation": 0.1 * i + 0.001 * shape,
                            "deviation": 0.02,
                            "nonzeros": 10.0 * i,
                        }
                    )
    return pd.DataFrame(rows)


@pytest.fixture
def maps():
    rng = np.random.default_rng(0)
    mask = np.zeros((12, 14, 12), dtype=bool)
    mask[2:10, 2:12, 2:10] = True
    affine = np.diag([15.0, 15, 15, 1])
    affine[:3, 3] = [-80, -115, -70]
    result = {}
    for name in GROUP_TITLES:
        weights = rng.normal(size=mask.sum())
        sparse = np.where(np.abs(weights) > 2, weights, 0)
        result[name] = {"lasso": sparse, "ksupport": weights, "mask": mask, "affine": affine}
    return result


@pytest.fixture
def clusters():
    rows = []
    for name in GROUP_TITLES:
        for i, selection in enumerate(("lasso", "ksupport", "ksupport_cut", "k = 1", "k = 80")):
            rows.append(
                {
                    "dataset": name,
                    "selection": selection,
                    "voxels": 10 + i,
                    "clusters": 5,
                    "mean_size": 2.0 + i,
                    "largest": 7,
                    "chance_mean_size": 1.1,
                }
            )
    return pd.DataFrame(rows)


def test_correlations_with_published_stars_on_the_film_alone(paths, values):
    fig = plot_correlations(paths, values, KINDS, PUBLISHED)
    assert len(fig.axes) == 2 * len(PROTOCOLS)
    stars = [[line.get_xydata().tolist() for line in ax.lines if line.get_marker() == "*"] for ax in fig.axes]
    assert stars[0] == [[[44, 0.1198]], [[866, 0.1189]]]
    assert stars[1] == [[[800, 0.129]]]
    assert all(not panel for panel in stars[4:])
    # The better regularization strength for each k of the k-support norm.
    (curve,) = [line for line in fig.axes[1].lines if len(line.get_xdata()) == 2 and line.get_marker() == "o"]
    np.testing.assert_allclose(curve.get_xydata(), [[1, 0.101], [80, 0.18]])
    assert "film (simulated), stretches of time, 4 splits" in fig.axes[0].get_title(loc="left")


def test_maps_on_their_heaviest_slices(maps):
    background = Nifti1Image(np.ones((12, 14, 12), dtype=np.float32), maps["drug_stroop"]["affine"])
    fig = plot_maps(maps, KINDS, background)
    titles = [text.get_text() for text in fig.texts]
    assert len(titles) == 4
    image = weight_images(maps["drug_stroop"])["lasso"]
    count = np.count_nonzero(maps["drug_stroop"]["lasso"])
    height = round(heaviest_places(image)[2])
    assert titles[0] == f"LASSO, drug Stroop (simulated): {count} voxels, heaviest at z = {height}"


def test_heaviest_places_are_in_millimeters():
    volume = np.zeros((3, 3, 3), dtype=np.float32)
    volume[2, 0, 1] = -4
    affine = np.diag([2.0, 3, 4, 1])
    affine[:3, 3] = [10, 20, 30]
    assert heaviest_places(Nifti1Image(volume, affine)).tolist() == [14, 20, 34]


def test_cluster_sizes_against_k(clusters):
    fig = plot_cluster_sizes(clusters, KINDS)
    assert fig.axes[0].lines[0].get_xydata().tolist() == [[1, 5], [80, 6]]
    assert fig.axes[0].lines[2].get_ydata()[0] == 2
