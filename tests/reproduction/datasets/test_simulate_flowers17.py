"""Simulated flowers are read like the real ones, look like their kind, and depend on the seed alone."""

import numpy as np
import pytest
from PIL import Image

from reproduction.datasets import flowers17
from reproduction.datasets.flowers17 import CLASSES, SIZES, read_flowers17, simulate_flowers17
from reproduction.datasets.simulators.flower_scenes import draw_flower
from reproduction.datasets.simulators.flower_sketches import KINDS, bloom, cluster, petal
from reproduction.datasets.simulators.scenes.noise import Noise


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flowers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SIZES, "tiny", (2, 80))
        simulate_flowers17(folder, 5, "tiny")
    return folder


def test_the_reader_finds_all_kinds(simulated):
    data = read_flowers17(simulated)
    assert np.bincount(data.labels).tolist() == [2] * 17
    for image in data.images:
        assert image.dtype == np.uint8
        assert min(image.shape[:2]) == 80
        assert max(image.shape[:2]) <= 4 / 3 * 80
        assert image.std() > 10


def test_every_kind_of_the_real_data_is_drawn():
    assert tuple(KINDS) == CLASSES


def test_paper_size_is_that_of_the_real_data():
    assert SIZES["paper"] == (80, 500)


def test_same_bytes_for_a_seed_and_others_for_another(simulated, tmp_path, contents, monkeypatch):
    monkeypatch.setitem(SIZES, "tiny", (2, 80))
    monkeypatch.setattr(flowers17, "CLASSES", CLASSES[:3])
    simulate_flowers17(tmp_path / "again", 5, "tiny")
    simulate_flowers17(tmp_path / "other", 6, "tiny")
    whole, again, other = contents(simulated), contents(tmp_path / "again"), contents(tmp_path / "other")
    assert sorted(again) == [f"image_{number:04d}.jpg" for number in range(1, 7)]
    assert all(again[name] == whole[name] for name in again)
    assert not any(again[name] == other[name] for name in again)


@pytest.mark.parametrize(("name", "channel"), [("bluebell", 2), ("tiger lily", 0)])
def test_a_flower_has_its_color(name, channel):
    """The parts of a flower without its stalk are strongest in the color of the kind."""
    parts = bloom(np.random.default_rng(0), KINDS[name], KINDS[name].colors[0]).parts
    assert np.argmax(parts[0].material.color) == channel


@pytest.mark.parametrize("name", CLASSES)
def test_a_plant_is_about_one_unit_large_and_in_the_middle(name):
    for seed in range(5):
        plant = cluster(np.random.default_rng(seed), KINDS[name])
        heads = [part.points for part in plant.parts if part.points[:, 1].min() > -1]
        low, high = np.concatenate(heads).min(axis=0), np.concatenate(heads).max(axis=0)
        assert (np.abs((low + high) / 2) < 0.5).all()
        assert 0.3 < (high - low).max() < 1.8


def test_tips_of_petals():
    heights = {tip: petal(1.0, 0.4, tip) for tip in (-1.0, 0.0, 1.0)}
    middle = {tip: p[np.abs(p[:, 0]) < 1e-9][:, 1].max() for tip, p in heights.items()}
    shoulder = {tip: np.abs(p[p[:, 1] > 0.85, 0]).max() for tip, p in heights.items()}
    assert middle[-1.0] < middle[0.0] == middle[1.0]  # notched
    assert shoulder[1.0] < shoulder[0.0]  # pointed
    np.testing.assert_allclose(np.abs(heights[0.0][:, 0]).max(), 0.2, atol=0.02)


def test_the_flower_stands_out_from_the_background():
    noise = Noise(np.random.default_rng(0))
    image = draw_flower("sunflower", np.random.default_rng(4), noise, 100)
    hsv = np.asarray(Image.fromarray(image).convert("HSV"), dtype=float)
    height, width = image.shape[:2]
    yellow = (hsv[..., 0] > 20) & (hsv[..., 0] < 45) & (hsv[..., 1] > 150) & (hsv[..., 2] > 150)
    assert yellow[height // 3 : 2 * height // 3, width // 3 : 2 * width // 3].mean() > 3 * yellow[:8].mean()


@pytest.mark.parametrize("size", ["huge", "", "Demo"])
def test_unknown_size(tmp_path, size):
    with pytest.raises(ValueError, match=f"size is '{size}': expected one of smoke, demo, paper"):
        simulate_flowers17(tmp_path / "new", 0, size)
    assert not (tmp_path / "new").exists()
