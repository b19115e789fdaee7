"""Shifts and flips of crops, and the store that computes each descriptor once."""

import numpy as np
import pytest

from ermlab.features.hog_crops import HogLayout, small_hog
from reproduction.experiments.pedestrians import crop_versions
from reproduction.experiments.pedestrians.crop_versions import (
    SHIFTS,
    VERSION_SETS,
    VERSIONS,
    Version,
    VersionStore,
    shift_crops,
    transform_crops,
)

LAYOUT = HogLayout(levels=((12, 6),), blocks=(2, 1), orientations=6)


@pytest.fixture
def crops():
    return np.random.default_rng(0).integers(0, 256, size=(5, 36, 18), dtype=np.uint8)


@pytest.fixture
def described(monkeypatch):
    """Count the calls of the descriptor."""
    calls = []

    def counted(crops, layout):
        calls.append(len(crops))
        return small_hog(crops, layout)

    monkeypatch.setattr(crop_versions, "small_hog", counted)
    return calls


def test_eighteen_versions_in_nested_sets():
    assert len(set(VERSIONS)) == 18
    assert len(SHIFTS) == 9
    assert VERSIONS[:2] == (Version(), Version(flip=True))
    assert VERSION_SETS == {"none": 1, "flip": 2, "all": 18}
    assert {(abs(v.down) <= 1, abs(v.right) <= 1) for v in VERSIONS} == {(True, True)}


@pytest.mark.parametrize(("down", "right"), SHIFTS)
def test_replicated_shift_moves_the_content_and_repeats_the_last_pixels(crops, down, right):
    moved = shift_crops(crops, down, right)
    for y in range(36):
        for x in range(18):
            source = crops[:, min(max(y - down, 0), 35), min(max(x - right, 0), 17)]
            assert np.array_equal(moved[:, y, x], source)


@pytest.mark.parametrize(("down", "right"), SHIFTS)
def test_cropped_shift_invents_no_pixel(crops, down, right):
    moved = shift_crops(crops, down, right, "crop")
    assert moved.shape == (5, 34, 16)
    # The same content as the replicated shift, without its border, where the invented pixels are.
    assert np.array_equal(moved, shift_crops(crops, down, right)[:, 1:-1, 1:-1])


@pytest.mark.parametrize("border", ["replicate", "crop"])
def test_bags_are_the_descriptors_of_the_transformed_crops(crops, tmp_path, border):
    bags = VersionStore(tmp_path, crops, LAYOUT, border).bags()
    for t, version in enumerate(VERSIONS):
        assert np.array_equal(bags[:, t], small_hog(transform_crops(crops, version, border), LAYOUT))


def test_what_is_there_is_never_made_again(crops, tmp_path, described):
    store = VersionStore(tmp_path, crops, LAYOUT)
    store.bags(VERSIONS[:1])
    assert (store.computed, len(described)) == (1, 1)
    store.bags(VERSIONS[:2])  # a flip is a permutation
    assert (store.computed, len(described)) == (1, 1)
    files = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.npy")}
    later = VersionStore(tmp_path, crops, LAYOUT)
    later.bags(VERSIONS[:6])
    assert (later.computed, len(described)) == (2, 3)
    later.bags(VERSIONS)
    assert (later.computed, len(described)) == (8, 9)
    assert all((tmp_path / name).stat().st_mtime_ns == time for name, time in files.items())


@pytest.mark.parametrize("change", ["crops", "layout", "border"])
def test_descriptors_of_something_else_are_not_taken(crops, tmp_path, described, change):
    VersionStore(tmp_path, crops, LAYOUT).bags()
    given = {"crops": crops, "layout": LAYOUT, "border": "replicate"}
    given |= {change: {"crops": 255 - crops, "layout": HogLayout(), "border": "crop"}[change]}
    store = VersionStore(tmp_path, **given)
    assert not list(tmp_path.glob("*.npy"))
    expected = small_hog(shift_crops(given["crops"], 0, 0, given["border"]), given["layout"])
    assert np.array_equal(store.features(), expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((5, 5)), 0, 0), "shape"),
        ((np.zeros((1, 2, 5)), 0, 0), "at least 3 pixels"),
        ((np.zeros((1, 5, 5)), 2, 0), "2, 0"),
        ((np.zeros((1, 5, 5)), 0, 0, "wrap"), "'wrap'"),
    ],
)
def test_bad_shifts(arguments, message):
    with pytest.raises(ValueError, match=message):
        shift_crops(*arguments)


def test_unknown_border_of_a_store(crops, tmp_path):
    with pytest.raises(ValueError, match="'wrap'"):
        VersionStore(tmp_path, crops, LAYOUT, "wrap")
