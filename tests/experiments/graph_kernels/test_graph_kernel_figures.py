"""Figures and tables of graph kernels draw the numbers they are given."""

import numpy as np
import pytest
from nibabel import Nifti1Image

from reproduction.experiments.graph_kernels.figures import (
    HEIGHTS,
    PAIRS,
    STUDIES,
    TITLES,
    accuracy_table,
    difference_table,
    height_table,
    map_images,
    map_table,
    overlap_table,
    plot_accuracies,
    plot_graph_maps,
    size_table,
    strongest_place,
    study_table,
)

KINDS = {"drug_stroop": "simulated", "wager2008_contrasts": "real"}
PUBLISHED = [54.0, 57.14, 64.28, 63.42]


def study(shift):
    names = [*TITLES, *(f"wl_{h}" for h in HEIGHTS)]
    sizes = {"voxels": 140.0, "features": 9e4, "nonzero_share": 0.05, "selected": 700.0}
    permuted = {
        "accuracy": 50.0,
        "p": 0.4,
        "permuted": 48.0,
        "permuted_deviation": 9.0,
        "leak": 88.0,
        "leak_deviation": 5.0,
    }
    test = {"difference": 2.0, "better": 5, "worse": 3, "wilcoxon_p": 0.02, "corrected_t_p": 0.6}
    overlap = {"weight_inside": 0.5, "selected_inside": 0.25, "region_found": 0.1, "chance": 0.01}
    return {
        "people": [16, 17],
        "voxels": 8000,
        "splits": 20,
        "permutations": 19,
        "permuted_splits": 2,
        "heights_chosen": [14, 4, 2, 0],
        "methods": {name: {"mean": 40.0 + i + shift, "standard_error": 3.0} for i, name in enumerate(names)},
        "permuted": dict.fromkeys(TITLES, permuted),
        "differences": dict.fromkeys(PAIRS, test),
        "sizes": {f"wl_{h}": sizes for h in HEIGHTS},
        "maps": {"overlap": {"selection": overlap, "difference": overlap}},
    }


@pytest.fixture
def values():
    return {"studies": {name: study(10.0 * i) for i, name in enumerate(STUDIES)}}


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
    assert left.get_title(loc="left") == "drug Stroop (simulated)"
    assert any("LEAK" in text.get_text() for text in fig.legends[0].get_texts())


def test_tables_have_our_numbers_beside_the_published(values):
    heights = height_table(values, KINDS, PUBLISHED).set_index("maps")
    assert heights.loc["published", "h = 2"] == "64.28"
    assert heights.loc["drug Stroop (simulated)", "h = 0"] == "44.0 ± 3.0"
    assert heights.loc["Wager maps, median split (real)", "h chosen inside"] == "52.0 ± 3.0"
    assert accuracy_table(values, KINDS)["permuted, leak"].tolist() == [88.0] * 8
    assert difference_table(values, KINDS)["better / worse"].tolist() == ["5 / 3"] * 8
    sizes = size_table(
        values, KINDS, {"voxels": 1100, "features": 600000, "nonzero_share": 0.02, "selected": 2000}
    )
    assert sizes["non-zero, %"].tolist() == pytest.approx([2.0] + [5.0] * 8)
    assert study_table(values, KINDS)["heights chosen"][0].startswith("14 x h = 0, 4 x h = 1")
    assert overlap_table(values)["weight inside"].tolist() == [50, 50]


def test_maps_are_drawn_and_listed(arrays):
    background = Nifti1Image(np.ones((24, 28, 24), np.float32), np.diag([8.0, 8, 8, 1]))
    images = map_images(arrays)
    difference = np.asarray(images["difference"].dataobj)[arrays["mask"]]
    np.testing.assert_allclose(difference, arrays["positive"] - arrays["negative"], rtol=1e-6)
    fig = plot_graph_maps(arrays, "drug_stroop", KINDS, background)
    titles = [text.get_text() for text in fig.texts]
    assert "drug Stroop (simulated): learned function, cocaine users" in titles
    table = map_table({"drug_stroop": arrays})
    largest = table.loc[table["selection"].abs().idxmax()]
    assert strongest_place(images["selection"]) == largest[["x", "y", "z"]].tolist()
    assert len(table) == np.count_nonzero(arrays["selection"])
    assert table["selection"].tolist() == arrays["selection"][arrays["selection"] != 0].tolist()
