"""Contrast maps of simulated scans recover the effect of a group in its region."""

from dataclasses import replace

import numpy as np
import pytest

from reproduction.datasets import drug_stroop
from reproduction.datasets.drug_stroop import COCAINE, CONTROL, read_drug_stroop, simulate_drug_stroop
from reproduction.experiments.fmri_studies.contrast_maps import prepare_contrasts

EFFECT = 20.0


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stroop")
    with pytest.MonkeyPatch.context() as patch:
        one_each = replace(drug_stroop.SIZES["smoke"], cocaine=1, control=1)
        patch.setitem(drug_stroop.SIZES, "smoke", one_each)
        simulate_drug_stroop(folder, 0, "smoke", effect=EFFECT)
    study = read_drug_stroop(folder)
    return prepare_contrasts(study, study.subjects, 8.0)


def test_groups_motion_and_grid(maps):
    assert maps.group.tolist() == [COCAINE, CONTROL]
    assert maps.maps.shape == (2, maps.mask.sum())
    assert maps.region.shape == (maps.mask.sum(),)
    assert maps.kept.tolist() == (maps.motion < 2).all(axis=1).tolist()
    assert (maps.motion > 0).all()


def test_the_effect_of_the_group_is_in_the_region(maps):
    cocaine, control = maps.maps
    # Voxels are grey matter in part only, and smoothing by 8 mm weakens a region of that size.
    assert -EFFECT < np.mean(cocaine[maps.region] - control[maps.region]) < -EFFECT / 10
    assert abs(np.nanmean(cocaine[~maps.region] - control[~maps.region])) < EFFECT / 20
