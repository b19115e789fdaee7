"""Graphs of voxels against all distances written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ermlab.fmri.voxel_graphs import maps_to_graphs, neighbor_graph, voxel_coordinates
from ermlab.kernels.pyramid import PyramidWL


def by_hand(coordinates, k):
    """Squared distances of whole numbers are exact, so that ties are ties."""
    n = len(coordinates)
    near = np.zeros((n, n))
    for i in range(n):
        squares = ((coordinates - coordinates[i]) ** 2).sum(axis=1)
        others = sorted((squares[j], j) for j in range(n) if j != i)
        near[i, [j for _, j in others[:k]]] = 1
    return np.maximum(near, near.T)


voxels = st.tuples(*[st.integers(0, 3)] * 3)


@given(
    st.lists(voxels, min_size=1, max_size=30, unique=True), st.integers(1, 6), st.sampled_from([1, 3, 0.7])
)
def test_neighbours_on_a_grid(coordinates, k, size):
    coordinates = np.array(coordinates)
    assert np.array_equal(neighbor_graph(coordinates * size, k).toarray(), by_hand(coordinates, k))


def test_neighbours_anywhere():
    coordinates = np.random.default_rng(0).normal(size=(200, 3)) * [1, 10, 50]
    assert np.array_equal(neighbor_graph(coordinates).toarray(), by_hand(coordinates, 5))


def test_maps_become_samples():
    coordinates = np.argwhere(np.ones((3, 3, 3)))
    maps = np.random.default_rng(0).normal(size=(4, 27))
    samples = maps_to_graphs(maps, coordinates)
    assert len(samples) == 4
    assert all(np.array_equal(labels, row) for (_, labels), row in zip(samples, maps, strict=True))
    features = PyramidWL(h=2).fit_transform(samples)
    assert features.sum(axis=1).tolist() == [8 * 3 * 27] * 4  # 108 values have 8 levels


def test_no_voxel_and_one_voxel():
    assert neighbor_graph(np.empty((0, 3))).shape == (0, 0)
    assert neighbor_graph([[1, 2, 3]]).nnz == 0


@pytest.mark.parametrize(
    ("maps", "coordinates", "message"),
    [
        ([[1.0, 2.0]], [[0, 0, 0], [0, 0, 0]], "two voxels have the same coordinates"),
        ([[1.0, 2.0, 3.0]], [[0, 0, 0], [0, 0, 1], [0, 0, 0]], "two voxels have the same coordinates"),
        ([[1.0, 2.0]], [[0, 0, np.nan], [0, 0, 0]], "coordinates of voxel 0 are"),
        ([[1.0, 2.0]], [1, 2], r"coordinates have shape \(2,\)"),
        ([[1.0]], [[0, 0, 0], [0, 0, 1]], r"maps have shape \(1, 1\): expected \(n_subjects, 2\)"),
        ([1.0, 2.0], [[0, 0, 0], [0, 0, 1]], r"maps have shape \(2,\)"),
        ([[1.0, 2.0], [1.0, np.inf]], [[0, 0, 0], [0, 0, 1]], "map 1 is inf at voxel 1"),
    ],
)
def test_broken_input(maps, coordinates, message):
    with pytest.raises(ValueError, match=message):
        maps_to_graphs(maps, coordinates)


def test_broken_number_of_neighbours():
    with pytest.raises(ValueError, match="n_neighbors is 0"):
        neighbor_graph([[0, 0, 0]], n_neighbors=0)


def test_places_are_in_the_order_of_maps():
    mask = np.zeros((2, 3, 2), dtype=bool)
    mask[0, 2, 1] = mask[1, 0, 0] = True
    affine = np.diag([2.0, 3, 4, 1])
    affine[:3, 3] = [10, 20, 30]
    volume = np.arange(12).reshape(mask.shape)
    places = voxel_coordinates(mask, affine)
    np.testing.assert_array_equal(places, [[10, 26, 34], [12, 20, 30]])
    assert volume[mask].tolist() == [5, 6]
    assert voxel_coordinates(np.zeros((2, 2, 2)), affine).shape == (0, 3)
    with pytest.raises(ValueError, match=r"mask of shape \(2, 2\): expected three dimensions"):
        voxel_coordinates(np.ones((2, 2)), affine)


@pytest.mark.parametrize("exponent", [-1000, -600, 600, 1000])
def test_graph_does_not_depend_on_units(exponent):
    places = np.random.default_rng(0).normal(size=(30, 3))
    expected = neighbor_graph(places).toarray()
    np.testing.assert_array_equal(neighbor_graph(2.0**exponent * places).toarray(), expected)


def test_numbers_that_would_lose_a_part_are_refused():
    with pytest.raises(ValueError, match="coordinates has complex entries"):
        neighbor_graph(np.ones((3, 3)) * 1j)
    for affine in (np.eye(3), np.nan * np.eye(4)):
        with pytest.raises(ValueError, match="affine of shape"):
            voxel_coordinates(np.ones((2, 2, 2)), affine)
