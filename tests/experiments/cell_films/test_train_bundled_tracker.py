"""The bundled tracker is trained on all films, and each data set is tracked by one that is not."""

from ermlab.tracking import CellTracker
from ermlab.tracking.films import CellFilm
from reproduction.experiments.cell_films import train_bundled_tracker


def test_a_data_set_is_scored_by_a_tracker_of_the_others(moving_cells, tmp_path, monkeypatch):
    sizes = {"a": (5, 6), "b": (7,), "c": (8,)}
    inputs = {}
    for dataset, counts in sizes.items():
        inputs[dataset] = [tmp_path / f"{dataset}{n}.npz" for n in counts]
        for path, n in zip(inputs[dataset], counts, strict=True):
            moving_cells(n, n=n, n_frames=2).write(path)
    trained = []
    fit = CellTracker.fit

    def recorded(tracker, films):
        trained.append([film.tracks[:, 1].max() for film in films])
        return fit(tracker, films)

    monkeypatch.setattr(CellTracker, "fit", recorded)
    monkeypatch.setattr(CellTracker, "score", lambda tracker, films: len(films) / 4)
    train_bundled_tracker.main(inputs, {"model": tmp_path / "model.json"})
    assert trained == [[7, 8], [5, 6, 8], [5, 6, 7], [5, 6, 7, 8]]
    text = (tmp_path / "model.json").read_text()
    assert "trained on a, b, c;" in text
    assert "it finds: a 50.0 %, b 25.0 %, c 25.0 %" in text
    tracker = CellTracker.load(tmp_path / "model.json")
    assert len(tracker.predict(CellFilm.read(inputs["c"][0])).label) == 16
