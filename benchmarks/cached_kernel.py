"""Constraints of the taxonomic SVM with cached kernel values: the baseline of figure 5.9.

The kernel of two pairs of a sample and a class is looked up as ``K[i, j] * B[y, z]`` (thesis, section 5.2.6).
Support vectors are the pairs of all constraints with nonzero weight; a score is a compiled loop over them.
The rest of the solver is that of `ermlab`: both forms make the same iterations.
"""

from collections.abc import Sequence

import numpy as np
from numba import njit

from ermlab.taxonomy.cutting_planes import Constraints
from ermlab.taxonomy.problem import Point


@njit  # compiled in every run: a module run by its path has no name for the cache
def cached_scores(K, B, samples, classes, weights):
    """Return the sum over support vectors (sample, class, weight) for each sample and each class."""
    n, k = len(K), len(B)
    scores = np.zeros((n, k))
    for i in range(n):
        for v in range(samples.size):
            value = weights[v] * K[i, samples[v]]
            for y in range(k):
                scores[i, y] += value * B[y, classes[v]]
    return scores


class CachedConstraints(Constraints):
    """Constraints whose weighted sums are computed by a loop over support vectors."""

    def combination(self, numbers: Sequence[int], weights: Sequence[float]) -> tuple[Point, float]:
        """Return the weighted sum of constraints, and that of their offsets."""
        problem, kernel = self.problem, self.problem.kernel
        n = kernel.shape[0]
        alpha, offset = np.zeros(kernel.shape), 0.0
        samples, classes, shares = [], [], []
        for j, weight in zip(numbers, weights, strict=True):
            violated = np.flatnonzero(self.other[j] >= 0)
            true, other = self.true[j, violated], self.other[j, violated]
            loss = problem.loss[true, other]
            share = weight / n * (loss if problem.slack else np.ones(len(violated)))
            alpha[violated, true] += share
            alpha[violated, other] -= share
            offset += weight * loss.sum() / n
            samples += [violated, violated]
            classes += [true, other]
            shares += [share, -share]
        scores = cached_scores(kernel.K, kernel.B, *map(np.concatenate, (samples, classes, shares)))
        return Point(alpha, scores, max(float(np.sum(alpha * scores)), 0.0)), float(offset)
