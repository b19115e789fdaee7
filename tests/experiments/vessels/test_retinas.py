"""The photographs that all stages share: parts, folds, pixels, files."""

import numpy as np
import pytest

from ermlab.exceptions import DataError
from reproduction.datasets.drive_vessels import SIZES, read_drive_vessels, simulate_drive_vessels
from reproduction.experiments.vessels.retinas import Retinas


def test_parts_and_folds_are_disjoint(retinas):
    assert retinas.test_indices.tolist() == [8, 9, 10]
    assert retinas.validation_indices.tolist() == [3, 7]
    assert retinas.fitting_indices.tolist() == [0, 1, 2, 4, 5, 6]
    assert sorted(np.concatenate(retinas.folds).tolist()) == list(range(8))


def test_pixels_of_photographs_follow_each_other(retinas):
    pixels = np.arange(retinas.n_pixels)
    assert (
        np.concatenate([pixels[retinas.pixels(i)] for i in range(len(retinas))]).tolist() == pixels.tolist()
    )
    image = retinas.as_image(4, retinas.truth(4))
    np.testing.assert_array_equal(image, retinas.first[4] & retinas.fields[4])


def test_written_and_read(retinas, tmp_path):
    retinas.write(tmp_path / "retinas.npz")
    again = Retinas.read(tmp_path / "retinas.npz")
    np.testing.assert_array_equal(again.images, retinas.images)
    np.testing.assert_array_equal(again.second, retinas.second)


@pytest.fixture
def simulated(tmp_path, monkeypatch):
    monkeypatch.setitem(SIZES, "tiny", (2, 80))
    simulate_drive_vessels(tmp_path, 0, "tiny")
    return tmp_path


def test_the_first_photographs_of_each_part_are_selected(simulated):
    data = read_drive_vessels(simulated)
    chosen = Retinas.select(data, 1)
    assert chosen.numbers.tolist() == [21, 1]
    assert chosen.test.tolist() == [False, True]
    assert not chosen.second[0].any()
    np.testing.assert_array_equal(chosen.second[1], data.test.second[0])
    assert len(Retinas.select(data, 100)) == 4


def test_photographs_of_different_size(simulated, tmp_path, monkeypatch):
    monkeypatch.setitem(SIZES, "other", (2, 90))
    simulate_drive_vessels(tmp_path / "other", 0, "other")
    for path in (tmp_path / "other/test").rglob("02_*"):
        (simulated / path.relative_to(tmp_path / "other")).write_bytes(path.read_bytes())
    with pytest.raises(DataError, match=r"02_test.tif: shape \(90, 87, 3\); expected \(80, 77, 3\)"):
        Retinas.select(read_drive_vessels(simulated), 2)
