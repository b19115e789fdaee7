"""The studies of films and of pictures find what is there, and see no held-out or unpaired labels."""

import numpy as np
import pytest

from ermlab.fmri.weight_maps import target_share
from ermlab.metrics.splits import Sampling
from reproduction.experiments.fmri_studies.haxby import HaxbySeries
from reproduction.experiments.fmri_studies.movie_series import MovieSeries, cut_films, whole_films
from reproduction.experiments.laplacian_kcca.movie_study import (
    PUBLISHED_EXPERIMENTS,
    SETS,
    TARGETS,
    VARIABLES,
    film_maps,
    joined,
    study_films,
    study_haxby,
)
from reproduction.experiments.laplacian_kcca.protocol import (
    OUTPUT_SIDE,
    Settings,
    nested_splits,
    run_study,
)

SETTINGS = Settings(eps=(1e-2, 1.0), gamma=(0.01, 1.0), permutations=2)


@pytest.fixture(scope="module")
def film():
    """Sixty noisy voxels, ten for each label."""
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
    films = cut_films(film, 3, gap=2)
    results = study_films(films, 3, SETTINGS)
    rows = results.table[results.table["criterion"] == "folds"]
    means = rows.groupby(["experiment", "output"])["correlation"].mean()
    assert set(means.index.levels[1]) == {*VARIABLES, *SETS}
    assert (means > 0.6).all()
    maps = film_maps(films, results)
    assert len(maps) == len(TARGETS) * len(PUBLISHED_EXPERIMENTS)
    for (target, _), weights in maps.items():
        assert target_share(weights, film.region(*TARGETS[target])) > 0.8


def test_stretches_have_gaps_and_no_drifts(film):
    films = cut_films(film, 3, gap=4)
    assert np.bincount(films.stretches).tolist() == [28, 26, 28]
    assert len(films.paired) == len(films.labels) == 82
    assert len(films.unpaired) == len(film.film2)
    for number in range(3):
        here = films.stretches == number
        np.testing.assert_allclose(films.paired[here].mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(films.labels[here].mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(films.label("faces", "motion"), films.labels[:, [4, 0]])


def test_a_negative_gap_is_refused(film):
    with pytest.raises(ValueError, match="gap is -1"):
        cut_films(film, 3, gap=-1)


def test_both_protocols_are_in_one_table(film):
    options = {"sets": False, "variants": ["exp1"], "criteria": ["folds"]}
    fair = study_films(cut_films(film, 3, gap=2), 3, SETTINGS, **options)
    permuted = study_films(whole_films(film), 3, SETTINGS, permuted=True, **options)
    table = joined({"fair": fair, "permuted": permuted})
    assert table.groupby("protocol").size().to_dict() == {"fair": 18, "permuted": 18}
    assert not fair.table["correlation"].equals(permuted.table["correlation"])


def test_a_laplacian_of_the_outputs_changes_the_choices_for_sets(film):
    films = cut_films(film, 3, gap=2)
    options = {"variables": False, "criteria": ["folds"]}
    with_it, without = (
        study_films(films, 3, SETTINGS, variants=[name], **options).table for name in (OUTPUT_SIDE, "exp3")
    )
    assert set(with_it["output"]) == set(SETS)
    assert with_it["correlation"].mean() > 0.6
    assert not np.allclose(with_it["correlation"], without["correlation"])


def test_filters_over_the_whole_film_leak_and_stretches_do_not(film_of_nothing):
    # Over the whole film neither labels nor voxels have drifts. A model that fits the labels in the training
    # part has their drifts there, and therefore also in the test part.
    settings = Settings(eps=(1e-6,), gamma=(1.0,), permutations=1)
    options = {"sets": False, "variants": ["exp1"], "criteria": ["folds"]}
    whole, cut = [], []
    for seed in range(6):
        series = film_of_nothing(seed)
        films = cut_films(series, 5, gap=5)
        cut.append(study_films(films, 5, settings, **options).table["correlation"].mean())
        uncut = whole_films(series)
        sampling = Sampling("stretches", 300, gap=5)
        outputs = {name: uncut.label(name) for name in VARIABLES}
        splits = nested_splits(sampling, 5, 4)
        results = run_study(uncut.paired, uncut.unpaired, outputs, splits, settings, ["exp1"], ["folds"])
        whole.append(results.table["correlation"].mean())
    assert np.mean(whole) > 0.1
    assert abs(np.mean(cut)) < 0.05


def scan(runs=8):
    rng = np.random.default_rng(1)
    numbers = np.repeat(np.arange(runs), 16)
    categories = np.tile(np.repeat(np.eye(2), 8, axis=0), (runs, 1)) - 0.5
    volumes = categories @ rng.standard_normal((2, 20)) + rng.standard_normal((16 * runs, 20))
    mask = np.ones((20, 1, 1), dtype=bool)
    return HaxbySeries(volumes, categories, np.array(["face", "house"]), numbers, mask, np.eye(4))


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


def test_volumes_of_unpaired_runs_change_experiment_3_only():
    changed = scan()
    changed.volumes[changed.runs % 2 == 1] *= np.linspace(0.1, 3, 20)
    tables = [study_haxby(series, 8, SETTINGS).table for series in (scan(), changed)]
    before, after = (table.set_index("experiment")["correlation"] for table in tables)
    assert before.loc[["exp1", "exp2"]].equals(after.loc[["exp1", "exp2"]])
    assert not np.allclose(before.loc["exp3"], after.loc["exp3"])


@pytest.mark.parametrize("runs", [4, 9])
def test_too_few_or_too_many_runs_are_refused(runs):
    with pytest.raises(ValueError, match=f"runs is {runs}: expected 6 to 8"):
        study_haxby(scan(), runs, SETTINGS)
