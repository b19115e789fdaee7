"""The studies of films and of pictures learn what they should from what they may."""

import numpy as np
import pytest

from ermlab.evaluation.weight_maps import target_share
from ermlab.features.haxby import HaxbySeries
from ermlab.features.movie_series import MovieSeries
from ermlab.regularization.laplacian_cca_protocol import Settings
from ermlab.regularization.movie_study import (
    PUBLISHED_EXPERIMENTS,
    SETS,
    TARGETS,
    VARIABLES,
    Folds,
    both_protocols,
    film_maps,
    study_film,
    study_haxby,
)

SETTINGS = Settings(eps=(1e-2, 1.0), gamma=(0.01, 1.0), permutations=2)
FOLDS = Folds(outer=3, inner=2, gap=2)


@pytest.fixture(scope="module")
def film():
    """Sixty voxels, ten for each label and none else, in noise."""
    rng = np.random.default_rng(0)
    labels = rng.standard_normal((90, 6))
    regions = np.repeat(np.arange(1, 7), 10)
    volumes = 0.7 * labels[:, regions - 1] + rng.standard_normal((90, 60))
    return MovieSeries(
        volumes.astype(np.float32),
        rng.standard_normal((40, 60)).astype(np.float32),
        labels,
        np.array(VARIABLES),
        np.ones((60, 1, 1), dtype=bool),
        np.eye(4),
        regions,
        np.array(VARIABLES),
        np.zeros((2, 2)),
    )


def test_every_label_is_found_in_its_region(film):
    study = study_film(film, SETTINGS, FOLDS)
    means = study.means("folds")
    assert set(means.columns) == {*VARIABLES, *SETS}
    assert (means > 0.6).all(axis=None)
    for (target, _), weights in film_maps(film, study).items():
        assert target_share(weights, film.region(*TARGETS[target])) > 0.8
    assert len(film_maps(film, study)) == len(TARGETS) * len(PUBLISHED_EXPERIMENTS)


def test_both_protocols_are_told_apart(film):
    fair = study_film(film, SETTINGS, FOLDS, sets=False, variants=["exp1"], criteria=["folds"])
    permuted = study_film(
        film, SETTINGS, FOLDS, permuted=True, sets=False, variants=["exp1"], criteria=["folds"]
    )
    table = both_protocols(fair, permuted)
    assert table.groupby("protocol").size().to_dict() == {"fair": 18, "permuted": 18}
    assert not fair.table["correlation"].equals(permuted.table["correlation"])


def scan(runs=8):
    rng = np.random.default_rng(1)
    numbers = np.repeat(np.arange(runs), 16)
    categories = np.tile(np.repeat(np.eye(2), 8, axis=0), (runs, 1)) - 0.5
    volumes = categories @ rng.standard_normal((2, 20)) + rng.standard_normal((16 * runs, 20))
    return HaxbySeries(volumes, categories, ("face", "house"), numbers)


def test_every_second_run_is_paired_and_held_out_once():
    table = study_haxby(scan(), 8, SETTINGS).table
    assert set(table["output"]) == {"face", "house", "face_house"}
    assert table["fold"].nunique() == 4
    assert table["correlation"].mean() > 0.7
    assert study_haxby(scan(), 6, SETTINGS).table["fold"].nunique() == 3


def test_labels_of_unpaired_runs_are_never_seen():
    changed = scan()
    changed.categories[changed.runs % 2 == 1] = np.nan
    assert study_haxby(changed, 8, SETTINGS).table.equals(study_haxby(scan(), 8, SETTINGS).table)


@pytest.mark.parametrize("runs", [4, 9])
def test_too_few_or_too_many_runs_are_refused(runs):
    with pytest.raises(ValueError, match=f"runs is {runs}: expected 6 to 8"):
        study_haxby(scan(), runs, SETTINGS)


def test_folds_are_taken_out_of_a_larger_mapping():
    assert Folds.of({"outer": 3, "inner": 2, "gap": 2, "eps": []}) == FOLDS
