"""Rules that select ``eps`` and ``gamma`` from the scores on folds.

The best mean over few folds is often that of an extreme ``eps``. Both extremes are bad: with a large ``eps``
functions follow the directions of largest variance, such as the global signal of a scan; with a small one
they fit the noise of the training samples, worst with about as many samples as features. The
one-standard-error rule therefore moves towards a moderate value, at which a model has half as many degrees of
freedom as training samples.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.cca.algebra import View

#: Degrees of freedom per training sample of a moderate model.
MODERATE = 0.5
EQUAL_SCORES = 1e-9


def best(scores: NDArray[np.float64]) -> tuple[int, int]:
    """Return the index of the best score; ties go to the smallest ``gamma``, then the largest ``eps``."""
    i, j = np.nonzero(scores >= scores.max() - EQUAL_SCORES)
    first = np.lexsort((-i, j))[0]
    return int(i[first]), int(j[first])


def one_standard_error(fold_scores: NDArray[np.float64], dimensions: ArrayLike) -> tuple[int, int]:
    """Return the index of the most moderate model within one standard error of the best.

    Parameters
    ----------
    fold_scores : ndarray of shape (n_folds, n_eps, n_gamma)
        Scores, better if larger.
    dimensions : array-like of shape (n_eps,)
        Degrees of freedom per training sample (`effective_dimensions`).

    Returns
    -------
    tuple of int
        Positions of ``eps`` and ``gamma``: of the models within one standard error the smallest ``gamma``,
        then the ``eps`` with degrees of freedom closest to half the number of training samples.
    """
    scores = fold_scores.mean(axis=0)
    errors = fold_scores.std(axis=0, ddof=1) / np.sqrt(len(fold_scores))
    top = best(scores)
    i, j = np.nonzero(scores >= scores[top] - errors[top] - EQUAL_SCORES)
    distances = np.abs(np.asarray(dimensions)[i] - MODERATE)
    first = np.lexsort((distances, j))[0]
    return int(i[first]), int(j[first])


def effective_dimensions(view: View, eps: ArrayLike) -> NDArray[np.float64]:
    """Return the degrees of freedom per paired sample at each ``eps``, with ``gamma = 0``.

    They are the trace of the matrix that maps a target to its fitted values, divided by the number of
    samples.
    """
    b = np.linalg.eigvalsh(view.covariance)
    b = np.maximum(b, 0.0)[:, None]
    penalty = np.asarray(eps, dtype=np.float64) * view.unit
    shares = np.divide(b, b + penalty, out=np.zeros((len(b), len(penalty))), where=b + penalty > 0)
    return shares.sum(axis=0) / view.n
