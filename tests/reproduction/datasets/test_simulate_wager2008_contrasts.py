"""Simulated contrast maps are read like the real ones, look like them, and depend on the seed alone."""

import numpy as np
import pytest
from nilearn.datasets import load_mni152_brain_mask
from nilearn.image import resample_img

from ermlab.exceptions import DataError
from reproduction.datasets.simulators.bold_anatomy import grid_coordinates
from reproduction.datasets.wager2008_contrasts import (
    _RELATED,
    SIZES,
    mni_brain,
    read_wager2008_contrasts,
    simulate_wager2008_contrasts,
)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wager")
    simulate_wager2008_contrasts(folder, 3, "demo")
    return folder


def brain(data):
    """The brain's voxels by another library's resampling."""
    mask = resample_img(
        load_mni152_brain_mask(resolution=2),
        data.affine,
        data.mask.shape,
        interpolation="nearest",
        copy_header=True,
        force_resample=True,
    )
    return mask.get_fdata() > 0


def test_the_brain_on_the_grid(simulated):
    data = read_wager2008_contrasts(simulated)
    assert (mni_brain(data.mask.shape, data.affine) == brain(data)).mean() > 0.998


def test_the_grid_and_the_files_are_the_real_ones(simulated):
    data = read_wager2008_contrasts(simulated)
    assert data.maps.shape == (30, 47, 56, 31)
    expected = [
        [-3.4375, 0, 0, 79.0625],
        [0, 3.4375, 0, -113.4375],
        [0, 0, 4.5, -49.5],
        [0, 0, 0, 1],
    ]
    np.testing.assert_allclose(data.affine, expected)
    names = {path.relative_to(simulated).as_posix() for path in simulated.rglob("*") if path.is_file()}
    maps = {f"older/con_0081{i:04d}.{end}" for i in range(1, 31) for end in ("img", "hdr")}
    assert names == maps | {"Wager_2008_emotionreg_behavioral_data.txt", "X_Y_data.txt"}
    # Some scans end below the crown, and all have the brain's middle.
    assert 0.85 < data.mask.mean() < 1
    assert data.mask[23, 28, 15]


def test_maps_are_as_smooth_and_as_large_as_the_real_ones(simulated):
    data = read_wager2008_contrasts(simulated)
    inside = brain(data) & data.mask
    maps = data.maps - data.maps.mean(axis=0)
    deviation = maps.std(axis=0)
    assert deviation[inside].mean() == pytest.approx(1.3, abs=0.3)
    assert deviation[data.mask & ~inside].mean() < 0.7 * deviation[inside].mean()
    z = maps / deviation
    both = inside[1:] & inside[:-1]
    assert (z[:, 1:][:, both] * z[:, :-1][:, both]).mean() == pytest.approx(0.95, abs=0.02)


def test_the_relation_to_the_score_is_modest_and_where_it_was_put(tmp_path):
    correlations = {True: [], False: []}
    for seed in range(6):
        simulate_wager2008_contrasts(tmp_path / str(seed), seed, "smoke")
        data = read_wager2008_contrasts(tmp_path / str(seed))
        places = grid_coordinates(data.mask.shape, data.affine)
        sign = sum(s * (region.weight(places) > 0.6) for region, s in _RELATED.items())
        r = [np.corrcoef(data.score, one)[0, 1] for one in data.maps[:, data.mask].T]
        sign = sign[data.mask]
        correlations[True].append(np.mean((np.array(r) * sign)[sign != 0]))
        correlations[False].append(np.mean(np.array(r)[sign == 0]))
    assert np.mean(correlations[True]) == pytest.approx(0.35, abs=0.15)
    assert abs(np.mean(correlations[False])) < 0.2


def test_same_bytes_for_a_seed_and_others_for_another(tmp_path, contents):
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        simulate_wager2008_contrasts(tmp_path / name, seed, "smoke")
    one, again, other = (contents(tmp_path / name) for name in ("one", "again", "other"))
    assert one == again
    assert not any(one[name] == other[name] for name in one if not name.endswith(".hdr"))


def test_a_damaged_map_is_refused(tmp_path):
    simulate_wager2008_contrasts(tmp_path, 0, "smoke")
    path = tmp_path / "older/con_00810002.img"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(DataError, match=r"con_00810002\.img"):
        read_wager2008_contrasts(tmp_path)


@pytest.mark.parametrize("size", ["huge", "", "Demo"])
def test_unknown_size(tmp_path, size):
    with pytest.raises(ValueError, match=f"size is '{size}': expected one of {', '.join(SIZES)}"):
        simulate_wager2008_contrasts(tmp_path / "new", 0, size)
    assert not (tmp_path / "new").exists()
