"""The estimator: learns, tracks films and images, and is kept in a text file."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from ermlab.exceptions import DataError
from ermlab.tracking.cell_detection import DetectionSettings
from ermlab.tracking.cell_tracker import CellTracker
from ermlab.tracking.cells import film_of_masks
from ermlab.tracking.events import Gates
from ermlab.tracking.films import frame_pairs
from reproduction.datasets.ctc_sim_truth import read_ctc_sim_truth, simulate_ctc_sim_truth


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    folder = tmp_path_factory.mktemp("truth")
    simulate_ctc_sim_truth(folder, 3, "smoke")
    return film_of_masks(read_ctc_sim_truth(folder))


@pytest.fixture(scope="module")
def tracker(film):
    return CellTracker(n_jobs=1).fit(film)


def moving_discs(n_frames=4):
    """Return images of three bright discs that move to the right; the second frame shows none."""
    row, column = np.indices((90, 130))
    images = np.random.default_rng(0).normal(100, 2, (n_frames, 90, 130))
    for t, image in enumerate(images):
        for y, x in (20, 30), (45, 60), (70, 25):
            image += 80 * (np.hypot(row - y, column - x - 2 * t) < 8) * (t != 1)
    return images


def test_what_was_learned_is_found_again(film, tracker):
    assert tracker.score(film) > 0.95
    tracks = tracker.predict(film)
    assert tracks.label.shape == film.frame.shape
    true = film.tracks[:, 1]
    assert len(np.unique(np.column_stack([tracks.label, true]), axis=0)) <= len(np.unique(true)) + 2


def test_a_few_events_are_enough_to_learn(film):
    pairs = frame_pairs(film, Gates())
    few = [pair.annotation.events[::4] for pair in pairs]
    partly = CellTracker(n_jobs=1).fit([film], [few])
    assert partly.score([film]) > 0.95
    for films, annotations, message in (
        ([film], [few[:1]], f"annotations of 1 pairs of frames of film 0: expected {len(pairs)}"),
        ([film, film], [[*few, *few]], "annotations of 1 films: expected 2"),
        (film, few, f"annotations of {len(pairs)} films: expected 1"),
    ):
        with pytest.raises(ValueError, match=message):
            CellTracker().fit(films, annotations)


def test_annotations_are_numbers_of_events(film):
    """Marks would be taken for the events 0 and 1, and what is no event would be left out."""
    every = [pair.annotation.events for pair in frame_pairs(film, Gates())]
    for wrong, message in (
        (np.append(every[1], 10**6), r"events has \[1000000\]: expected indices 0 to"),
        (np.append(every[1], -1), r"events has \[-1\]: expected indices 0 to"),
        (np.arange(500) < 3, "of bool: expected a list of indices"),
    ):
        with pytest.raises(ValueError, match=message):
            CellTracker().fit(film, [[every[0], wrong, *every[2:]]])


def test_images_are_tracked_and_an_empty_frame_is_legal(tracker):
    images = moving_discs()
    masks, lineage = tracker.track_images(images)
    assert [len(np.unique(mask)) - 1 for mask in masks] == [3, 0, 3, 3]
    assert lineage.rows() == [[label, 0, 0, 0] for label in (1, 2, 3)] + [
        [label, 2, 3, 0] for label in (4, 5, 6)
    ]
    for y, x in (20, 30), (45, 60), (70, 25):
        assert masks[2][y, x + 4] == masks[3][y, x + 6] > 3
    assert tracker.predict(images).label.tolist() == [1, 2, 3, 4, 5, 6, 4, 5, 6]


def test_films_without_cells_or_of_one_frame_are_legal(tracker):
    empty = np.random.default_rng(0).normal(100, 2, (3, 60, 60))
    masks, lineage = tracker.track_images(empty)
    assert len(lineage) == 0
    assert not np.any(masks)
    assert len(tracker.track_images(moving_discs()[:1])[1]) == 3
    with pytest.raises(ValueError, match="no frames"):
        tracker.track_images([])


def test_threads_do_not_matter(film, tracker):
    np.testing.assert_array_equal(CellTracker(n_jobs=2).fit(film).coef_, tracker.coef_)


def test_settings_are_obeyed(film, tracker):
    tight = clone(tracker).set_params(gates=Gates(move=0.01))
    tight.coef_ = tracker.coef_
    assert tight.score(film) < 0.5
    assert len(tight.predict(film).lineage) > 2 * len(tracker.predict(film).lineage)
    blind = clone(tracker).set_params(detection=DetectionSettings(contrast=1e4))
    blind.coef_ = tracker.coef_
    assert len(tracker.predict(moving_discs()).label) == 9
    assert len(blind.predict(moving_discs()).label) == len(blind.track_images(moving_discs())[1]) == 0
    assert np.abs(clone(tracker).set_params(tol=0.5).fit(film).coef_ - tracker.coef_).max() > 1e-3


def test_l1_leaves_features_out(film, tracker):
    sparse = CellTracker(norm="l1", alpha=1e-2, n_jobs=1).fit(film)
    assert np.sum(sparse.coef_ == 0) > np.sum(tracker.coef_ == 0)


def test_conventions_of_scikit_learn(film, tmp_path):
    tracker = CellTracker(alpha=0.5, gates=Gates(n_neighbors=3))
    assert clone(tracker).get_params() == tracker.get_params()
    for use in (
        tracker.predict,
        tracker.score,
        tracker.track_images,
        lambda _: tracker.save(tmp_path / "t.json"),
    ):
        with pytest.raises(NotFittedError):
            use(film)
    assert not (tmp_path / "t.json").exists()
    with pytest.raises(ValueError, match="norm is 'l3': expected one of l1, l2"):
        CellTracker(norm="l3").fit(film)
    with pytest.raises(ValueError, match="no pairs of frames"):
        CellTracker().fit([])


def test_a_tracker_comes_back_as_it_was_saved(film, tmp_path):
    settings = {"gates": Gates(n_neighbors=4), "detection": DetectionSettings(diameter=17), "alpha": 0.01}
    tracker = CellTracker(n_jobs=1, **settings).fit(film)
    tracker.save(tmp_path / "tracker.json", notes="mine")
    again = CellTracker.load(tmp_path / "tracker.json")
    assert again.get_params() == tracker.get_params() | {"n_jobs": None}
    np.testing.assert_array_equal(again.coef_, tracker.coef_)
    document = json.loads((tmp_path / "tracker.json").read_text())
    assert document["notes"] == "mine"
    assert document["weights"]["move"]["distance"] == tracker.coef_[1]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d.pop("format"), "another format"),
        (lambda d: d["parameters"].pop("alpha"), "parameters .*'alpha'"),
        (lambda d: d["parameters"].update(gates={"reach": 3}), "parameters .*reach"),
        (lambda d: d["parameters"].update(gates={"n_neighbors": 0}), "parameters .*n_neighbors is 0"),
        (lambda d: d.update(parameters=None), "parameters None"),
        (lambda d: d["weights"].pop("move"), "weights: events or features differ"),
        (lambda d: d["weights"]["move"].pop("one"), "weights: events or features differ"),
        (lambda d: d["weights"]["move"].update(one=float("nan")), "weights: not finite"),
        (lambda d: d["weights"]["move"].update(one="large"), "weights: could not convert"),
        (lambda d: d.update(weights=[1, 2]), "weights: 'list'"),
    ],
)
def test_files_that_are_no_trackers_are_refused(tracker, tmp_path, damage, message):
    path = tmp_path / "tracker.json"
    tracker.save(path)
    document = json.loads(path.read_text())
    damage(document)
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match=rf"tracker\.json: {message}"):
        CellTracker.load(path)


def test_missing_and_cut_files_are_refused(tracker, tmp_path):
    path = tmp_path / "tracker.json"
    with pytest.raises(DataError, match=r"tracker\.json: No such file"):
        CellTracker.load(path)
    tracker.save(path)
    path.write_text(path.read_text()[:50])
    with pytest.raises(DataError, match=r"tracker\.json, line \d+: .*; expected valid JSON"):
        CellTracker.load(path)
    path.write_text("[]")
    with pytest.raises(DataError, match="another format"):
        CellTracker.load(path)


def test_the_shipped_tracker_knows_simulated_and_drawn_cells(film):
    shipped = CellTracker.pretrained()
    assert shipped.score(film) > 0.9
    assert len(shipped.track_images(moving_discs()[2:])[1]) == 3


def test_limits_and_progress_of_training(film, capsys):
    with pytest.warns(ConvergenceWarning, match="raise max_time or tol"):
        CellTracker(tol=1e-9, max_time=1e-9, verbose=True).fit(film)
    assert capsys.readouterr().out.startswith("[CellTracker] ")
