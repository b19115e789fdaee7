"""Random quadratic risks, and their minima with a penalty (thesis, eq. 2.6) or on a level set (eq. 2.7)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reproduction.experiments.level_sets.regularizers import CONVEX, Regularizer, supports

Vectors = NDArray[np.float64]

#: Eigenvalues of the risks are between these, uniform on a logarithmic scale.
EIGENVALUES = (0.05, 1.0)
#: Steps of the proximal gradient method, and for the last penalty; each reduces the error by a fifth.
STEPS, LAST_STEPS = 50, 300
#: Range of the strengths of a penalty, and steps of the search.
STRENGTHS = (1e-9, 1e6)
SEARCH_STEPS = 45
#: Directions along each angle at first and in each refinement, and by how much it reduces their distance.
FIRST_ANGLES, ANGLES, REFINEMENTS, REDUCTION = 61, 21, 16, 0.4


@dataclass(frozen=True)
class Risks:
    """Risks ``1/2 (w - c)' A (w - c)``, one per row."""

    A: Vectors  #: (n, d, d)
    c: Vectors  #: (n, d)

    def __len__(self) -> int:
        return len(self.c)

    def __getitem__(self, rows: slice | Vectors) -> "Risks":
        return Risks(self.A[rows], self.c[rows])

    def __call__(self, w: Vectors) -> Vectors:
        """Return the risk of each row of ``w``."""
        return 0.5 * np.einsum("ni,nij,nj->n", w - self.c, self.A, w - self.c)

    def gradient(self, w: Vectors) -> Vectors:
        """Return the gradient of each row."""
        return (self.A @ (w - self.c)[:, :, None])[:, :, 0]


def draw_risks(n: int, d: int, rng: np.random.Generator) -> Risks:
    """Draw risks with random eigenvectors and eigenvalues, and normal minima."""
    Q = np.linalg.qr(rng.normal(size=(n, d, d)))[0]
    low, high = np.log(EIGENVALUES)
    eigenvalues = np.exp(rng.uniform(low, high, size=(n, d)))
    return Risks(np.einsum("nij,nj,nkj->nik", Q, eigenvalues, Q), rng.normal(size=(n, d)))


def minimize_penalized(
    risks: Risks, regularizer: Regularizer, strengths: Vectors, start: Vectors, steps: int = LAST_STEPS
) -> Vectors:
    """Minimize ``risk + strength Omega`` (eq. 2.6) by the accelerated proximal gradient method."""
    eigenvalues = np.linalg.eigvalsh(risks.A)
    largest = eigenvalues[:, -1]
    root = np.sqrt(eigenvalues[:, 0] / largest)
    momentum = ((1 - root) / (1 + root))[:, None]
    w = previous = start
    for _ in range(steps):
        ahead = w + momentum * (w - previous)
        previous = w
        w = regularizer.prox(ahead - risks.gradient(ahead) / largest[:, None], strengths / largest)
    return w


def minimize_at_level(risks: Risks, regularizer: Regularizer, levels: Vectors) -> tuple[Vectors, Vectors]:
    """Return penalized minimizers whose regularizer has the given levels, and the strengths of the penalties.

    Levels above those of the minima of the risks cannot be reached; the weakest penalty comes closest.
    """
    low, high = (np.full(len(risks), np.log(strength)) for strength in STRENGTHS)
    w = np.zeros_like(risks.c)
    for _ in range(SEARCH_STEPS):
        middle = (low + high) / 2
        w = minimize_penalized(risks, regularizer, np.exp(middle), w, STEPS)
        above = regularizer.value(w) > levels
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    strengths = np.exp(high)
    return minimize_penalized(risks, regularizer, strengths, w), strengths


def minimize_sparse(risks: Risks, k: int) -> Vectors:
    """Minimize the risks over vectors of ``k`` non-zeros (eq. 2.8 with the L0 pseudo-norm) by enumeration."""
    best, least = np.zeros_like(risks.c), np.full(len(risks), np.inf)
    target = np.einsum("nij,nj->ni", risks.A, risks.c)
    for support in supports(risks.c.shape[1], k):
        rows = list(support)
        w = np.zeros_like(risks.c)
        block = risks.A[:, rows][:, :, rows]
        w[:, rows] = np.linalg.solve(block, target[:, rows, None])[:, :, 0]
        value = risks(w)
        better = value < least
        best[better], least[better] = w[better], value[better]
    return best


def search_level_set(risk: Risks, regularizer: Regularizer, level: float) -> Vectors:
    """Minimize one risk in three dimensions over a level set (eq. 2.7, 2.8) by a search over all directions.

    Directions are scaled to the level set. The search is refined around the best one, in the plane that is
    orthogonal to it. As level sets have edges where a coefficient is 0, which a grid would miss, directions
    are also tried with each coefficient set to 0.
    """

    def best_of(directions: Vectors) -> Vectors:
        directions = np.concatenate([directions, *(directions * (np.arange(3) != i) for i in range(3))])
        directions = directions[directions.any(axis=1)]
        points = regularizer.to_level(directions, level)
        offsets = points - risk.c[0]
        return points[np.argmin(np.einsum("ni,ij,nj->n", offsets, risk.A[0], offsets))]

    polar, azimuth = np.meshgrid(np.linspace(0, np.pi, FIRST_ANGLES), np.linspace(0, 2 * np.pi, FIRST_ANGLES))
    best = best_of(sphere(polar, azimuth).reshape(-1, 3))
    steps = np.linspace(-1, 1, ANGLES)
    plane = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    width = 4 * np.pi / FIRST_ANGLES
    for _ in range(REFINEMENTS):
        direction = best / np.linalg.norm(best)
        tangents = np.linalg.svd(direction[None])[2][1:]
        best = best_of(direction + width * plane @ tangents)
        width *= REDUCTION
    return best


def sphere(polar: Vectors, azimuth: Vectors) -> Vectors:
    """Return points of the unit sphere, with their coordinates along the last axis."""
    return np.stack(
        [np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)], axis=-1
    )


def reachable(name: str, risks: Risks, levels: Vectors, tol: float) -> tuple[NDArray[np.bool_], Vectors]:
    """Return for which risks the minimum on a level set has a penalty, and the distances of both minima."""
    regularizer = CONVEX[name]
    penalized, _ = minimize_at_level(risks, regularizer, levels)
    found = np.array([search_level_set(risks[i : i + 1], regularizer, levels[i]) for i in range(len(risks))])
    distances = np.linalg.norm(penalized - found, axis=1)
    return distances <= tol, distances
