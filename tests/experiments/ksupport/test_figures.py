"""Figures and tables of the k-support norm draw the numbers they are given."""

import numpy as np
import pandas as pd
import pytest
from nibabel import Nifti1Image

from reproduction.experiments.ksupport.figures import (
    MAPS,
    PROTOCOLS,
    TITLES,
    chosen_table,
    cluster_summary,
    control_table,
    correlation_table,
    difference_table,
    heaviest_places,
    map_table,
    norm_table,
    overlap_table,
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


def summary(shape, at_edge=False):
    return {
        "best": 0.2,
        "best_deviation": 0.05,
        "best_shape": shape,
        "best_strength": 0.1,
        "best_nonzeros": 30.0,
        "best_at_edge": at_edge,
        "nested": 0.15,
        "nested_deviation": 0.06,
        "nested_nonzeros": 25.0,
        "splits": 4,
    }


@pytest.fixture
def values():
    shapes = {"lasso": 1.0, "elastic_net": 0.1, "ksupport": 80.0}
    correlations = {m: summary(shape, m == "ksupport") for m, shape in shapes.items()}
    found = {"weight_inside": 0.5, "selected_inside": 0.25, "region_found": 0.1, "chance": 0.01}
    return {
        "correlations": {"_".join(key): correlations for key in PROTOCOLS},
        "reversed_best": {protocol: dict.fromkeys(TITLES, 0.3) for protocol in ("fair", "permuted")},
        "difference_of_nested": {
            peer: {"mean": -0.1, "deviation": 0.2, "better": 3} for peer in ("lasso", "elastic_net")
        },
        "norm_examples": {name: {"formula": 7.5, "dual": 7.5} for name in TITLES},
        "norm_dual_difference": dict.fromkeys(TITLES, 1e-15),
        "maps": {
            name: {
                "overlap": {"lasso": found, "ksupport": found},
                "chosen": {"lasso": {"shape": 1.0, "strength": 0.1, "correlation": 0.2}},
            }
            for name in MAPS
        },
    }


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
    for name in MAPS:
        weights = rng.normal(size=mask.sum())
        sparse = np.where(np.abs(weights) > 2, weights, 0)
        result[name] = {"lasso": sparse, "ksupport": weights, "mask": mask, "affine": affine}
    return result


@pytest.fixture
def clusters():
    rows = []
    for name in MAPS:
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
    assert all(not some for some in stars[4:])
    # Of the k-support norm the better price for each k.
    (curve,) = [line for line in fig.axes[1].lines if len(line.get_xdata()) == 2 and line.get_marker() == "o"]
    np.testing.assert_allclose(curve.get_xydata(), [[1, 0.101], [80, 0.18]])
    assert "film (simulated), stretches of time, 4 splits" in fig.axes[0].get_title(loc="left")


def test_table_of_correlations(values):
    table = correlation_table(values, KINDS, PUBLISHED)
    assert len(table) == len(PROTOCOLS) * len(TITLES)
    first, _, third = table.iloc[0], table.iloc[1], table.iloc[2]
    assert first["published"] == "0.120"
    assert first["best on test"] == "0.200 ± 0.050"
    assert first["at"] == "30 voxels"
    assert third["at"] == "k = 80 (edge of the grid)"
    assert (table.loc[table["study"].str.startswith("Haxby"), "published"] == "").all()


def test_controls_and_differences(values):
    table = control_table(values)
    assert table.index[1] == "stretches of time: target reversed"
    assert table["LASSO"].tolist() == [0.2, 0.3, 0.2, 0.3]
    assert difference_table(values).loc["over the LASSO"].tolist() == [-0.1, 0.2, 3]
    assert chosen_table(values).loc[("drug Stroop", "LASSO")].tolist() == [1, 0.1, 0.2]


def test_norms(values):
    table = norm_table(values)
    assert table["regulariser"].tolist() == list(TITLES.values())
    assert table["value of the example"].tolist() == [7.5] * 3


def test_maps_on_their_heaviest_slices(maps):
    background = Nifti1Image(np.ones((12, 14, 12), dtype=np.float32), maps["drug_stroop"]["affine"])
    fig = plot_maps(maps, KINDS, background)
    titles = [text.get_text() for text in fig.texts]
    assert len(titles) == 4
    image = weight_images(maps["drug_stroop"])["lasso"]
    count = np.count_nonzero(maps["drug_stroop"]["lasso"])
    height = round(heaviest_places(image)[2])
    assert titles[0] == f"LASSO, drug Stroop (simulated): {count} voxels, heaviest at z = {height}"


def test_heaviest_places_are_millimetres():
    volume = np.zeros((3, 3, 3), dtype=np.float32)
    volume[2, 0, 1] = -4
    affine = np.diag([2.0, 3, 4, 1])
    affine[:3, 3] = [10, 20, 30]
    assert heaviest_places(Nifti1Image(volume, affine)).tolist() == [14, 20, 34]


def test_table_of_weights(maps):
    table = map_table(maps)
    for name, arrays in maps.items():
        rows = table[(table["dataset"] == name) & (table["method"] == "lasso")]
        np.testing.assert_allclose(rows["weight"], arrays["lasso"][arrays["lasso"] != 0])
    assert table[["x", "y", "z"]].iloc[0].tolist() != table[["x", "y", "z"]].iloc[-1].tolist()


def test_clusters(clusters):
    table = cluster_summary(clusters, KINDS)
    assert table["voxels"].tolist() == [10, 11, 12] * 2
    assert table["maps"].iloc[0] == "drug Stroop (simulated)"
    fig = plot_cluster_sizes(clusters, KINDS)
    assert fig.axes[0].lines[0].get_xydata().tolist() == [[1, 5], [80, 6]]
    assert fig.axes[0].lines[2].get_ydata()[0] == 2


def test_overlap_in_percent(values):
    assert overlap_table(values).loc["LASSO", "weight inside"] == 50
