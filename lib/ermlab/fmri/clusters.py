"""Clusters of selected voxels: their sizes, and the sizes expected by chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from ermlab._utils.validation import real_array, whole_number


def cluster_sizes(selected: ArrayLike) -> NDArray[np.int64]:
    """Return the sizes of the clusters of selected voxels in descending order.

    Parameters
    ----------
    selected : ndarray of bool of shape (x, y, z)
        Mask of the voxels; those of a cluster are connected by faces.
    """
    selected = np.asarray(selected)
    if selected.ndim != 3 or selected.dtype != bool:
        raise ValueError(
            f"selected has shape {selected.shape} of {selected.dtype}: expected a volume of booleans"
        )
    labels, _ = ndimage.label(selected)
    return np.sort(np.bincount(labels.ravel())[1:])[::-1]


def mean_cluster_size(selected: ArrayLike) -> float:
    """Return the mean size of the clusters of selected voxels, 0 if there are none."""
    sizes = cluster_sizes(selected)
    return float(sizes.mean()) if len(sizes) else 0.0


def chance_cluster_size(mask: ArrayLike, n_voxels: int, n_draws: int, random_state: int) -> float:
    """Return the mean cluster size of voxels that are drawn at random, averaged over the draws.

    Parameters
    ----------
    mask : array-like of bool of shape (x, y, z)
        Voxels to draw from.
    n_voxels, n_draws : int
        Number of voxels per draw, and number of draws.
    random_state : int
        Seed of the draws.
    """
    mask = np.asarray(mask, dtype=bool)
    inside = np.flatnonzero(mask)
    if not 0 <= (n_voxels := whole_number("n_voxels", n_voxels, 0)) <= len(inside):
        raise ValueError(f"n_voxels is {n_voxels}: expected 0 to {len(inside)}, the voxels of the mask")
    rng = np.random.default_rng(random_state)
    sizes = []
    for _ in range(whole_number("n_draws", n_draws, 1)):
        drawn = np.zeros(mask.size, dtype=bool)
        drawn[rng.choice(inside, n_voxels, replace=False)] = True
        sizes.append(mean_cluster_size(drawn.reshape(mask.shape)))
    return float(np.mean(sizes))


def largest_weights(weights: ArrayLike, n_voxels: int) -> NDArray[np.bool_]:
    """Return a mask of the ``n_voxels`` largest weights by magnitude, of equal ones the first; no zeros."""
    size = np.abs(real_array(weights, "weights"))
    if size.ndim != 1 or not np.isfinite(size).all():
        raise ValueError(f"weights has shape {size.shape}: expected a vector of finite numbers")
    if not 0 <= (n_voxels := whole_number("n_voxels", n_voxels, 0)) <= len(size):
        raise ValueError(f"n_voxels is {n_voxels}: expected 0 to {len(size)}")
    kept = np.zeros(len(size), dtype=bool)
    kept[np.argsort(-size, kind="stable")[:n_voxels]] = True
    return kept & (size > 0)


def heaviest_slices(volume: ArrayLike) -> tuple[int, int, int]:
    """Return for each axis the slice with the largest sum of absolute weights (thesis, section 4.2.3)."""
    volume = np.abs(real_array(volume, "volume"))
    if volume.ndim != 3 or not volume.size:
        raise ValueError(f"volume has shape {volume.shape}: expected three dimensions")
    if not np.isfinite(volume).all():
        raise ValueError("the volume holds NaN or infinity: expected finite weights")
    volume = np.ldexp(volume, -np.frexp(volume.max(initial=0.0))[1])  # sums of the largest weights are finite
    return tuple(int(volume.sum(axis=tuple({0, 1, 2} - {axis})).argmax()) for axis in range(3))
