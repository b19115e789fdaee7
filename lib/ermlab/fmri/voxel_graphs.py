"""Brain maps as graphs: voxels joined to their nearest, labelled by activation (thesis, section 4.3.4)."""

import numpy as np
from nibabel.affines import apply_affine
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from ermlab._utils.validation import real_array, safe_unit, whole_number

#: Neighbours of a voxel in all experiments of the thesis.
N_NEIGHBORS = 5


def neighbor_graph(coordinates: ArrayLike, n_neighbors: int = N_NEIGHBORS) -> csr_array:
    """Join each voxel to its nearest others, and symmetrise: an edge if either is near to the other.

    On a grid many voxels are equally near; of these the ones that come first are taken, so that the graph
    does not depend on how the search goes. With fewer others than ``n_neighbors``, all are neighbours.

    Parameters
    ----------
    coordinates
        (voxels, 3) or any other dimension, all different: in millimetres if voxels are not cubes.

    Returns
    -------
    adjacency
        (voxels, voxels), 1 for an edge.
    """
    coordinates = _places(coordinates)
    n = len(coordinates)
    n_neighbors = min(whole_number("n_neighbors", n_neighbors, 1), n - 1)
    if n_neighbors < 1:
        return csr_array((n, n))
    coordinates = coordinates / safe_unit(coordinates)  # only proportions of distances count
    tree = cKDTree(coordinates)
    furthest = tree.query(coordinates, k=n_neighbors + 1)[0][:, -1]
    if not furthest.all() or not (tree.query(coordinates, k=2)[0][:, 1]).all():
        raise ValueError("two voxels have the same coordinates: expected each voxel once")
    # All within reach of the last neighbour, ties included, of which the nearest and then the first are kept.
    candidates = tree.query_ball_point(coordinates, furthest * (1 + 1e-9))
    source = np.repeat(np.arange(n), [len(some) for some in candidates])
    target = np.concatenate([np.asarray(some, dtype=np.int64) for some in candidates])
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
    """Return the coordinates in millimetres of the voxels of a mask, in the order of a map on it."""
    mask = np.asarray(mask, dtype=bool)
    if mask.ndim != 3:
        raise ValueError(f"mask of shape {mask.shape}: expected three dimensions")
    affine = real_array(affine, "affine")
    if affine.shape != (4, 4) or not np.isfinite(affine).all():
        raise ValueError(f"affine of shape {affine.shape}: expected (4, 4) finite numbers")
    return apply_affine(affine, np.argwhere(mask)).reshape(-1, 3)


def voxel_graphs(
    maps: ArrayLike, coordinates: ArrayLike, n_neighbors: int = N_NEIGHBORS
) -> list[tuple[csr_array, NDArray[np.float64]]]:
    """Return a sample for `ermlab.kernels.pyramid.PyramidWL` for each map: the same graph, other labels.

    Parameters
    ----------
    maps
        (subjects, voxels), the activations at the voxels that were selected.
    coordinates
        (voxels, 3), where these are.
    """
    maps = real_array(maps, "maps")
    graph = neighbor_graph(coordinates, n_neighbors)
    if maps.ndim != 2 or maps.shape[1] != graph.shape[0]:
        raise ValueError(
            f"maps have shape {maps.shape}: expected (subjects, {graph.shape[0]}), a value a voxel"
        )
    if not np.isfinite(maps).all():
        subject, voxel = np.argwhere(~np.isfinite(maps))[0]
        raise ValueError(f"map {subject} is {maps[subject, voxel]} at voxel {voxel}: expected finite numbers")
    return [(graph, activation) for activation in maps]


def _places(coordinates: ArrayLike) -> NDArray[np.float64]:
    coordinates = real_array(coordinates, "coordinates")
    if coordinates.ndim != 2 or coordinates.shape[1] == 0:
        raise ValueError(f"coordinates have shape {coordinates.shape}: expected (voxels, 3)")
    if not np.isfinite(coordinates).all():
        voxel = int(np.argmax(~np.isfinite(coordinates).all(axis=1)))
        raise ValueError(f"coordinates of voxel {voxel} are {coordinates[voxel]}: expected finite numbers")
    return coordinates
