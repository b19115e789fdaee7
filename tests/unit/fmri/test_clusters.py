"""Clusters against a search from voxel to voxel, and against counts that are known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ermlab.fmri.clusters import (
    chance_cluster_size,
    cluster_sizes,
    heaviest_slices,
    largest_weights,
    mean_cluster_size,
)


def flood(selected):
    """Sizes of clusters by walking over faces."""
    left, sizes = set(map(tuple, np.argwhere(selected))), []
    while left:
        waiting, size = [left.pop()], 0
        while waiting:
            here, size = waiting.pop(), size + 1
            for axis in range(3):
                for step in (-1, 1):
                    there = tuple(here[a] + step * (a == axis) for a in range(3))
                    if there in left:
                        left.remove(there)
                        waiting.append(there)
        sizes.append(size)
    return sorted(sizes, reverse=True)


@given(arrays(bool, st.tuples(*[st.integers(1, 5)] * 3)))
def test_sizes_by_brute_force(selected):
    sizes = cluster_sizes(selected)
    assert sizes.tolist() == flood(selected)
    assert mean_cluster_size(selected) == pytest.approx(np.mean(sizes) if len(sizes) else 0)


def test_chance_is_exact_where_it_is_certain():
    mask = np.ones((2, 1, 2), dtype=bool)
    assert chance_cluster_size(mask, 4, 3, 0) == 4
    assert chance_cluster_size(mask, 1, 3, 0) == 1
    assert chance_cluster_size(mask, 0, 3, 0) == 0
    # Two of four in a ring: neighbours (one cluster of 2) in 4 of 6 draws, opposite (two of 1) in 2.
    assert chance_cluster_size(mask, 2, 3000, 0) == pytest.approx(2 * 4 / 6 + 1 * 2 / 6, abs=0.05)


def test_chance_draws_inside_the_mask():
    mask = np.zeros((5, 5, 5), dtype=bool)
    mask[::2, ::2, ::2] = True  # no two are neighbours
    assert chance_cluster_size(mask, 20, 5, 0) == 1


def test_largest_weights():
    assert largest_weights([0.1, -3, 2, 0], 2).tolist() == [False, True, True, False]
    assert largest_weights([1, 1, 1, 0], 2).tolist() == [True, True, False, False]
    assert largest_weights([0, 1, 0, 0], 3).tolist() == [False, True, False, False]


def test_heaviest_slices():
    volume = np.zeros((3, 4, 5))
    volume[2, 1, 4], volume[0, 1, 3], volume[0, 2, 3] = -5, 3, 3
    assert heaviest_slices(volume) == (0, 1, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cluster_sizes(np.ones((2, 2), dtype=bool)), r"selected has shape \(2, 2\)"),
        (lambda: cluster_sizes(np.ones((2, 2, 2))), "of float64: expected a volume of booleans"),
        (lambda: chance_cluster_size(np.ones((2, 2, 2)), 9, 1, 0), "n_voxels is 9: expected 0 to 8"),
        (lambda: chance_cluster_size(np.ones((2, 2, 2)), 2, 0, 0), "n_draws is 0"),
        (lambda: largest_weights([1, np.nan], 1), "expected a vector of finite numbers"),
        (lambda: largest_weights([1, 2], 3), "n_voxels is 3: expected 0 to 2"),
        (lambda: heaviest_slices(np.ones(3)), r"volume has shape \(3,\)"),
    ],
)
def test_broken_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_slices_of_weights_that_are_not_finite_or_very_large():
    volume = np.zeros((2, 3, 4))
    volume[1, 2, :] = 1.7e308
    volume[0, 1, 3] = 1.0
    assert heaviest_slices(volume)[:2] == (1, 2)
    volume[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="the volume holds NaN or infinity"):
        heaviest_slices(volume)


@pytest.mark.parametrize(
    "call",
    [
        lambda: heaviest_slices(np.ones((2, 2, 2)) * 1j),
        lambda: heaviest_slices(np.ones((0, 2, 2))),
        lambda: largest_weights([1.0, 2.0], 1.5),
        lambda: chance_cluster_size(np.ones((2, 2, 2)), 1.5, 2, 0),
        lambda: chance_cluster_size(np.ones((2, 2, 2)), 1, np.nan, 0),
    ],
)
def test_numbers_that_are_none_are_refused(call):
    with pytest.raises(ValueError, match="expected"):
        call()
