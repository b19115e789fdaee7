"""Clusters of selected voxels: how large they are, and how large they would be by chance."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from ermlab._utils.validation import real_array, whole_number


def cluster_sizes(selected: ArrayLike) -> NDArray[np.int64]:
    """Return the sizes of the clusters of a volume's selected voxels, the largest first.

    Voxels of a cluster are connected by faces.
    """
    selected = np.asarray(selected)
    if selected.ndim != 3 or selected.dtype != bool:
        raise ValueError(
            f"selected has shape {selected.shape} of {selected.dtype}: expected a volume of truth values"
        )
    labels, _ = ndimage.label(selected)
    return np.sort(np.bincount(labels.ravel())[1:])[::-1]


def mean_cluster_size(selected: ArrayLike) -> float:
    """Return the mean size of the clusters, 0 if there are none."""
    sizes = cluster_sizes(selected)
    return float(sizes.mean()) if len(sizes) else 0.0


def chance_cluster_size(mask: ArrayLike, count: int, draws: int, seed: int) -> float:
    """Return the mean cluster size when so many voxels of the mask are drawn at random, over some draws."""
    mask = np.asarray(mask, dtype=bool)
    inside = np.flatnonzero(mask)
    if not 0 <= (count := whole_number("count", count, 0)) <= len(inside):
        raise ValueError(f"count is {count}: expected 0 to {len(inside)}, the voxels of the mask")
    draws = whole_number("draws", draws, 1)
    rng = np.random.default_rng(seed)
    sizes = []
    for _ in range(draws):
        drawn = np.zeros(mask.size, dtype=bool)
        drawn[rng.choice(inside, count, replace=False)] = True
        sizes.append(mean_cluster_size(drawn.reshape(mask.shape)))
    return float(np.mean(sizes))


def largest_weights(weights: ArrayLike, count: int) -> NDArray[np.bool_]:
    """Return which weights are the ``count`` largest by size, the first of equal ones; zeros never are."""
    size = np.abs(real_array(weights, "weights"))
    if size.ndim != 1 or not np.isfinite(size).all():
        raise ValueError(f"weights has shape {size.shape}: expected a vector of finite numbers")
    if not 0 <= (count := whole_number("count", count, 0)) <= len(size):
        raise ValueError(f"count is {count}: expected 0 to {len(size)}")
    kept = np.zeros(len(size), dtype=bool)
    kept[np.argsort(-size, kind="stable")[:count]] = True
    return kept & (size > 0)


def heaviest_slices(volume: ArrayLike) -> tuple[int, int, int]:
    """Return along each axis the slice with the largest sum of weights by size (thesis, section 4.2.3)."""
    volume = np.abs(real_array(volume, "volume"))
    if volume.ndim != 3 or not volume.size:
        raise ValueError(f"volume has shape {volume.shape}: expected three dimensions")
    if not np.isfinite(volume).all():
        raise ValueError("the volume holds NaN or infinity: expected finite weights")
    volume = np.ldexp(volume, -np.frexp(volume.max(initial=0.0))[1])  # sums of the largest weights are finite
    return tuple(int(volume.sum(axis=tuple({0, 1, 2} - {axis})).argmax()) for axis in range(3))
