"""Train all rankings of windows and the structured SVM on one split (rule train_window_cascade).

All variants (thesis, 3.2.4) minimize ``1/2 |w|^2 + C risk(w)`` over the same windows and cues, with different
risks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab.detection.boxes import suppress
from ermlab.metrics.detection import best_overlap_at, recall_area
from ermlab.ranking.estimator import RankingSVM
from ermlab.structured.structured_svm import StructuredSVM
from reproduction.claims.results import write_json
from reproduction.experiments.window_cascade.window_pool import WindowPool
from reproduction.pipeline.job import Paths, run_stage

GRAPHS = ("complete", "bipartite", "star")
RESCALINGS = ("slack", "margin")
SOSVM = "sosvm"
#: Preference graph and rescaling of each ranking variant, and the structured output SVM.
VARIANTS = (*(f"{graph}_{rescaling}" for graph in GRAPHS for rescaling in RESCALINGS), SOSVM)
#: Numbers of windows that the cascade stage passes on (thesis, fig. 3.5 b).
COUNTS = (10, 100, 1000)
#: From so small that the regularizer alone determines the length of w to so large that it hardly matters.
C_GRID = (0.01, 1.0, 100.0)
#: For a small C the objective is almost all risk, and hardly less than that of w = 0: 1e-3 would accept 0.
TOLERANCE = 1e-5


def main(inputs: Paths, outputs: Paths, *, best_windows: int) -> None:
    """Choose C on the training images, train on all of them, and write the weights of each variant."""
    pool = WindowPool.read(inputs["windows"])
    samples = TrainingWindows.of(pool)
    variants = {}
    for variant in VARIANTS:
        C, criteria = choose_C(pool, variant, C_GRID, best_windows)
        print(f"{variant}: C = {C:g} of {dict(zip(C_GRID, criteria.round(4).tolist(), strict=True))}")
        weights = train_variant(samples, variant, C, best_windows)
        variants[variant] = {
            "C": C,
            "weights": weights.tolist(),
            "weights_in_deviations": (weights * samples.scale).tolist(),
        }
    document = {
        "images": len(pool),
        "samples": len(samples.X),
        "share_of_misses": samples.share_of_misses(),
        "variants": variants,
    }
    write_json(outputs["model"], document)


@dataclass(frozen=True)
class TrainingWindows:
    """All windows of the training images, followed by the objects themselves, with loss 0."""

    X: NDArray[np.float64]  #: (n + t, d) cues in units of ``scale``
    losses: NDArray[np.float64]  #: (n + t,)
    image: NDArray[np.int64]  #: (n + t,) position of each window's image in the pool
    starts: NDArray[np.int64]  #: (m + 1,) first initial window of each image, and n
    scale: NDArray[np.float64]  #: (d,) standard deviation of each cue over the initial windows

    @classmethod
    def of(cls, pool: WindowPool) -> "TrainingWindows":
        """Return the windows of a pool as training samples."""
        scale = pool.cues.std(axis=0, dtype=np.float64)
        scale[scale == 0] = 1.0  # a constant cue orders nothing, in whatever unit
        positions = np.arange(len(pool))
        return cls(
            X=np.concatenate([pool.cues, pool.truth_cues]) / scale,
            losses=np.concatenate([pool.losses(), np.zeros(len(pool.truth))]),
            image=np.concatenate(
                [np.repeat(positions, np.diff(starts)) for starts in (pool.starts, pool.truth_starts)]
            ),
            starts=pool.starts,
            scale=scale,
        )

    @property
    def objects(self) -> NDArray[np.int64]:
        """Rows of the objects."""
        return np.arange(self.starts[-1], len(self.X))

    def thresholds(self, count: int) -> NDArray[np.float64]:
        """Return the largest loss among the ``count`` best initial windows of each image."""
        fewest = int(np.diff(self.starts).min())
        if not 0 < count < fewest:
            raise ValueError(
                f"count is {count}: expected 1 to {fewest - 1}, as an image has {fewest} windows"
            )
        return np.array(
            [
                np.partition(self.losses[start:stop], count - 1)[count - 1]
                for start, stop in pairwise(self.starts)
            ]
        )

    def share_of_misses(self, min_overlap: float = 0.5) -> float:
        """Return the share of pairs of misses in the weight of the complete graph.

        A pair has the difference of its losses as weight. A miss is an initial window that overlaps no object
        by ``min_overlap``.
        """
        total = misses = 0.0
        for start, stop in pairwise(self.starts):
            losses = self.losses[start:stop]
            total += _sum_of_differences(losses)
            misses += _sum_of_differences(losses[losses > 1 - min_overlap])
        if total == 0:
            raise ValueError("all windows of an image have the same loss: expected different losses")
        return misses / total


class WindowTask:
    """Choice of one window per image as structured prediction (see `ermlab.structured.Task`).

    An input is the position of an image, an output the row of a window. The loss of a window is 1 minus its
    largest overlap with any object, whichever object of the image is taken as true.
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
    samples: TrainingWindows, variant: str, C: float, best_windows: int, tol: float = TOLERANCE
) -> NDArray[np.float64]:
    """Return the weights of the cues in their original units (not in standard deviations).

    Parameters
    ----------
    samples : TrainingWindows
        The training samples.
    variant : str
        One of `VARIANTS`. Ranking compares windows of the same image only. ``bipartite`` ranks the
        ``best_windows`` best initial windows of an image above all others, ``star`` its objects. ``sosvm`` is
        margin-rescaled, with one training sample per object, since a single window is predicted.
    C : float
        Inverse regularization strength; the risk is a mean over pairs, or over objects.
    best_windows : int
        Number of an image's initial windows that the bipartite graph ranks above the others.
    tol : float, default=1e-5
        Relative gap between the objective and its lower bound.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant is {variant!r}: expected one of {', '.join(VARIANTS)}")
    if variant == SOSVM:
        objects = samples.objects
        model = StructuredSVM(WindowTask(samples), C=C / len(objects), tol=tol, solver="bundle")
        return model.fit(samples.image[objects], objects).coef_ / samples.scale
    graph, rescaling = variant.split("_")
    threshold = {"complete": None, "bipartite": samples.thresholds(best_windows), "star": 0.0}[graph]
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


def first_windows(
    pool: WindowPool, scores: ArrayLike, max_boxes: int = max(COUNTS)
) -> list[NDArray[np.int64]]:
    """Return the windows of each image that are passed on, best first, after non-maximum suppression."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != (len(pool.windows),):
        raise ValueError(f"scores has shape {scores.shape}: expected ({len(pool.windows)},), one per window")
    chosen = []
    for i in range(len(pool)):
        windows = pool.windows[pool.rows(i)]
        chosen.append(windows[suppress(windows, scores[pool.rows(i)], max_boxes)])
    return chosen


def covered(pool: WindowPool, scores: ArrayLike, counts: Sequence[int] = COUNTS) -> NDArray[np.float64]:
    """Return the largest overlap of each object with the first windows of its image, (objects, counts).

    Objects marked as difficult are not counted.
    """
    windows = first_windows(pool, scores, max(counts))
    return np.concatenate([best_overlap_at(pool.counted(i), windows[i], counts) for i in range(len(pool))])


def areas(overlaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the area under the recall-overlap curve of each column, from overlap .5 to 1, at most 1."""
    return np.array([recall_area(column) for column in overlaps.T])


def choose_C(
    pool: WindowPool, variant: str, candidates: Sequence[float], best_windows: int
) -> tuple[float, NDArray[np.float64]]:
    """Choose C by two-fold cross-validation on the training images.

    The criterion is the final measure, the area under the recall-overlap curve, averaged over the numbers of
    windows. The smallest of equally good values is chosen.

    Returns
    -------
    C : float
        The chosen value.
    criteria : ndarray of shape (n_candidates,)
        The criterion for each candidate.
    """
    halves = [np.arange(len(pool))[start::2] for start in (0, 1)]
    criteria = np.zeros(len(candidates))
    for train, test in (halves, halves[::-1]):
        samples, held_out = TrainingWindows.of(pool.take(train)), pool.take(test)
        for k, C in enumerate(candidates):
            weights = train_variant(samples, variant, C, best_windows)
            criteria[k] += areas(covered(held_out, score_windows(held_out, weights), COUNTS)).mean() / 2
    return candidates[int(np.argmax(criteria))], criteria


def _sum_of_differences(values: NDArray[np.float64]) -> float:
    """Return the sum of |a - b| over all pairs."""
    ordered = np.sort(values)
    return float(np.sum(ordered * (2 * np.arange(len(ordered)) - len(ordered) + 1)))


if "snakemake" in globals():
    run_stage(main, snakemake)
