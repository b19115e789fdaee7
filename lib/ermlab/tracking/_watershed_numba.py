"""Flooding from seeds in the order of heights, as in scikit-image, but with one sort instead of a heap.

Pixels are processed by height, and at equal height in the order in which they were reached; the seeds of a
height come first. A pixel that is reached from a lower height than its own waits for its own; one that is
reached from a greater height is processed at that. So the pixels that wait for a height are a list, to which
all others are appended, and no queue with priorities is needed.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def flood(height, place, position, steps, labels):
    """Label the pixels, given in ascending order of height, from the seeds among them; in place.

    Parameters
    ----------
    height : ndarray of shape (n,)
        Ascending.
    place : ndarray of shape (n,)
        Place of each pixel in an image with a border.
    position : ndarray
        The pixel at each place of that image, -1 at places that are not to be labeled.
    steps : ndarray
        Differences between the places of neighbors.
    labels : ndarray of shape (n,)
        Positive for seeds, else 0.

    Returns
    -------
    bool
        Whether the result is unique: the order of seeds of the same height is arbitrary, and matters if they
        reach the same pixel, or pixels that are processed at the same height. If False, ``labels`` are
        incomplete.
    """
    n = len(height)
    # The first pixel of the same height, the list of those that wait for the height of a first pixel.
    first, following = np.empty(n, np.int32), np.empty(n, np.int32)
    head, tail = np.empty(n, np.int32), np.empty(n, np.int32)
    # If seeds have the same height: the one at which a pixel was reached or a list appended to, and the seed.
    reached, appended, seed = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    is_seed = np.empty(n, np.int32)
    for v in range(n):
        first[v] = first[v - 1] if v > 0 and height[v] == height[v - 1] else v
        head[v], reached[v], appended[v] = -1, -1, -1
        is_seed[v] = labels[v] > 0
    start = 0
    while start < n:
        end, n_active = start, 0
        while end < n and first[end] == start:
            if is_seed[end]:
                n_active += _has_free_neighbor(place[end], position, steps, labels)
            end += 1
        for v in range(start, end):
            if not is_seed[v]:
                continue
            for k in range(len(steps)):
                u = position[place[v] + steps[k]]
                if u < 0:
                    continue
                if labels[u] != 0:
                    if n_active > 1 and reached[u] == start and labels[u] != labels[v]:
                        return False
                    continue
                level = max(first[u], start)
                if n_active > 1:
                    if appended[level] == start and seed[level] != v:
                        return False
                    reached[u], appended[level], seed[level] = start, start, v
                _reach(u, labels[v], level, labels, head, tail, following)
        v = head[start]
        while v >= 0:
            for k in range(len(steps)):
                u = position[place[v] + steps[k]]
                if u >= 0 and labels[u] == 0:
                    _reach(u, labels[v], max(first[u], start), labels, head, tail, following)
            v = following[v]
        start = end
    return True


@njit(cache=True, nogil=True)
def _has_free_neighbor(at, position, steps, labels):
    """Return 1 if a pixel has a neighbor to be labeled, else 0."""
    for k in range(len(steps)):
        u = position[at + steps[k]]
        if u >= 0 and labels[u] == 0:
            return 1
    return 0


@njit(cache=True, nogil=True)
def _reach(u, label, level, labels, head, tail, following):
    """Label a pixel and append it to the list of those that wait for a height."""
    labels[u] = label
    following[u] = -1
    if head[level] < 0:
        head[level] = u
    else:
        following[tail[level]] = u
    tail[level] = u
