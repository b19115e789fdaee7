"""On real crops: mirrored files mirror descriptors, groups are tracks, and invariance can be seen."""

import numpy as np
import pytest

from ermlab.features.hog_crops import HogLayout, small_hog
from reproduction.datasets.daimler_pedestrians import read_crop_set
from reproduction.experiments.pedestrians.crop_versions import VERSIONS, VersionStore
from reproduction.experiments.pedestrians.protocol import METHODS, error, train
from reproduction.experiments.pedestrians.train_groups import natural_groups

LAYOUT = HogLayout(levels=((2, 1), (12, 6)), blocks=(2, 1))


@pytest.fixture(scope="module")
def sets(acquired):
    return {name: read_crop_set(acquired("daimler_pedestrians"), name) for name in ("1", "3", "T2")}


def test_duplicates_of_the_base_images(sets):
    assert len(np.unique(sets["1"].base, axis=0)) == 800
    assert 4800 - len(np.unique(sets["T2"].pedestrians, axis=0)) == 6
    assert 800 - len(np.unique(sets["T2"].base, axis=0)) == 1


def test_mirrored_files_have_mirrored_descriptors(sets):
    crops = sets["1"].pedestrians
    assert np.array_equal(small_hog(crops[1::6], LAYOUT), small_hog(crops[::6], LAYOUT)[:, LAYOUT.mirror])


def test_groups_are_runs_of_consecutive_images(sets):
    """Files are in the order of the videos: most members of a group have a neighbour in it."""
    (groups,) = natural_groups(small_hog(sets["1"].base, LAYOUT), [200])
    near = [
        np.isin(groups[i], groups[max(i - 3, 0) : i]) or groups[i] in groups[i + 1 : i + 4]
        for i in range(800)
    ]
    shuffled = np.random.default_rng(0).permutation(groups)
    by_chance = [shuffled[i] in shuffled[i + 1 : i + 4] for i in range(800)]
    assert np.mean(near) > 0.7
    assert np.mean(by_chance) < 0.2


def test_versions_help_on_another_training_set(sets, tmp_path):
    crops = np.concatenate([sets["1"].base, sets["1"].others[::2]])
    y = np.repeat([1, -1], [800, 2500])
    bags = VersionStore(tmp_path, crops, LAYOUT).bags(VERSIONS[:2])
    other = small_hog(np.concatenate([sets["3"].base, sets["3"].others]), LAYOUT)
    labels = np.repeat([1, -1], [800, 5000])
    errors = {
        name: error(labels, train(METHODS[name], bags, y, 1.0, 0.01).decision_function(other))
        for name in ("none", "flip")
    }
    assert 5 < errors["flip"] < errors["none"] < 20
