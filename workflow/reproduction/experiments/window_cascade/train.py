"""Train all rankings of windows and the structured SVM on one fold (rule train_window_cascade).

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
C_GRID = (0.01, 1.0, 100.0, 10_000.0)
#: Candidates for the largest overlap of two windows that are passed on.
SUPPRESSIONS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
#: The one for which C is chosen.
FIRST_SUPPRESSION = 0.6
#: Reference for the variants: the windows in random order.
CHANCE = "chance"
#: For a small C the objective is almost all risk, and hardly less than that of w = 0: 1e-3 would accept 0.
TOLERANCE = 1e-5


def main(inputs: Paths, outputs: Paths, *, seed: int, best_windows: int) -> None:
    """Choose C and the suppression on the training images, and write the weights of each variant."""
    pool = WindowPool.read(inputs["windows"])
    samples, halves = TrainingWindows.of(pool), halves_of(pool)
    variants = {}
    for variant in VARIANTS:
        C, suppression = choose_settings(halves, variant, best_windows)
        weights = train_variant(samples, variant, C, best_windows)
        variants[variant] = {
            "C": C,
            "suppression": suppression,
            "weights": weights.tolist(),
            "weights_in_deviations": (weights * samples.scale).tolist(),
        }
        print(f"{variant}: C = {C:g}, largest overlaps {suppression}")
    random_scores = np.random.default_rng(seed).random(len(pool.windows))
    document = {
        "images": len(pool),
        "samples": len(samples.X),
        "share_of_misses": samples.share_of_misses(),
        "variants": variants,
        "chance_suppression": best_suppressions(areas_by_suppression(pool, random_scores, SUPPRESSIONS)),
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


def rank_windows(pool: WindowPool, scores: ArrayLike) -> list[NDArray[np.int64]]:
    """Return the windows of each image by decreasing score."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != (len(pool.windows),):
        raise ValueError(f"scores has shape {scores.shape}: expected ({len(pool.windows)},), one per window")
    return [
        pool.windows[pool.rows(i)][np.argsort(-scores[pool.rows(i)], kind="stable")].astype(np.int64)
        for i in range(len(pool))
    ]


def first_windows(ranked: NDArray[np.int64], max_boxes: int, max_overlap: float) -> NDArray[np.int64]:
    """Return the first of ranked windows that overlap none of each other by more than ``max_overlap``."""
    return ranked[suppress(ranked, -np.arange(len(ranked)), max_boxes, max_overlap)]


def covered(pool: WindowPool, scores: ArrayLike, suppression: Sequence[float]) -> NDArray[np.float64]:
    """Return the largest overlap of each object with the first windows of its image, (objects, counts).

    Objects marked as difficult are not counted. ``suppression`` has one largest overlap of the windows that
    are passed on for each of `COUNTS`.
    """
    ranked = rank_windows(pool, scores)
    return np.concatenate(
        [
            np.hstack(
                [
                    best_overlap_at(pool.counted(i), first_windows(windows, count, max_overlap), [count])
                    for count, max_overlap in zip(COUNTS, suppression, strict=True)
                ]
            )
            for i, windows in enumerate(ranked)
        ]
    )


def areas_by_suppression(
    pool: WindowPool, scores: ArrayLike, candidates: Sequence[float]
) -> NDArray[np.float64]:
    """Return the area for each largest overlap of the windows passed on, and each of `COUNTS`."""
    ranked = rank_windows(pool, scores)
    found = []
    for max_overlap in candidates:
        overlaps = [
            best_overlap_at(pool.counted(i), first_windows(windows, max(COUNTS), max_overlap), COUNTS)
            for i, windows in enumerate(ranked)
        ]
        found.append(areas(np.concatenate(overlaps)))
    return np.array(found)


def areas(overlaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the area under the recall-overlap curve of each column, from overlap .5 to 1, at most 1."""
    return np.array([recall_area(column) for column in overlaps.T])


#: Training windows and held-out images.
Half = tuple[TrainingWindows, WindowPool]


def halves_of(pool: WindowPool) -> list[Half]:
    """Return the parts of a two-fold cross-validation."""
    halves = [pool.take(range(start, len(pool), 2)) for start in (0, 1)]
    return [(TrainingWindows.of(train), test) for train, test in (halves, halves[::-1])]


def choose_settings(halves: Sequence[Half], variant: str, best_windows: int) -> tuple[float, list[float]]:
    """Choose C, then the suppression for each of `COUNTS`, by two-fold cross-validation.

    The criterion is the final measure, the area under the recall-overlap curve; for C, with the suppression
    `FIRST_SUPPRESSION`, averaged over `COUNTS`. The smallest of equally good values is chosen.
    """
    weights = [[train_variant(samples, variant, C, best_windows) for samples, _ in halves] for C in C_GRID]

    def criterion(i: int, suppressions: Sequence[float]) -> NDArray[np.float64]:
        found = [
            areas_by_suppression(held_out, score_windows(held_out, of_half), suppressions)
            for of_half, (_, held_out) in zip(weights[i], halves, strict=True)
        ]
        return np.mean(found, axis=0)

    best = int(np.argmax([criterion(i, [FIRST_SUPPRESSION]).mean() for i in range(len(C_GRID))]))
    return C_GRID[best], best_suppressions(criterion(best, SUPPRESSIONS))


def best_suppressions(areas_of: NDArray[np.float64]) -> list[float]:
    """Return the suppression of the largest area for each column of (suppressions, counts)."""
    return [SUPPRESSIONS[k] for k in areas_of.argmax(axis=0)]


def _sum_of_differences(values: NDArray[np.float64]) -> float:
    """Return the sum of |a - b| over all pairs."""
    ordered = np.sort(values)
    return float(np.sum(ordered * (2 * np.arange(len(ordered)) - len(ordered) + 1)))


if "snakemake" in globals():
    run_stage(main, snakemake)
