"""Films of migrating cells are written for each step between frames."""

import numpy as np
import pytest

from ermlab.tracking.ctc import Lineage, TrackedCells
from ermlab.tracking.films import CellFilm
from reproduction.claims.results import write_json
from reproduction.datasets.cell_migration import FEATURES, CellMigration, Detections, Sequence
from reproduction.experiments.cell_films import prepare_migration


def sequence(step):
    """Return two detections, of which the second has no track; all features are different."""
    features = 10 * np.arange(2)[:, None] + np.arange(len(FEATURES)) + 100 * step
    centroid = np.array([[1.0, 2.0], [3.0, 4.0]])
    found = Detections(np.array([0, 1]), np.array([1, 1]), centroid, features, np.array([8, 0]))
    return Sequence(step, found, Lineage(*np.array([[8, 0, 0, 0]]).T))


def test_each_step_has_its_film(tmp_path, monkeypatch):
    data = CellMigration(
        TrackedCells([np.zeros((30, 40), dtype=int)], Lineage.empty()),
        {step: sequence(step) for step in (1, 2, 4)},
        np.zeros(0),
        np.zeros(0),
    )
    monkeypatch.setattr(prepare_migration.cell_migration, "read_cell_migration", lambda folder: data)
    write_json(tmp_path / "receipt.json", {"folder": "anywhere"})
    paths = [tmp_path / "two.npz", tmp_path / "four.npz"]
    prepare_migration.main({"receipt": tmp_path / "receipt.json"}, {"films": paths}, steps=[2, 4])
    for step, path in zip((2, 4), paths, strict=True):
        film = CellFilm.read(path)
        assert film.shape.tolist() == [30, 40]
        assert film.tracks.tolist() == [[0, 8]]
        assert film.position.tolist() == [[1.0, 2.0], [3.0, 4.0]]
        assert film.area.tolist() == pytest.approx([100 * step, 100 * step + 10])
        assert film.intensity.tolist() == pytest.approx([100 * step + 1, 100 * step + 11])
        assert film.eccentricity.tolist() == pytest.approx([100 * step + 3, 100 * step + 13])
