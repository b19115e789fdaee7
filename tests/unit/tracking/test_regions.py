"""Blocks, holes and basins against plain definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage
from skimage.measure import label
from skimage.segmentation import watershed

from ermlab.tracking import _regions
from ermlab.tracking._regions import (
    basins,
    block_means,
    drop_small,
    fill_basins,
    fill_holes,
    spread_blocks,
)


@pytest.mark.parametrize(("shape", "side"), [((6, 9), 3), ((7, 5), 2), ((3, 4), 5), ((4, 4), 1)])
def test_block_means_repeat_the_border(shape, side):
    image = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    means = block_means(image, side)
    for i, j in np.ndindex(means.shape):
        rows = np.minimum(np.arange(i * side, (i + 1) * side), shape[0] - 1)
        columns = np.minimum(np.arange(j * side, (j + 1) * side), shape[1] - 1)
        assert means[i, j] == pytest.approx(image[np.ix_(rows, columns)].mean(), abs=1e-6)


def test_spread_blocks_give_back_a_slope():
    image = np.add.outer(2.0 * np.arange(12), 3.0 * np.arange(9)).astype(np.float32)
    spread = spread_blocks(block_means(image, 3), 3, image.shape)
    np.testing.assert_allclose(spread[1:-1, 1:-1], image[1:-1, 1:-1], rtol=1e-5)
    assert spread_blocks(np.ones((1, 1)), 4, (3, 2)).tolist() == np.ones((3, 2)).tolist()


@given(arrays(bool, (7, 8)))
def test_all_holes_are_filled(mask):
    np.testing.assert_array_equal(fill_holes(mask, np.inf), ndimage.binary_fill_holes(mask))


def test_large_holes_stay():
    mask = np.ones((9, 9), dtype=bool)
    mask[1:3, 1:3] = mask[5:8, 5:8] = False
    filled = fill_holes(mask, 9)
    assert filled[1:3, 1:3].all()
    assert not filled[5:8, 5:8].any()


@given(arrays(np.int64, (6, 7), elements=st.integers(0, 2)), st.integers(0, 5))
def test_small_regions_are_dropped(labels, area):
    kept = drop_small(labels, area)
    regions = [ndimage.label(labels == value)[0] for value in (1, 2)]
    expected = np.sum([(r > 0) & (np.bincount(r.ravel())[r] >= area) for r in regions], axis=0) > 0
    np.testing.assert_array_equal(kept > 0, expected)
    assert set(kept.ravel()) | {0} == set(range(kept.max() + 1))


@pytest.mark.parametrize(("neck", "parts"), [(0.4, [1, 1, 1]), (0.7, [1, 1, 2]), (0.9, [1, 2, 3])])
def test_basins_are_one_where_the_pass_is_high(neck, parts):
    # Tops of 10, 8 and 10. The first pass is 0.8 of the lower top; the second then is 0.5 of the lower top.
    height = np.array([[0, 10, 7, 6.4, 8, 5, 10, 0]], dtype=np.float32)
    tops = np.isin(np.arange(8), [1, 4, 6])[None]
    found = basins(height, tops, height > 0, neck)[0]
    assert np.unique(found[[1, 4, 6]], return_inverse=True)[1].tolist() == [p - 1 for p in parts]
    assert found[[0, 7]].tolist() == [0, 0]


def test_a_top_on_a_plateau_is_one():
    height = np.array([[3, 3, 1, 3]], dtype=np.float32)
    found = basins(height, height == 3, height > 0, 0.9)
    assert len(np.unique(found)) == 2
    assert found[0, 0] == found[0, 1]


def random_basins(rng, levels):
    """Return heights, smooth or with few levels, seeds of one or more pixels, and a mask."""
    shape = tuple(rng.integers(1, 40, 2))
    height = ndimage.gaussian_filter(rng.normal(size=shape), rng.choice([0, 2])).astype(np.float32)
    if levels:
        height = np.round(levels * height)
    seeds = label(rng.random(shape) < rng.choice([0.02, 0.1, 0.3]), connectivity=2)
    return height, seeds, rng.random(shape) < rng.choice([0.5, 0.8, 1.0])


@pytest.mark.parametrize("levels", [0, 3, 30, 300])
@pytest.mark.parametrize("seed", range(50))
def test_basins_are_those_of_scikit_image(levels, seed):
    height, seeds, mask = random_basins(np.random.default_rng(seed), levels)
    np.testing.assert_array_equal(fill_basins(height, seeds, mask), watershed(-height, seeds, mask=mask))


def test_scikit_image_is_called_for_ties_of_seeds_only(monkeypatch):
    calls = []
    monkeypatch.setattr(_regions, "watershed", lambda *args, **kwargs: calls.append(args))
    for seed in range(20):
        fill_basins(*random_basins(np.random.default_rng(seed), levels=0))
    assert not calls
    fill_basins(np.float32([[2, 1, 2]]), np.array([[1, 0, 2]]), np.ones((1, 3), dtype=bool))
    assert len(calls) == 1
