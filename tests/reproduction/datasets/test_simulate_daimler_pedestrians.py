"""Simulated walkers come in the layout of the benchmark, in tracks of similar but different images."""

import numpy as np
import pytest

from reproduction.datasets import daimler_pedestrians
from reproduction.datasets.daimler_pedestrians import (
    SIZES,
    read_daimler_pedestrians,
    simulate_daimler_pedestrians,
)
from reproduction.datasets.simulators import walkers
from reproduction.datasets.simulators.scenes.noise import Noise


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("daimler")
    simulate_daimler_pedestrians(folder, 5, "smoke")
    return folder


@pytest.fixture(scope="module")
def sets(simulated):
    data = read_daimler_pedestrians(simulated)
    return data.train + data.test


def test_the_reader_reads_what_is_simulated(sets):
    size = SIZES["smoke"]
    assert len(sets) == 5
    for crops in sets:
        assert crops.pedestrians.shape == (6 * size.pedestrians, 36, 18)
        assert crops.others.shape == (size.others, 36, 18)


def test_paper_size_is_that_of_the_real_data():
    assert (SIZES["paper"].pedestrians, SIZES["paper"].others) == (800, 5000)


def test_blocks_hold_the_base_its_mirror_and_four_different_shifts(sets):
    for crops in sets:
        blocks = crops.pedestrians.reshape(-1, 6, 36, 18)
        assert np.array_equal(blocks[:, 1], blocks[:, 0, :, ::-1])
        for block in blocks[:10]:
            shifts = [_shift_between(block[0], version) for version in block[2:]]
            assert len(set(shifts)) == 4
            assert (0, 0) not in shifts


def _shift_between(base, version):
    """Find the shift by at most two pixels after which two crops agree where both have pixels."""
    for down in range(-2, 3):
        for right in range(-2, 3):
            here = base[max(down, 0) : 36 + min(down, 0), max(right, 0) : 18 + min(right, 0)]
            there = version[max(-down, 0) : 36 + min(-down, 0), max(-right, 0) : 18 + min(-right, 0)]
            if np.array_equal(here, there):
                return down, right
    raise AssertionError("no shift makes the crops agree")


def test_frames_of_a_track_are_alike_but_not_the_same():
    noise = Noise(np.random.default_rng(0))
    tracks = [
        walkers.draw_track(np.random.default_rng(k), noise, (36, 18), 6).astype(float) for k in range(6)
    ]
    standard = [(t - t.mean((1, 2), keepdims=True)) / t.std((1, 2), keepdims=True) for t in tracks]
    within = [np.mean(t[1:] * t[:-1]) for t in standard]
    between = [np.mean(a * b) for i, a in enumerate(standard) for b in standard[:i]]
    assert np.mean(within) > np.mean(between) + 0.3
    assert all(len(np.unique(t, axis=0)) == 6 for t in tracks)


def test_walkers_move_their_legs():
    walker = walkers.draw_walker(np.random.default_rng(1))
    widths = [np.diff(walkers.pose(walker, phase).bounds()[::2])[0] for phase in np.linspace(0, np.pi, 9)]
    assert max(widths) > 1.15 * min(widths)
    left, bottom, right, top = walkers.pose(walker, 0.0).bounds()
    assert left < 0 < right
    assert abs(bottom) < 0.25
    assert top == pytest.approx(walker.height, abs=0.2)


def test_same_bytes_for_a_seed_and_a_smaller_set_begins_a_larger_one(
    simulated, tmp_path, contents, monkeypatch
):
    monkeypatch.setitem(SIZES, "tiny", daimler_pedestrians._Size(3, 4))
    simulate_daimler_pedestrians(tmp_path / "again", 5, "tiny")
    simulate_daimler_pedestrians(tmp_path / "other", 6, "tiny")
    whole, again, other = contents(simulated), contents(tmp_path / "again"), contents(tmp_path / "other")
    images = [name for name in again if name.endswith(".pgm")]
    assert len(images) == 5 * (6 * 3 + 4)
    assert all(again[name] == whole[name] for name in images)
    assert not any(again[name] == other[name] for name in images)


def test_unknown_size(tmp_path):
    with pytest.raises(ValueError, match="'huge'"):
        simulate_daimler_pedestrians(tmp_path, 0, "huge")
