"""Studies as rows of voxels: targets, places of voxels, scaling, and messages for broken input."""

from dataclasses import replace

import numpy as np
import pytest
from nibabel.affines import apply_affine

from ermlab.metrics.splits import Sampling
from reproduction.datasets.haxby2001_slice import HaxbySlice
from reproduction.datasets.wager2008_contrasts import WagerContrasts
from reproduction.experiments.fmri_studies.contrast_maps import ContrastMaps, join_contrasts
from reproduction.experiments.fmri_studies.haxby import prepare_haxby
from reproduction.experiments.fmri_studies.movie_series import MovieSeries, cut_films, whole_films
from reproduction.experiments.fmri_studies.studies import (
    Scaling,
    film_study,
    group_study,
    haxby_study,
    median_split,
    pool_voxels,
    reversed_labels,
    wager_study,
)

AFFINE = np.diag([4.0, 4, 4, 1])
AFFINE[:3, 3] = [-20, -40, 0]


@pytest.fixture
def contrasts():
    rng = np.random.default_rng(0)
    maps = rng.normal(size=(6, 27)).astype(np.float32)
    return ContrastMaps(
        maps,
        np.ones((3, 3, 3), dtype=bool),
        AFFINE,
        np.array(["cocaine", "control"] * 3),
        np.arange(27) < 4,
        np.zeros((6, 2)),
        np.array([True] * 5 + [False]),
    )


def test_groups_leave_out_subjects_who_moved(contrasts):
    study = group_study(contrasts, "cocaine")
    assert study.y.tolist() == [1, -1, 1, -1, 1]
    assert study.X.shape == (5, 27)
    assert study.region.sum() == 4
    with pytest.raises(ValueError, match=r"the groups kept are .*: expected two"):
        group_study(replace(contrasts, group=np.array(["control"] * 6)), "cocaine")


def test_joined_parts_have_the_voxels_common_to_all(contrasts):
    first = replace(contrasts, maps=contrasts.maps.copy())
    first.maps[2, 0] = np.nan
    both = join_contrasts([first, contrasts])
    assert both.maps.shape == (12, 26)
    assert not both.mask[0, 0, 0]
    assert both.mask.sum() == 26
    assert both.region.sum() == 3
    np.testing.assert_array_equal(both.maps[6:], contrasts.maps[:, 1:])
    with pytest.raises(ValueError, match="expected one grid"):
        join_contrasts([contrasts, replace(contrasts, affine=2 * AFFINE)])
    with pytest.raises(ValueError, match="no voxel is common to all 6 subjects"):
        join_contrasts([replace(contrasts, maps=np.full_like(contrasts.maps, np.nan))])


def test_pooled_voxels_are_means_of_their_cubes_at_their_middle():
    rng = np.random.default_rng(1)
    maps = rng.normal(size=(2, 4, 4, 3))
    mask = np.ones((4, 4, 3), dtype=bool)
    mask[0, 0, 0] = False
    mask[2:, 2:, :2] = False
    mask[3, 3, 1] = True
    maps[:, 0, 0, 0] = np.nan
    pooled, inside, affine = pool_voxels(maps, mask, AFFINE, 2)
    assert pooled.shape == (2, 2, 2, 2)
    np.testing.assert_allclose(pooled[:, 0, 0, 0], np.nanmean(maps[:, :2, :2, :2], axis=(1, 2, 3)), rtol=1e-6)
    np.testing.assert_allclose(pooled[:, 1, 0, 1], maps[:, 2:, :2, 2].mean(axis=(1, 2)), rtol=1e-6)
    assert inside[0, 0, 0]
    assert inside[1, 0, 1]  # half of the cube lies beyond the volume
    assert not inside[1, 1, 0]
    np.testing.assert_allclose(apply_affine(affine, [0, 0, 0]), apply_affine(AFFINE, [0.5] * 3))
    np.testing.assert_allclose(apply_affine(affine, [1, 1, 1]), apply_affine(AFFINE, [2.5] * 3))


def test_wager_maps_keep_the_brain():
    rng = np.random.default_rng(2)
    maps = rng.normal(size=(4, 12, 20, 10)).astype(np.float32)
    affine = np.diag([10.0, 10, 10, 1])
    affine[:3, 3] = [-60, -110, -20]
    mask = np.ones(maps.shape[1:], dtype=bool)
    data = WagerContrasts(maps, mask, affine, np.array([0.1, 0.4, 0.2, 0.3]), np.zeros(4))
    study = wager_study(data, 1)
    assert 0.2 < study.mask.mean() < 0.7
    assert not study.mask[0, 0, 0]
    np.testing.assert_array_equal(study.X, maps[:, study.mask])
    assert median_split(study).y.tolist() == [-1, 1, -1, 1]
    assert wager_study(data, 2).X.shape[1] < study.X.shape[1] / 4
    with pytest.raises(ValueError, match="pool is 0"):
        wager_study(data, 0)
    affine[0, 3] += 1000
    with pytest.raises(ValueError, match="no voxel lies in the MNI brain"):
        wager_study(data, 1)


def test_film_and_haxby_have_their_targets():
    rng = np.random.default_rng(3)
    film = MovieSeries(
        rng.normal(size=(5, 8)).astype(np.float32),
        np.zeros((5, 8), dtype=np.float32),
        rng.normal(size=(5, 2)),
        np.array(["faces", "temporal_contrast"]),
        np.ones((2, 2, 2), dtype=bool),
        AFFINE,
        np.array([0, 1, 2, 2, 0, 0, 0, 0]),
        np.array(["faces", "temporal_contrast"]),
        np.zeros((2, 2)),
    )
    study = film_study(film, whole_films(film))
    np.testing.assert_array_equal(study.y, film.labels[:, 1])
    np.testing.assert_array_equal(study.X, film.film1)
    assert np.flatnonzero(study.region).tolist() == [2, 3]
    control = film_study(reversed_labels(film), whole_films(reversed_labels(film)))
    assert control.y.tolist() == study.y.tolist()[::-1]
    np.testing.assert_array_equal(control.X, study.X)

    labels = np.array(["rest", "face", "face", "cat", "rest", "rest"] * 2)
    bold = rng.normal(size=(3, 2, 1, 12))
    runs = np.repeat([0, 1], 6)
    data = HaxbySlice(bold, np.ones((3, 2, 1), dtype=bool), labels, runs, AFFINE, 2.5)
    study = haxby_study(prepare_haxby(data))
    assert study.X.shape == (12, 6)
    faces = labels == "face"
    assert study.y[faces].min() > study.y[~faces].max()
    assert study.sampling("runs").runs.tolist() == runs.tolist()
    assert study.sampling("permuted").runs is None
    with pytest.raises(ValueError, match=r"categories \['face'\]: expected some of \['cat'\]"):
        haxby_study(prepare_haxby(replace(data, labels=np.where(faces, "cat", labels))))


def test_scaling_comes_from_the_training_part_and_survives_constant_features():
    X = np.column_stack([np.arange(4.0), np.full(4, 0.1), np.zeros(4)])
    scaled = Scaling.of(X)(X)
    np.testing.assert_allclose(scaled.std(axis=0), [1, 0, 0])
    np.testing.assert_allclose(Scaling.of(X)(X + 10.0)[:, 0], scaled[:, 0] + 10 / np.arange(4.0).std())


def test_without_signal_stretches_give_no_correlation_but_a_filter_over_the_whole_film_does(
    film_of_nothing, fit_closely
):
    def reached(study, split):
        weights = fit_closely(study.X[split.train], study.y[split.train])
        return np.corrcoef(study.X[split.test] @ weights, study.y[split.test])[0, 1]

    found = {"cut": [], "inside": [], "reversed": [], "whole": []}
    for seed in range(40):
        series = film_of_nothing(seed)
        whole = film_study(series, whole_films(series))
        stretches = Sampling("stretches", 300, gap=5).folds(np.arange(300), 5, 0)
        found["whole"] += [reached(whole, split) for split in stretches]
        for name, film in (("cut", series), ("reversed", reversed_labels(series))):
            study = film_study(film, cut_films(film, 5, gap=5))
            sampling = study.sampling(study.fair)
            for split in sampling.splits(5, 0.2, seed):
                assert len(set(study.runs[split.test])) == 1
                found[name].append(reached(study, split))
                if name == "cut":
                    found["inside"] += [reached(study, part) for part in sampling.folds(split.train, 4, 0)]
    assert np.mean(found["whole"]) > 0.1
    for name in ("cut", "inside", "reversed"):
        assert abs(np.mean(found[name])) < 0.06
