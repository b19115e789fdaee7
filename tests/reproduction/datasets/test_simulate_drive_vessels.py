"""Simulated photographs are read like the real ones, and show vessels where observers mark them."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from reproduction.datasets.drive_vessels import (
    PATHOLOGICAL,
    SIZES,
    read_drive_vessels,
    simulate_drive_vessels,
)
from reproduction.datasets.simulators.fundus import field_of_view, photograph
from reproduction.datasets.simulators.scenes.noise import Noise
from reproduction.datasets.simulators.vessel_observers import FIRST, Observer, _followed, observe
from reproduction.datasets.simulators.vessel_trees import FIELD, HEIGHT, Eye, Vessels, grow_vessels


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drive")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SIZES, "small", (3, 300))
        simulate_drive_vessels(folder, 5, "small")
    return folder


@pytest.fixture(scope="module")
def eye():
    return Eye.draw(np.random.default_rng(1), (HEIGHT, 565))


@pytest.fixture(scope="module")
def vessels(eye):
    return grow_vessels(np.random.default_rng(2), eye)


def sensitivity(truth, found):
    return (truth & found).sum() / truth.sum()


def test_the_reader_reads_what_is_simulated(simulated):
    data = read_drive_vessels(simulated)
    assert data.training.numbers.tolist() == [21, 22, 23]
    assert data.test.pathological.tolist() == [False, False, True]
    for image, field, first, second in zip(
        data.test.images, data.test.fields, data.test.first, data.test.second, strict=True
    ):
        assert image.shape == (300, 290, 3)
        assert 0.6 < field.mean() < 0.75
        assert not (first & ~field).any()
        assert not (second & ~field).any()
        assert np.median(image[~field]) < np.median(image[field]) / 4


def test_observers_mark_darker_pixels_and_agree_as_people_do(simulated):
    test = read_drive_vessels(simulated).test
    for image, field, first, second in zip(test.images, test.fields, test.first, test.second, strict=True):
        green = image[..., 1].astype(float)
        light = gaussian_filter(np.where(field, green, 0), 8) / np.maximum(
            gaussian_filter(field * 1.0, 8), 1e-3
        )
        contrast = green / np.maximum(light, 1)
        assert contrast[first & second].mean() < contrast[field & ~first & ~second].mean() - 0.03
        # Observers of the real photographs have an F1 score between .74 and .83.
        both = 2 * (first & second).sum() / (first.sum() + second.sum())
        assert 0.6 < both < 0.95


def test_same_bytes_for_a_seed_and_a_smaller_set_begins_a_larger_one(
    simulated, tmp_path, contents, monkeypatch
):
    monkeypatch.setitem(SIZES, "tiny", (1, 300))
    simulate_drive_vessels(tmp_path / "again", 5, "tiny")
    simulate_drive_vessels(tmp_path / "other", 6, "tiny")
    whole, again, other = contents(simulated), contents(tmp_path / "again"), contents(tmp_path / "other")
    assert len(again) == 7
    assert all(again[name] == whole[name] for name in again)
    drawn = [name for name in again if "mask" not in name]
    assert not any(again[name] == other[name] for name in drawn)


def test_paper_size_is_that_of_the_real_data():
    assert SIZES["paper"] == (20, 584)
    assert len(PATHOLOGICAL) == 7


def test_vessels_taper_and_stay_in_the_field_of_view(eye, vessels):
    same = np.diff(vessels.branches) == 0
    assert (np.diff(vessels.radii)[same] < 0).all()
    steps = np.hypot(*np.diff(vessels.points, axis=0)[same].T)
    np.testing.assert_allclose(steps, 1.5)
    assert np.hypot(*(vessels.points - eye.center).T).max() < FIELD + 8
    assert np.hypot(*(vessels.points - eye.fovea).T).min() > 25
    # All vessels begin at the disc or at a wider one.
    starts = np.flatnonzero(np.diff(vessels.branches, prepend=-1))
    for start in starts[np.hypot(*(vessels.points[starts] - eye.disc).T) > 25]:
        others = vessels.select(
            (vessels.branches != vessels.branches[start]) & (vessels.kinds == vessels.kinds[start])
        )
        near = np.hypot(*(others.points - vessels.points[start]).T) < 1.6
        assert others.radii[near].max() > vessels.radii[start]


def test_tubes_are_distances_from_the_border():
    points = np.array([[10.0, 12.0], [30.0, 20.0]])
    border, radius = Vessels(points, np.array([4.0, 2.0]), np.zeros(2, int), np.arange(2)).tubes(
        (40, 40), 3.0
    )
    assert border[10, 12] == -4
    assert border[10, 18] == 2
    assert radius[10, 18] == 4
    assert border[30, 21] == -1
    assert np.isinf(border[0, 39])
    assert (border < 0).sum() == 45 + 9  # pixels strictly inside circles of radius 4 and 2


def test_a_steady_observer_who_sees_everything_marks_the_vessels(eye, vessels):
    """With a threshold of zero and no inventions, differences are those of the hand at the border."""
    wide = vessels.select(vessels.radii > 1)
    ideal = Observer(threshold=0.0, threshold_spread=0, widening=0, widening_spread=0, inventions=0)
    marked = observe(np.random.default_rng(0), eye, wide, ideal)
    border, _ = wide.tubes(eye.shape, 4.0)
    assert sensitivity(border < -2, marked) > 0.99
    assert sensitivity(marked, border < 2.5) > 0.99


def test_an_observer_who_is_harder_to_convince_follows_vessels_less_far(eye, vessels):
    followed = [
        _followed(np.random.default_rng(0), eye, vessels, Observer(threshold, 0.1, 0, 0, 0))
        for threshold in (0.02, 0.1, 0.3)
    ]
    assert followed[0].sum() > followed[1].sum() > followed[2].sum() > 0
    assert not (followed[2] & ~followed[0]).any()
    # What is followed of a branch is its beginning.
    gaps = (np.diff(followed[1].astype(int)) == 1) & (np.diff(vessels.branches) == 0)
    assert not gaps.any()


def test_lesions_change_the_photograph_and_not_the_masks(eye, vessels):
    noise = Noise(np.random.default_rng(0))
    healthy, ill = (
        photograph(np.random.default_rng(3), noise, eye, vessels, pathological=state).astype(float)
        for state in (False, True)
    )
    field = field_of_view(eye)
    assert np.abs(healthy - ill)[field].mean() > 1
    first = [observe(np.random.default_rng(4), eye, vessels, FIRST) for _ in range(2)]
    np.testing.assert_array_equal(*first)


@pytest.mark.parametrize("size", ["huge", "", "Demo"])
def test_unknown_size(tmp_path, size):
    with pytest.raises(ValueError, match=f"size is '{size}': expected one of smoke, demo, paper"):
        simulate_drive_vessels(tmp_path, 0, size)
    assert not any(tmp_path.iterdir())
