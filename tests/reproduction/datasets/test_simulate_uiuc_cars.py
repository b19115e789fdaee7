"""Simulated cars are read like the real ones, are where their boxes are, and depend on the seed alone."""

import numpy as np
import pytest

from reproduction.datasets import uiuc_cars
from reproduction.datasets.simulators import street_scenes as streets
from reproduction.datasets.simulators.scenes.noise import Noise
from reproduction.datasets.uiuc_cars import SIZES, read_uiuc_cars, simulate_uiuc_cars


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uiuc")
    simulate_uiuc_cars(folder, 5, "smoke")
    return folder


def test_the_reader_reads_what_is_simulated(simulated):
    data, size = read_uiuc_cars(simulated), SIZES["smoke"]
    assert data.cars.shape == (size.cars, 40, 100)
    assert data.others.shape == (size.others, 40, 100)
    for scenes, count in ((data.single_scale, size.single_scale), (data.multi_scale, size.multi_scale)):
        assert len(scenes.images) == count
        assert min(map(len, scenes.boxes)) == 1
        assert max(map(len, scenes.boxes)) == 2
    for image, boxes in zip(data.multi_scale.images, data.multi_scale.boxes, strict=True):
        widths = boxes[:, 2] - boxes[:, 0] + 1
        assert (widths >= 80).all()
        assert (boxes[:, 3] - boxes[:, 1] + 1 == np.round(0.4 * widths)).all()
        # Boxes may leave the image a little; cars stand side by side.
        assert (boxes[:, 0] >= -0.13 * widths).all()
        assert (boxes[:, 2] < image.shape[1] + 0.13 * widths).all()
        assert (boxes[1:, 0] > boxes[:-1, 2]).all()


def test_files_are_those_of_the_real_layout(simulated):
    names = {path.relative_to(simulated).as_posix() for path in simulated.rglob("*") if path.is_file()}
    assert {"README.txt", "trueLocations.txt", "trueLocations_Scale.txt"} < names
    assert {"TrainImages/pos-0.pgm", "TrainImages/neg-19.pgm", "TestImages_Scale/test-7.pgm"} < names
    assert len(names) == 3 + 20 + 20 + 8 + 8


def test_paper_size_has_as_many_cars_as_the_real_data():
    size = SIZES["paper"]
    assert (size.cars, size.others, size.single_scale, size.multi_scale) == (550, 500, 170, 108)
    for scenes, cars in ((170, 200), (108, 139)):
        more, among = uiuc_cars._SECOND_CARS["TestImages" if scenes == 170 else "TestImages_Scale"]
        assert among == scenes
        assert scenes + more == cars


def test_same_bytes_for_a_seed_and_a_smaller_set_begins_a_larger_one(
    simulated, tmp_path, contents, monkeypatch
):
    monkeypatch.setitem(SIZES, "tiny", uiuc_cars._Size(2, 2, 2, 2))
    simulate_uiuc_cars(tmp_path / "again", 5, "tiny")
    simulate_uiuc_cars(tmp_path / "other", 6, "tiny")
    whole, again, other = contents(simulated), contents(tmp_path / "again"), contents(tmp_path / "other")
    images = [name for name in again if name.endswith(".pgm")]
    assert len(images) == 8
    assert all(again[name] == whole[name] for name in images)
    assert not any(again[name] == other[name] for name in images)
    for name in ("trueLocations.txt", "trueLocations_Scale.txt"):
        assert whole[name].startswith(again[name])


@pytest.mark.parametrize("seed", range(4))
def test_a_car_fills_its_box(seed):
    rng = np.random.default_rng(seed)
    stage = streets._stage(rng, Noise(rng), (120, 260), 1.0, horizon=0.4, camera=1.5)
    stage.canvas.image[:] = 0.5
    streets._park(stage, 60, 40, 150)
    # Above the shadow all that changed is the car.
    changed = np.abs(stage.canvas.image - 0.5).max(axis=2)[:78] > 0.02
    rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
    assert 60 - 1 <= columns[0] < columns[-1] <= 60 + 150
    assert columns[-1] - columns[0] > 0.85 * 150
    assert 40 <= rows[0] < 40 + 30


def test_gray_values_are_spread_evenly_as_in_the_real_images(simulated):
    data = read_uiuc_cars(simulated)
    for image in (*data.cars, *data.single_scale.images):
        assert image.mean() == pytest.approx(128, abs=15)
        assert image.std() == pytest.approx(74, abs=12)


@pytest.mark.parametrize("size", ["huge", "", "Demo"])
def test_unknown_size(tmp_path, size):
    with pytest.raises(ValueError, match=f"size is '{size}': expected one of smoke, demo, paper"):
        simulate_uiuc_cars(tmp_path, 0, size)
    assert not any(tmp_path.iterdir())
