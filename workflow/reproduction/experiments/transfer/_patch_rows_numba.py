"""Sums of features over assignments, and the highest plane of each patch."""

from numba import njit


@njit(cache=True, nogil=True)
def score_rows(features, starts, numbers, w, scores):
    """Write the scores of the events of the patches ``numbers``."""
    for i in numbers:
        for e in range(starts[i], starts[i + 1]):
            score = 0.0
            for k in range(len(w)):
                score += features[e, k] * w[k]
            scores[e] = score


@njit(cache=True, nogil=True)
def sum_rows(features, starts, numbers, chosen, sums):
    """Add the features of the chosen events of the patches ``numbers``, one row per patch."""
    for place in range(len(numbers)):
        i = numbers[place]
        for e in range(starts[i], starts[i + 1]):
            if chosen[e]:
                for k in range(features.shape[1]):
                    sums[place, k] += features[e, k]


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
