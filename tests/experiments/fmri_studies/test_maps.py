"""Overlap of weight maps with a region, counted by hand."""

import numpy as np
import pytest

from reproduction.experiments.fmri_studies.maps import overlap, overlap_table, voxel_table

WEIGHTS = np.array([3.0, 0, -1, 0, 0, 0, 0, 0, 0, 4])
REGION = np.arange(10) < 4


def test_shares_of_weight_voxels_and_region():
    found = overlap(WEIGHTS, REGION)
    # 3 + 1 of 8 in weight, 2 of 3 selected voxels, 2 of the 4 voxels of the region, which has 4 of 10 voxels.
    assert found == {"weight_inside": 0.5, "selected_inside": 2 / 3, "region_found": 0.5, "chance": 0.4}
    row = overlap_table({"map": found}).loc["map"]
    assert row["weight inside"] == 50
    assert row["selected voxels inside"] == pytest.approx(200 / 3)
    assert row["by chance"] == 40
    assert row["part of the region found"] == 50
    assert overlap_table({}).empty


def test_voxels_have_their_place_in_millimeters():
    arrays = {
        "mask": np.ones((1, 2, 5), bool),
        "affine": np.diag([2.0, 3, 4, 1]),
        "a": WEIGHTS,
        "b": -WEIGHTS,
    }
    table = voxel_table(arrays, WEIGHTS != 0, {"weight": "a", "other": "b"})
    assert table.columns.tolist() == ["x", "y", "z", "weight", "other"]
    assert table.to_numpy().tolist() == [[0, 0, 0, 3, -3], [0, 0, 8, -1, 1], [0, 3, 16, 4, -4]]


@pytest.mark.parametrize("region", [np.zeros(10, bool), np.ones(2, bool)])
def test_regions_that_are_empty_or_of_another_shape_are_refused(region):
    with pytest.raises(ValueError, match=r"region of shape .*: expected a voxel or more of \(10,\)"):
        overlap(WEIGHTS, region)
