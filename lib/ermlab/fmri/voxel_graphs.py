"""Brain maps as graphs of neighboring voxels with their activations as labels (thesis, section 4.3.4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from ermlab._utils.validation import real_array, safe_unit, whole_number

#: Number of neighbors of a voxel in the experiments of the thesis.
N_NEIGHBORS = 5


def neighbor_graph(coordinates: ArrayLike, n_neighbors: int = N_NEIGHBORS) -> csr_array:
    """Return the symmetric graph of nearest neighbors: an edge if either voxel is among those of the other.

    Of equally near voxels, which are common on a grid, the first ones are taken.

    Parameters
    ----------
    coordinates : array-like of shape (n_voxels, n_dimensions)
        Distinct coordinates, in millimeters if voxels are not cubes.
    n_neighbors : int, default=5
        Number of neighbors, at most all other voxels.

    Returns
    -------
    csr_array of shape (n_voxels, n_voxels)
        Adjacency matrix, 1 for an edge.
    """
    coordinates = _check_coordinates(coordinates)
    n = len(coordinates)
    n_neighbors = min(whole_number("n_neighbors", n_neighbors, 1), n - 1)
    if n_neighbors < 1:
        return csr_array((n, n))
    coordinates = coordinates / safe_unit(coordinates)  # only ratios of distances matter
    tree = cKDTree(coordinates)
    furthest = tree.query(coordinates, k=n_neighbors + 1)[0][:, -1]
    if not furthest.all() or not (tree.query(coordinates, k=2)[0][:, 1]).all():
        raise ValueError("two voxels have the same coordinates: expected each voxel once")
    # All within reach of the last neighbor, including ties: the nearest are kept, of equally near the first.
    candidates = tree.query_ball_point(coordinates, furthest * (1 + 1e-9))
    source = np.repeat(np.arange(n), list(map(len, candidates)))
    target = np.concatenate([np.asarray(near, dtype=np.int64) for near in candidates])
    source, target = source[source != target], target[source != target]
    distances = np.linalg.norm(coordinates[source] - coordinates[target], axis=1)
    # Distances that differ by rounding alone are equal.
    steps = np.round(distances / furthest[source], 7)
    order = np.lexsort((target, steps, source))
    source, target = source[order], target[order]
    first = np.searchsorted(source, np.arange(n))
    kept = np.arange(len(source)) - first[source] < n_neighbors
    one_way = csr_array((np.ones(kept.sum()), (source[kept], target[kept])), shape=(n, n))
    return csr_array(((one_way + one_way.T) > 0).astype(np.float64))


def voxel_coordinates(mask: ArrayLike, affine: ArrayLike) -> NDArray[np.float64]:
    """Return the coordinates in millimeters of the voxels of a mask, of shape (n_voxels, 3)."""
    mask = np.asarray(mask, dtype=bool)
    if mask.ndim != 3:
        raise ValueError(f"mask of shape {mask.shape}: expected three dimensions")
    affine = real_array(affine, "affine")
    if affine.shape != (4, 4) or not np.isfinite(affine).all():
        raise ValueError(f"affine of shape {affine.shape}: expected (4, 4) finite numbers")
    return np.argwhere(mask) @ affine[:3, :3].T + affine[:3, 3]


def maps_to_graphs(
    maps: ArrayLike, coordinates: ArrayLike, n_neighbors: int = N_NEIGHBORS
) -> list[tuple[csr_array, NDArray[np.float64]]]:
    """Return the graph of each map, a sample for `ermlab.kernels.pyramid.PyramidWL`; only labels differ.

    Parameters
    ----------
    maps : array-like of shape (n_subjects, n_voxels)
        The activations at the selected voxels.
    coordinates : array-like of shape (n_voxels, 3)
        The coordinates of the voxels.
    n_neighbors : int, default=5
        As in `neighbor_graph`.
    """
    maps = real_array(maps, "maps")
    graph = neighbor_graph(coordinates, n_neighbors)
    if maps.ndim != 2 or maps.shape[1] != graph.shape[0]:
        raise ValueError(f"maps have shape {maps.shape}: expected (n_subjects, {graph.shape[0]})")
    if not np.isfinite(maps).all():
        subject, voxel = np.argwhere(~np.isfinite(maps))[0]
        raise ValueError(f"map {subject} is {maps[subject, voxel]} at voxel {voxel}: expected finite numbers")
    return [(graph, activation) for activation in maps]


def _check_coordinates(coordinates: ArrayLike) -> NDArray[np.float64]:
    coordinates = real_array(coordinates, "coordinates")
    if coordinates.ndim != 2 or coordinates.shape[1] == 0:
        raise ValueError(f"coordinates have shape {coordinates.shape}: expected (voxels, 3)")
    if not np.isfinite(coordinates).all():
        voxel = int(np.argmax(~np.isfinite(coordinates).all(axis=1)))
        raise ValueError(f"coordinates of voxel {voxel} are {coordinates[voxel]}: expected finite numbers")
    return coordinates
