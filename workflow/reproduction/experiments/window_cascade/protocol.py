"""Learn to order windows of images: by structured output ranking, by a structured output SVM (thesis, 3.2.4).

All variants minimise ``1/2 |w|^2 + C risk(w)`` over the same windows and cues; their risks differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab.ranking.estimator import RankingSVM
from ermlab.structured.structured_svm import StructuredSVM
from reproduction.experiments.window_cascade.measures import COUNTS, areas, covered
from reproduction.experiments.window_cascade.window_pool import WindowPool

GRAPHS = ("complete", "bipartite", "star")
RESCALINGS = ("slack", "margin")
SOSVM = "sosvm"
#: Preference graph and rescaling of each ranking variant, and the structured output SVM.
VARIANTS = (*(f"{graph}_{rescaling}" for graph in GRAPHS for rescaling in RESCALINGS), SOSVM)

#: For a small C the objective is almost all risk, and hardly less than that of w = 0: 1e-3 would accept 0.
TOLERANCE = 1e-5


@dataclass(frozen=True)
class TrainingWindows:
    """All windows of the training images and, after them, the objects themselves, with loss 0."""

    X: NDArray[np.float64]  #: (n + t, d) cues in units of ``scale``
    losses: NDArray[np.float64]  #: (n + t,)
    image: NDArray[np.int64]  #: (n + t,) place of each window's image in the pool
    starts: NDArray[np.int64]  #: (m + 1,) first initial window of each image, and n
    scale: NDArray[np.float64]  #: (d,) standard deviation of each cue over the initial windows

    @classmethod
    def of(cls, pool: WindowPool) -> "TrainingWindows":
        """Collect the windows of a pool."""
        scale = pool.cues.std(axis=0, dtype=np.float64)
        scale[scale == 0] = 1.0  # a cue that is the same everywhere orders nothing, in whatever unit
        places = np.arange(len(pool))
        return cls(
            X=np.concatenate([pool.cues, pool.truth_cues]) / scale,
            losses=np.concatenate([pool.losses(), np.zeros(len(pool.truth))]),
            image=np.concatenate(
                [np.repeat(places, np.diff(pool.starts)), np.repeat(places, np.diff(pool.truth_starts))]
            ),
            starts=pool.starts,
            scale=scale,
        )

    @property
    def objects(self) -> NDArray[np.int64]:
        """Rows of the objects."""
        return np.arange(self.starts[-1], len(self.X))

    def thresholds(self, share: float) -> NDArray[np.float64]:
        """Return the loss, in each image, up to which the best ``share`` of its initial windows reach."""
        if not 0 < share < 1:
            raise ValueError(f"share is {share}: expected a number between 0 and 1")
        sizes = np.diff(self.starts)
        best = np.maximum(np.round(share * sizes).astype(int), 1)
        return np.array(
            [
                np.partition(self.losses[start : start + size], count - 1)[count - 1]
                for start, size, count in zip(self.starts, sizes, best, strict=False)
            ]
        )

    def share_of_misses(self, min_overlap: float = 0.5) -> float:
        """Return how much of the complete graph's weight, the differences of loss, is on pairs of misses.

        A miss is an initial window that overlaps no object by ``min_overlap``.
        """
        total = misses = 0.0
        for start, stop in pairwise(self.starts):
            losses = self.losses[start:stop]
            total += _sum_of_differences(losses)
            misses += _sum_of_differences(losses[losses > 1 - min_overlap])
        if total == 0:
            raise ValueError("all windows of an image have the same loss: expected a pair that differs")
        return misses / total


class WindowTask:
    """The choice of one among given windows, as structured prediction (see `ermlab.structured.Task`).

    An input is the number of an image, an output the row of a window. The loss of a window does not depend on
    which object of the image is taken as true: it is the one given, 1 minus the largest overlap with any.
    """

    def __init__(self, samples: TrainingWindows):
        self._samples = samples
        self.dimension = samples.X.shape[1]

    def joint_feature(self, x: int, y: int) -> NDArray[np.float64]:
        """Return the cues of window ``y``."""
        return self._samples.X[y]

    def loss(self, y: int, z: int) -> float:
        """Return the loss of window ``z``."""
        return float(self._samples.losses[z])

    def predict(self, w: NDArray[np.float64], x: int) -> int:
        """Return the window of image ``x`` with the highest score."""
        return self._largest(x, self._scores(w, x))

    def most_violated(self, w: NDArray[np.float64], x: int, y: int, rescaling: str) -> int:
        """Return the window of image ``x`` that violates the margin to object ``y`` most."""
        losses, scores = self._samples.losses[self._rows(x)], self._scores(w, x)
        if rescaling == "margin":
            return self._largest(x, losses + scores)
        return self._largest(x, losses * (1 + scores - self._samples.X[y] @ w))

    def _rows(self, x: int) -> slice:
        return slice(int(self._samples.starts[x]), int(self._samples.starts[x + 1]))

    def _scores(self, w: NDArray[np.float64], x: int) -> NDArray[np.float64]:
        with one_blas_thread():
            return self._samples.X[self._rows(x)] @ w

    def _largest(self, x: int, values: NDArray[np.float64]) -> int:
        return self._rows(x).start + int(np.argmax(values))


def train_variant(
    samples: TrainingWindows, variant: str, C: float, best_share: float, tol: float = TOLERANCE
) -> NDArray[np.float64]:
    """Return the weights of the cues, as given (not in units of their deviation).

    Parameters
    ----------
    variant
        One of `VARIANTS`. Ranking compares windows of the same image only. ``bipartite`` ranks the best
        ``best_share`` of an image's initial windows above all others, ``star`` its objects. ``sosvm`` is
        margin-rescaled; each object is a training sample of its own, as it has to be where an image has
        several and one is predicted.
    C
        Price of the risk, which is a mean: over pairs, or over objects.
    tol
        Relative gap between the objective and its lower bound.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant is {variant!r}: expected one of {', '.join(VARIANTS)}")
    if variant == SOSVM:
        objects = samples.objects
        model = StructuredSVM(WindowTask(samples), C=C / len(objects), tol=tol, solver="bundle")
        return model.fit(samples.image[objects], objects).coef_ / samples.scale
    graph, rescaling = variant.split("_")
    threshold = {"complete": None, "bipartite": samples.thresholds(best_share), "star": 0.0}[graph]
    model = RankingSVM(
        C=C,
        rescaling=rescaling,
        graph="complete" if graph == "complete" else "bipartite",
        threshold=threshold,
        tol=tol,
    )
    return model.fit(samples.X, samples.losses, groups=samples.image).coef_ / samples.scale


def score_windows(pool: WindowPool, weights: ArrayLike) -> NDArray[np.float64]:
    """Return the score of each window of a pool."""
    with one_blas_thread():
        return pool.cues.astype(np.float64) @ np.asarray(weights, dtype=np.float64)


def choose_price(
    pool: WindowPool, variant: str, prices: Sequence[float], best_share: float
) -> tuple[float, NDArray[np.float64]]:
    """Choose C on training images: each half is judged by what the other half has learned.

    The criterion is what is measured in the end, the area under the recall-overlap curve, averaged over the
    numbers of windows; of equally good prices the smallest is taken.

    Returns
    -------
    price, criteria
        The chosen one, and the criterion of each.
    """
    halves = [np.arange(len(pool))[start::2] for start in (0, 1)]
    criteria = np.zeros(len(prices))
    for learn, judge in (halves, halves[::-1]):
        samples, held_out = TrainingWindows.of(pool.take(learn)), pool.take(judge)
        for k, C in enumerate(prices):
            weights = train_variant(samples, variant, C, best_share)
            criteria[k] += areas(covered(held_out, score_windows(held_out, weights), COUNTS)).mean() / 2
    return prices[int(np.argmax(criteria))], criteria


def _sum_of_differences(values: NDArray[np.float64]) -> float:
    """Return the sum of |a - b| over all pairs."""
    ordered = np.sort(values)
    return float(np.sum(ordered * (2 * np.arange(len(ordered)) - len(ordered) + 1)))
