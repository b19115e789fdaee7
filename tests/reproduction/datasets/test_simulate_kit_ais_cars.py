"""Simulated frames are read like the real ones, show cars in their boxes, and depend on the seed alone."""

import numpy as np
import pytest

from reproduction.datasets import kit_ais_cars
from reproduction.datasets.kit_ais_cars import CAR, SIZES, read_kit_ais_cars, simulate_kit_ais_cars
from reproduction.datasets.simulators import aerial_scenes as aerial
from reproduction.datasets.simulators.scenes.noise import Noise


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kit")
    simulate_kit_ais_cars(folder, 5, "smoke")
    return folder


def test_the_reader_finds_three_scenes_with_cars(simulated):
    data = read_kit_ais_cars(simulated)
    assert sorted(set(data.scenes)) == ["MOS155-158", "MOS74-76", "MunichStreet02"]
    for frame, image in enumerate(data.images):
        height, width = image.shape[:2]
        cars = data.cars(frame)
        assert len(cars) >= 5
        sizes = cars[:, 2:] - cars[:, :2] + 1
        inside = (cars[:, :2] > 1).all(axis=1) & (cars[:, 2:] < (width - 2, height - 2)).all(axis=1)
        # Upright or lying, a car is 30 to 38 pixels long; turned, its box is nearer to a square.
        assert (sizes[inside].max(axis=1) > 20).all()
        assert (sizes[inside].max(axis=1) < 42).all()


def test_files_are_named_as_the_real_ones(simulated):
    names = {path.name for path in simulated.iterdir()}
    stems = {"MOS155", "MOS158", "MOS74", "MOS76", "MunichStreet02-MOS74", "MunichStreet02-MOS76"}
    assert names == {f"{stem}{ending}" for stem in stems for ending in (".png", ".txt")}


def test_paper_size_is_that_of_the_real_data():
    most, widest = SIZES["paper"]
    assert [min(scene.frames, most) for scene in kit_ais_cars._SCENES] == [9, 10, 10]
    assert max(scene.shape[1] for scene in kit_ais_cars._SCENES) <= widest


def test_same_bytes_for_a_seed_and_a_smaller_set_begins_a_larger_one(
    simulated, tmp_path, contents, monkeypatch
):
    monkeypatch.setitem(SIZES, "tiny", (1, 460))
    simulate_kit_ais_cars(tmp_path / "again", 5, "tiny")
    simulate_kit_ais_cars(tmp_path / "other", 6, "tiny")
    whole, again, other = contents(simulated), contents(tmp_path / "again"), contents(tmp_path / "other")
    assert len(again) == 6
    assert all(again[name] == whole[name] for name in again)
    assert not any(again[name] == other[name] for name in again)


def test_frames_of_a_scene_show_the_same_place_with_the_traffic_moved(simulated):
    data = read_kit_ais_cars(simulated)
    first, second = (data.images[i].astype(float) for i in (0, 1))
    other = data.images[2].astype(float)[: first.shape[0], : first.shape[1]]
    strange = np.abs(first[: other.shape[0]] - other).mean()
    assert 0 < np.abs(first - second).mean() < 0.5 * strange
    assert not np.array_equal(data.cars(0), data.cars(1))


@pytest.mark.parametrize("angle", [0.0, 0.7, 2.5])
def test_a_car_is_where_its_box_is(angle):
    rng = np.random.default_rng(3)
    noise = Noise(rng)
    light = aerial.Light(1.0, 0.0, 0.0)
    sketch = aerial.draw_vehicle(np.random.default_rng(1))[0]
    car = aerial.Vehicle(8.0, 6.0, angle, sketch, CAR)
    place = aerial.Place(np.full((90, 120, 3), 0.5, dtype=np.float32), light, (car,))
    canvas = aerial.Canvas(place.ground.copy())
    aerial._paint(canvas, car.placed(0), light, noise, rng)
    rows, columns = np.nonzero(np.abs(canvas.image - 0.5).max(axis=2) > 0.02)
    _, labels, boxes = aerial.draw_frame(place, 0, noise, [0], rng)
    assert labels.tolist() == [CAR]
    np.testing.assert_allclose(boxes[0], [columns.min(), rows.min(), columns.max(), rows.max()], atol=2)
    np.testing.assert_allclose(boxes[0, :2] / 2 + boxes[0, 2:] / 2, (62.4, 90 - 46.8), atol=1)


def test_a_vehicle_drives_along_its_heading():
    sketch = aerial.draw_vehicle(np.random.default_rng(1))[0]
    left, bottom, right, top = aerial.Vehicle(5, 5, np.pi / 2, sketch, CAR, step=2.0).placed(3).bounds()
    np.testing.assert_allclose([(left + right) / 2, (bottom + top) / 2], [5, 11], atol=0.1)


@pytest.mark.parametrize("size", ["huge", "", "Demo"])
def test_unknown_size(tmp_path, size):
    with pytest.raises(ValueError, match=f"size is '{size}': expected one of smoke, demo, paper"):
        simulate_kit_ais_cars(tmp_path, 0, size)
    assert not any(tmp_path.iterdir())
