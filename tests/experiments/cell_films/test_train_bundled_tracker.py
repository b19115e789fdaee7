"""The bundled trackers are trained on all films, and each data set is tracked by one that is not."""

import pytest

from ermlab.tracking import CellTracker
from ermlab.tracking.events import Gates
from ermlab.tracking.films import CellFilm
from reproduction.experiments.cell_films import train_bundled_tracker


@pytest.fixture
def inputs(moving_cells, tmp_path):
    found = {}
    for dataset, counts in {"a": (25, 26), "b": (27,), "c": (28,)}.items():
        found[dataset] = [tmp_path / f"{dataset}{n}.npz" for n in counts]
        for path, n in zip(found[dataset], counts, strict=True):
            moving_cells(n, n=n, n_frames=8, step=1.0).write(path)
    return found


def test_a_data_set_is_scored_by_trackers_of_the_others(inputs, tmp_path, monkeypatch):
    trained, train = [], train_bundled_tracker.train_tracker

    def recorded(pairs, penalty, **options):
        trained.append((penalty.alpha, sorted({pair.hypotheses.n_sources for pair in pairs}), len(pairs)))
        return train(pairs, penalty, **options)

    monkeypatch.setattr(train_bundled_tracker, "train_tracker", recorded)
    monkeypatch.setattr(train_bundled_tracker, "THINNED", 2)
    outputs = {name: tmp_path / f"{name}.json" for name in ("model", "points")}
    train_bundled_tracker.main(inputs, outputs)
    sets = ([27, 28], [25, 26, 28], [25, 26, 27])
    # Of 7 pairs of all frames and 3 of every second one every second; two frames are left of every fourth.
    expected = [(cells, 6 * len(cells)) for cells in sets]
    tried = [alpha for alpha, _, _ in trained[::3]]
    assert set(train_bundled_tracker.ALPHAS) <= set(tried)
    for k, alpha in enumerate(tried):
        assert trained[3 * k : 3 * k + 3] == [(alpha, cells, n) for cells, n in expected]
    for path in outputs.values():
        tracker = CellTracker.load(path)
        assert "trained on a, b, c, every 1 and 2 and 4 frames" in tracker.notes_
        assert "chosen on data sets left out" in tracker.notes_
        assert tracker.alpha in tried
        assert tracker.known_.motion > 0
        assert len(tracker.predict(CellFilm.read(inputs["c"][0])).label) == 28 * 8
    assert tracker.known_.area == 0
    assert tracker.gates == train_bundled_tracker.POINTS


def test_the_strength_is_the_best_on_average():
    scores = {1.0: {"a": 0.9, "b": 0.8, "c": 0.5}, 0.1: {"a": 0.95, "b": 0.7, "c": 0.55}}
    assert train_bundled_tracker.choose(scores) == 1.0
    assert train_bundled_tracker.choose(scores, without="b") == 0.1
    assert train_bundled_tracker.choose({0.1: {"a": 0.5}, 1.0: {"a": 0.5}}) == 1.0


def test_films_of_a_data_set_count_alike(moving_cells, monkeypatch):
    films = {name: [moving_cells(n, n=n, n_frames=5, step=1.0)] for name, n in (("a", 6), ("b", 30))}
    films["b"].append(moving_cells(7, n=7, n_frames=5, step=1.0))
    # A tracker that finds as many events as a film has cells: the mean over films, not over events.
    monkeypatch.setattr(CellTracker, "score", lambda self, films: len(films[0].frame) / 5 / 100)
    for shares in train_bundled_tracker.left_out(films, Gates()).values():
        assert shares == pytest.approx({"a": 0.06, "b": (0.3 + 0.07) / 2})
