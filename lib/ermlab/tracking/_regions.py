"""Operations on images and regions: coarse images, holes, watershed basins that are merged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from skimage.measure import label
from skimage.segmentation import watershed

from ermlab.tracking._watershed_numba import flood

Image = NDArray[np.float32]
Labels = NDArray[np.int64]


def block_means(image: Image, side: int) -> Image:
    """Return the means over blocks of ``side`` times ``side`` pixels; the border is padded with its edge."""
    if side == 1:
        return image
    padded = np.pad(image, [(0, -n % side) for n in image.shape], mode="edge")
    for axis, n in enumerate(padded.shape):
        padded = np.add.reduceat(padded, np.arange(0, n, side), axis=axis)
    return padded / side**2


def spread_blocks(means: Image, side: int, shape: tuple[int, int]) -> Image:
    """Return an image of ``shape`` by linear interpolation between the centers of blocks."""
    for axis, n in enumerate(shape):
        last = means.shape[axis] - 1
        place = np.clip((np.arange(n) + 0.5) / side - 0.5, 0, last)
        below = place.astype(int)
        share = np.expand_dims((place - below).astype(means.dtype), 1 - axis)
        left, right = (np.take(means, at, axis=axis) for at in (below, np.minimum(below + 1, last)))
        means = left + share * (right - left)
    return means


def fill_holes(mask: NDArray[np.bool_], area: float) -> NDArray[np.bool_]:
    """Return a mask with holes of less than ``area`` pixels filled; a hole does not touch the border."""
    outside = label(~mask, connectivity=1)
    hole = np.bincount(outside.ravel()) < area
    for edge in (outside[0], outside[-1], outside[:, 0], outside[:, -1]):
        hole[edge] = False
    hole[0] = False
    return mask | hole[outside]


def drop_small(labels: Labels, area: float) -> Labels:
    """Return the connected regions of equal label, numbered from 1, of at least ``area`` pixels."""
    regions = label(labels, connectivity=1)
    kept = np.bincount(regions.ravel()) >= area
    kept[0] = False
    return (np.cumsum(kept) * kept)[regions]


def basins(height: Image, tops: NDArray[np.bool_], mask: NDArray[np.bool_], neck: float) -> Labels:
    """Return the watershed basins of a mask around the tops of a height map.

    Neighboring basins are merged if the pass between them is higher than ``neck`` times the lower top.
    """
    seeds = label(tops, connectivity=2)
    parts = watershed(-height, seeds, mask=mask)  # tops often tie: a distance has few values
    top = np.zeros(seeds.max() + 1)
    top[seeds[tops]] = height[tops]
    first, second, saddle = _passes(parts, height)
    root = list(range(len(top)))

    def find(part: int) -> int:
        while root[part] != part:
            root[part] = root[root[part]]  # path halving: a chain of parts would take quadratic time
            part = root[part]
        return part

    for k in np.argsort(-saddle, kind="stable").tolist():
        low, high = sorted((find(first[k]), find(second[k])), key=top.__getitem__)
        if low != high and saddle[k] > neck * top[low]:
            root[low] = high
    return np.array([find(part) for part in range(len(top))])[parts]


def fill_basins(height: Image, seeds: Labels, mask: NDArray[np.bool_]) -> Labels:
    """Return ``watershed(-height, seeds, mask=mask)`` of scikit-image, pixel for pixel, in less time.

    Its own function is called if the result depends on the order of seeds of equal height: its heap decides.
    """
    inside = np.pad(mask, 1)
    free = inside & (np.pad(seeds, 1) == 0)
    near = free.copy()  # seeds within others reach nothing
    near[1:] |= free[:-1]
    near[:-1] |= free[1:]
    near[:, 1:] |= free[:, :-1]
    near[:, :-1] |= free[:, 1:]
    place = np.flatnonzero(near & inside)
    active = (near & inside)[1:-1, 1:-1]
    depth = -height[active]
    order = np.argsort(depth, kind="stable")
    place, labels = place[order], seeds[active][order].astype(np.int64, copy=False)
    position = np.full(inside.size, -1, dtype=np.int32)
    position[place] = np.arange(len(place), dtype=np.int32)
    width = inside.shape[1]
    # The order of neighbors decides ties, too.
    if not flood(depth[order], place, position, np.array([-width, -1, 1, width]), labels):
        return watershed(-height, seeds, mask=mask)
    filled = np.pad(np.where(mask, seeds, 0), 1)
    filled.ravel()[place] = labels
    return filled[1:-1, 1:-1]


def _passes(parts: Labels, height: Image) -> tuple[Labels, Labels, NDArray[np.float64]]:
    """Return the pairs of neighboring parts, and the height of the highest pass between them."""
    found = []
    for axis in (0, 1):
        here, there = (np.delete(parts, end, axis=axis) for end in (-1, 0))
        lower = np.minimum(*(np.delete(height, end, axis=axis) for end in (-1, 0)))
        at = np.nonzero((here != there) & (here > 0) & (there > 0))
        found.append((np.minimum(here[at], there[at]), np.maximum(here[at], there[at]), lower[at]))
    first, second, lower = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort([-lower, second, first])
    first, second, lower = first[order], second[order], lower[order]
    new = np.ones(len(first), dtype=bool)
    new[1:] = (np.diff(first) != 0) | (np.diff(second) != 0)
    return first[new], second[new], lower[new].astype(float)
