"""Model and measures of the rings in the plane (equivariant structured SVM, section 1.1 and figure 1).

The classes are circles around the origin, so they are invariant to rotations. One point of each is given.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.kernels.polynomial import n_features, polynomial_features
from ermlab.structured.equivariant import (
    AngleRange,
    EquivariantTask,
    FiniteSet,
    Rotation,
    Transformations,
)
from ermlab.structured.multiclass import MultiClassTask
from ermlab.structured.structured_svm import StructuredSVM

Points = NDArray[np.float64]
#: Radii of the three classes, as far from each other as the innermost is from the origin.
RADII = (1 / 3, 2 / 3, 1.0)
#: Radius of the disc that is evaluated, with room around the outermost class.
DISC = 1.25
#: Points of the search grid per period of the shortest wave of a score along a circle.
GRID_PER_WAVE = 8
#: Size of the reference grid for counts of virtual samples: all rotations by whole degrees.
FINE_GRID = 360


class PointTask(MultiClassTask):
    """Classes of points; ``phi(x, y)`` has the polynomial features of ``x`` in the block of class ``y``."""

    def __init__(self, n_classes: int, degree: int, dimension: int = 2):
        super().__init__(n_classes, n_features(dimension, degree))
        self.degree = degree
        self._last: tuple[Points, NDArray[np.float64]] | None = None

    def joint_feature(self, x: Points, y: int) -> NDArray[np.float64]:
        """Return the features of the point ``x`` in the block of class ``y``, 0 elsewhere."""
        return super().joint_feature(self._point_features(x), y)

    def most_violated(self, w: NDArray[np.float64], x: Points, y: int, rescaling: str) -> int:
        """Return the most violated class, ``y`` itself if none is violated."""
        scores = w.reshape(self.n_classes, -1) @ self._point_features(x)
        margins = scores - scores[y]
        losses = self.losses[y]
        return int(np.argmax(losses * (1 + margins) if rescaling == "slack" else losses + margins))

    def _point_features(self, x: Points) -> NDArray[np.float64]:
        """Return the features of a point, kept because a solver asks for them three times in a row."""
        if self._last is None or self._last[0] is not x:
            self._last = (x, polynomial_features(x, self.degree))
        return self._last[1]

    def _features(self, X: ArrayLike) -> NDArray[np.float64]:
        return super()._features(polynomial_features(X, self.degree))


@dataclass(frozen=True, eq=False)
class RingModel:
    """Model that was fitted to one point per ring.

    ``weights`` has one row per class; ``virtual`` are the rotated points that the optimizer used, ``sample``
    the index of the given point of each; ``objective`` and ``n_iter`` are those of the solver.
    """

    degree: int
    samples: Points
    weights: NDArray[np.float64]
    virtual: Points
    sample: NDArray[np.int64]
    objective: float
    n_iter: int

    def scores(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the score of each class for points of shape (..., 2)."""
        return polynomial_features(points, self.degree) @ self.weights.T

    def predict(self, points: ArrayLike) -> NDArray[np.int64]:
        """Return the class of points of shape (..., 2)."""
        return self.scores(points).argmax(axis=-1)

    def margin(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the difference of the best and the second best score."""
        ordered = np.sort(self.scores(points), axis=-1)
        return ordered[..., -1] - ordered[..., -2]


def draw_samples(rng: np.random.Generator, radii: ArrayLike = RADII) -> Points:
    """Return one point on each ring, each at a random angle."""
    angles = rng.uniform(-np.pi, np.pi, len(radii))
    return np.asarray(radii)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])


def rotations(limit: float, degree: int) -> AngleRange:
    """Return all rotations between ``-limit`` and ``limit``, with a search grid for polynomials of a degree.

    Along a circle a score is a sum of waves; the shortest has ``degree`` periods.
    """
    if degree < 1:
        raise ValueError(f"degree is {degree}: expected at least 1")
    return AngleRange(Rotation, limit, step=2 * np.pi / (GRID_PER_WAVE * degree))


def equal_rotations(count: int) -> FiniteSet:
    """Return ``count`` equally spaced rotations, the identity first.

    If ``count`` exceeds the degree of the polynomials, they have the same solution as all rotations: the
    problem is strictly convex and invariant to these rotations, so its minimizer is invariant too, and the
    constant is the only wave of at most that degree which is.
    """
    return FiniteSet([Rotation(2 * np.pi * k / count) for k in range(count)])


def fit_rings(
    samples: Points,
    transformations: Transformations,
    degree: int,
    C: float,
    tol: float = 1e-3,
    solver: str = "auto",
) -> RingModel:
    """Fit one point per class with a loss that is invariant to the transformations (eq. 2)."""
    samples = np.asarray(samples, dtype=np.float64)
    if samples.ndim != 2 or samples.shape[1] != 2 or not np.isfinite(samples).all():
        raise ValueError(f"samples of shape {samples.shape}: expected (K, 2), one finite point per class")
    task = EquivariantTask(PointTask(len(samples), degree), transformations)
    svm = StructuredSVM(task, C=C, rescaling="slack", tol=tol, solver=solver)
    svm.fit(samples, np.arange(len(samples)))
    # With the identity alone the task records nothing: the points themselves are used.
    chosen = svm.virtual_samples_ or [(i, 0.0) for i in range(len(samples))]
    used = _distinct([(i, transformations[name].angle) for i, name in chosen])
    return RingModel(
        degree=degree,
        samples=samples,
        weights=svm.coef_.reshape(len(samples), -1),
        virtual=np.array([Rotation(angle).input(samples[i]) for i, angle in used]),
        sample=np.array([i for i, _ in used]),
        objective=svm.result_.value * C * len(samples),
        n_iter=svm.result_.n_iter,
    )


def virtual_share(model: RingModel) -> float:
    """Return the number of virtual samples as a share of those of the reference grid."""
    return len(model.virtual) / (FINE_GRID * len(model.samples))


def symmetry_error(model: RingModel, radii: int = 200, angles: int = 720) -> float:
    """Return the share of the disc's area that breaks the circular symmetry of the predicted regions.

    On each circle around the origin this is the share of points outside its most frequent class. It is 0 if
    and only if the class depends on the radius alone, and at most ``1 - 1/K`` with ``K`` classes.
    """
    r, classes = _on_circles(model, radii, angles)
    counts = np.stack([(classes == k).mean(axis=1) for k in range(len(model.samples))])
    return float(np.average(1 - counts.max(axis=0), weights=r))


def ring_error(model: RingModel, radii: int = 200, angles: int = 720) -> float:
    """Return the share of the disc's area whose class is not that of the sample with the nearest radius."""
    r, classes = _on_circles(model, radii, angles)
    true = np.abs(r[:, None] - np.linalg.norm(model.samples, axis=1)).argmin(axis=1)
    return float(np.average((classes != true[:, None]).mean(axis=1), weights=r))


def _on_circles(model: RingModel, radii: int, angles: int) -> tuple[NDArray, NDArray[np.int64]]:
    """Return the radii of circles in the disc, and the predicted classes on each."""
    if min(radii, angles) < 1:
        raise ValueError(f"{radii} radii and {angles} angles: expected at least 1 of each")
    r = DISC * (np.arange(radii) + 0.5) / radii
    angle = 2 * np.pi * np.arange(angles) / angles
    points = r[:, None, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return r, model.predict(points)


def _distinct(used: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return one virtual sample per point of the reference grid, the last that is nearest to it."""
    nearest = {(i, round(angle / (2 * np.pi) * FINE_GRID) % FINE_GRID): (i, angle) for i, angle in used}
    return list(nearest.values())
