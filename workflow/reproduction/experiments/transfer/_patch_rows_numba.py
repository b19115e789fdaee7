"""Sums of features over assignments, and the highest plane of each patch."""

from numba import njit


@njit(cache=True, nogil=True)
def sum_rows(features, chosen, owner, sums):
    """Add the features of the chosen events to the row of their owner."""
    for e in range(len(chosen)):
        if chosen[e]:
            for k in range(features.shape[1]):
                sums[owner[e], k] += features[e, k]


@njit(cache=True, nogil=True)
def highest(slopes, offsets, owner, w, best, tops):
    """Write for each owner which of its planes is the highest at ``w``, and how high; -1 for one without."""
    best[:] = -1
    for j in range(len(offsets)):
        height = offsets[j]
        for k in range(len(w)):
            height += slopes[j, k] * w[k]
        i = owner[j]
        if best[i] < 0 or height > tops[i]:
            best[i], tops[i] = j, height
