"""Films are compared with those in training: reliable measurements, unfamiliar motion, interrupted tracks."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

from ermlab.exceptions import DataError
from ermlab.tracking import (
    CellFilm,
    CellTracker,
    CellTracks,
    FilmStatistics,
    Lineage,
    UnfamiliarFilmWarning,
    film_statistics,
)
from ermlab.tracking.film_fit import calibrate, known_range


def with_noise(film, seed, **widths):
    """Return a film whose measurements have multiplicative noise."""
    rng = np.random.default_rng(seed)
    noisy = {
        name: getattr(film, name) * np.exp(rng.normal(0, w, len(film.frame))) for name, w in widths.items()
    }
    return replace(film, **noisy)


@pytest.fixture(scope="module")
def film(moving_cells):
    return moving_cells(0, n=60, n_frames=12, step=2.0)


@pytest.fixture(scope="module")
def tracker(film):
    return CellTracker(n_jobs=1).fit(film)


def test_changes_are_those_of_the_noise(film):
    clean = film_statistics(film)
    assert clean.area < 0.05  # a few links are wrong
    assert clean.intensity < 0.05
    for width in (0.1, 0.5):
        found = film_statistics(with_noise(film, 1, intensity=width, area=2 * width))
        # The mean absolute difference of two normal variables is 2 / sqrt(pi) standard deviations.
        np.testing.assert_allclose(found.intensity, 2 * width / np.sqrt(np.pi), rtol=0.1)
        np.testing.assert_allclose(found.area, 4 * width / np.sqrt(np.pi), rtol=0.1)


def test_scale_and_exposure_do_not_matter(film):
    large = replace(
        film,
        position=3 * film.position,
        area=9 * film.area,
        intensity=1e3 * film.intensity,
        shape=3 * film.shape,
    )
    ours, theirs = film_statistics(film), film_statistics(large)
    for name in ("area", "intensity", "eccentricity", "motion"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-12)


def test_motion_is_relative_to_the_neighbors(moving_cells):
    still = moving_cells(0, n=60, n_frames=5, step=1e-9)
    assert film_statistics(still).motion < 1e-6
    rng = np.random.default_rng(0)
    chaos = replace(still, position=rng.uniform(0, 199, still.position.shape))
    # The nearest of as many random points is as far as the nearest neighbor.
    assert 0.7 < film_statistics(chaos).motion < 1.4
    motions = [film_statistics(moving_cells(0, n=60, step=step)).motion for step in (0.5, 2, 8)]
    assert motions == sorted(motions)


def test_interrupted_tracks_are_counted():
    # A cell at the center that is tracked anew in frame 2 of 4, and one at the border.
    center, border = np.tile([50.0, 50.0], (4, 1)), np.tile([1.0, 50.0], (4, 1))
    film = CellFilm(
        frame=np.repeat(np.arange(4), 2),
        position=np.stack([center, border], axis=1).reshape(-1, 2),
        area=np.full(8, 100.0),
        intensity=np.ones(8),
        eccentricity=np.zeros(8),
        shape=np.array([100, 100]),
        n_frames=4,
        tracks=np.zeros((0, 2), dtype=int),
        lineage=np.zeros((0, 4), dtype=int),
    )
    broken = Lineage(*np.array([[1, 0, 1, 0], [2, 0, 1, 0], [3, 2, 3, 0], [4, 2, 3, 0]]).T)
    label = np.array([1, 2, 1, 2, 3, 4, 3, 4])
    # The cell inside could end in three frames and begin in three; it does once each.
    assert film_statistics(film, CellTracks(label, broken)).interrupted == 2 / 6
    divided = replace(broken, parent=np.array([0, 0, 1, 2]))
    assert film_statistics(film, CellTracks(label, divided)).interrupted == 0
    whole = Lineage(*np.array([[1, 0, 3, 0], [2, 0, 3, 0]]).T)
    assert film_statistics(film, CellTracks(np.tile([1, 2], 4), whole)).interrupted == 0


def test_a_calibrated_film_is_as_reliable_as_known(film):
    known = FilmStatistics(area=0.1, intensity=0.05, eccentricity=0.1, motion=1)
    same, report = calibrate(film, known)
    assert same is film
    assert set(report.scales.values()) == {1.0}
    noisy = with_noise(film, 1, intensity=0.8, area=0.3)
    found, report = calibrate(noisy, known)
    again = film_statistics(found)
    np.testing.assert_allclose([again.intensity, again.area], [0.05, 0.1], rtol=0.02)
    np.testing.assert_allclose(report.scales["intensity"], 0.05 / film_statistics(noisy).intensity)
    # Lengths are relative to the median; with an even number of cells it is a mean.
    np.testing.assert_allclose(np.median(found.area), np.median(noisy.area), rtol=1e-4)
    assert report.scales["eccentricity"] == 1


def test_few_links_calibrate_nothing(film, moving_cells):
    few = with_noise(moving_cells(0, n=5, n_frames=3, step=1.0), 1, intensity=2.0)
    same, report = calibrate(few, FilmStatistics(intensity=0.01))
    assert same is few
    assert report.n_links < 20
    # What was constant in training has no scale.
    assert calibrate(with_noise(film, 1, intensity=0.5), FilmStatistics())[1].scales["intensity"] == 1


def test_extreme_measurements_stay_finite(film):
    rng = np.random.default_rng(0)
    wild = replace(film, intensity=10.0 ** rng.uniform(-99, 99, len(film.frame)))
    found, report = calibrate(wild, FilmStatistics(area=0.1, intensity=0.05, eccentricity=0.1, motion=1))
    assert np.isfinite(found.intensity).all()
    assert 0 < report.scales["intensity"] < 0.02


def test_unreliable_intensities_do_no_harm(film, tracker, moving_cells):
    """The reason for calibration: a tracker that trusts intensities is misled by noisy ones."""
    other = moving_cells(5, n=60, n_frames=12, step=2.0)
    noisy = with_noise(other, 1, intensity=1.0)
    naive = CellTracker(n_jobs=1)
    naive.coef_ = tracker.coef_
    assert tracker.score(other) > 0.97
    assert naive.score(noisy) < 0.9
    assert tracker.score(noisy) > naive.score(noisy) + 0.05
    labels = {name: one.predict(noisy).label for name, one in (("naive", naive), ("calibrated", tracker))}
    n_tracks = {name: len(np.unique(label)) for name, label in labels.items()}
    assert abs(n_tracks["calibrated"] - 60) < abs(n_tracks["naive"] - 60)
    assert tracker.report_.scales["intensity"] < 0.3


def test_unfamiliar_films_are_told(film, tracker, moving_cells):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tracker.predict(moving_cells(7, n=60, n_frames=12, step=2.0))
    assert tracker.report_.reasons == ()
    assert tracker.report_.known == tracker.known_
    fast = moving_cells(7, n=60, n_frames=12, step=25.0)
    with pytest.warns(UnfamiliarFilmWarning, match=r"cells move by .* \(known: up to .*`ermlab track-train`"):
        tracker.predict(fast)
    assert tracker.report_.found.motion > 1.1 * tracker.known_.motion
    assert len(tracker.report_.reasons) >= 1
    # A tracker that learned from such films knows them.
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnfamiliarFilmWarning)
        CellTracker(n_jobs=1).fit([film, fast]).predict(moving_cells(8, n=60, n_frames=12, step=25.0))


def test_the_range_is_the_largest_of_all_films():
    one, other = FilmStatistics(area=1, motion=2), FilmStatistics(area=3, intensity=1, motion=1)
    assert known_range([one, other]) == FilmStatistics(area=3, intensity=1, motion=2)


def test_what_is_known_is_saved(film, tracker, tmp_path):
    path = tmp_path / "tracker.json"
    tracker.save(path, notes="mine")
    again = CellTracker.load(path)
    assert again.known_ == tracker.known_
    assert again.notes_ == "mine"
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    document = json.loads(path.read_text())
    for known, message in (
        ({"area": -1}, "area is -1"),
        ({"area": float("nan")}, "area is nan"),
        ({"colour": 1}, "colour"),
        ([1], "AttributeError"),
    ):
        path.write_text(json.dumps(document | {"known": known}))
        with pytest.raises(DataError, match=rf"tracker\.json: known .*{message}"):
            CellTracker.load(path)
    del document["known"]  # as files were before
    path.write_text(json.dumps(document))
    old = CellTracker.load(path)
    assert old.known_ is None
    assert len(old.predict(film).label) == len(film.frame)
    assert old.report_ is None


def test_bundled_trackers_tell_their_quality():
    for kind in ("nuclei", "points"):
        tracker = CellTracker.pretrained(kind)
        assert "trained on the others, it finds:" in tracker.notes_
        assert tracker.known_.motion > 0
    assert tracker.known_.intensity == tracker.known_.area == 0
    with pytest.raises(ValueError, match="kind is 'cells': expected one of"):
        CellTracker.pretrained("cells")
