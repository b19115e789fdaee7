"""The rings with the rotation as a latent variable, the foil of the equivariant SVM (abstract, section 1)."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.structured import LatentRisk, LatentSVM, LatentTransformationTask
from reproduction.experiments.equivariant_toy.rings import Points, PointTask, RingModel, equal_rotations

#: Rotations among which the latent variable chooses: steps of 15 degrees.
N_ROTATIONS = 24
#: Descents from different rotations of the given points.
N_DESCENTS = 4
#: Points that are classified to measure the time of predictions, and repetitions.
N_TIMED, REPEATS = 20_000, 3


@dataclass(frozen=True, eq=False)
class LatentRingModel:
    """Best of several descents; the score of a class is that of the best rotation of the point.

    ``objectives`` are those at the end of each descent; ``midpoint_rise`` is the largest relative amount by
    which the objective in the middle of two ends exceeds that of the worse one, at most 0 for a convex
    objective; ``seconds`` is the duration of all descents.
    """

    degree: int
    samples: Points
    weights: NDArray[np.float64]
    objectives: NDArray[np.float64]
    midpoint_rise: float
    seconds: float

    @property
    def spread(self) -> float:
        """Largest objective of the descents over the smallest, minus 1."""
        return float(self.objectives.max() / self.objectives.min() - 1.0)

    def predict(self, points: ArrayLike) -> NDArray[np.int64]:
        """Return the class of points of shape (..., 2)."""
        points = np.asarray(points, dtype=np.float64)
        best = np.full((*points.shape[:-1], len(self.weights)), -np.inf)
        for rotation in equal_rotations(N_ROTATIONS):
            cosine, sine = np.cos(rotation.angle), np.sin(rotation.angle)
            turned = points @ np.array([[cosine, sine], [-sine, cosine]])
            np.maximum(best, RingModel.scores(self, turned), out=best)
        return best.argmax(axis=-1)


def fit_latent_rings(samples: Points, degree: int, C: float, seed: int, tol: float = 1e-3) -> LatentRingModel:
    """Fit one point per class, with its rotation as a latent variable."""
    task = LatentTransformationTask(PointTask(len(samples), degree), list(equal_rotations(N_ROTATIONS)))
    classes, rng = np.arange(len(samples)), np.random.default_rng(seed)
    risk = LatentRisk(task, samples, classes)

    def objective(w: NDArray[np.float64]) -> float:
        return 0.5 * float(np.sum(w * w)) + C * len(samples) * risk(w)

    start = time.perf_counter()
    ends = []
    for descent in range(N_DESCENTS):
        # Weights that choose the first rotations; their size does not matter.
        first = rng.standard_normal(task.dimension) if descent else None
        ends.append(LatentSVM(task, C=C, tol=tol).fit(samples, classes, coef_init=first).coef_)
    seconds = time.perf_counter() - start
    objectives = np.array([objective(w) for w in ends])
    rises = [
        objective((ends[i] + ends[j]) / 2) / max(objectives[i], objectives[j]) - 1.0
        for i, j in combinations(range(N_DESCENTS), 2)
    ]
    return LatentRingModel(
        degree=degree,
        samples=samples,
        weights=ends[int(objectives.argmin())].reshape(len(samples), -1),
        objectives=objectives,
        midpoint_rise=max(rises),
        seconds=seconds,
    )


def prediction_seconds(models: Sequence[RingModel | LatentRingModel], seed: int) -> list[float]:
    """Return the shortest processor time of each model to classify the same random points."""
    points = np.random.default_rng(seed).normal(size=(N_TIMED, 2))
    seconds = []
    for model in models:
        durations = []
        for _ in range(REPEATS):
            start = time.process_time()
            model.predict(points)
            durations.append(time.process_time() - start)
        seconds.append(min(durations))
    return seconds
