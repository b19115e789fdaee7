"""Registration of volumes by Gauss-Newton least squares.

The fixed volume is compared with the moving one at points ``p``: ``moving(M p) = s fixed(p)``, with a gain
``s``. Each step moves the *fixed* volume (inverse compositional): its derivatives do not change, so that a
step costs one interpolation of the moving volume and a product of small matrices. Coordinates are millimeters
from a center, so that rotations and translations are nearly independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial.transform import Rotation

from ermlab._utils.blas import one_blas_thread
from ermlab.fmri._splines_numba import sample
from ermlab.fmri.images import sigmas, voxel_sizes

Matrix = NDArray[np.float64]
#: Share of the squared gradient at the points that are used; the others carry little information.
SHARE = 0.99
#: Smallest number of points in both volumes, for up to twelve parameters.
MIN_POINTS = 120


class NoOverlapError(ValueError):
    """Two volumes hardly overlap."""


@dataclass(frozen=True)
class Motion:
    """A family of motions: derivatives by its coefficients, and the matrix of given coefficients."""

    columns: Callable[[NDArray, NDArray], NDArray]  #: of points and gradients, (n_parameters, n_points)
    matrix: Callable[[NDArray], Matrix]


def _rigid_columns(points: NDArray, gradients: NDArray) -> NDArray:
    return np.concatenate([gradients, np.cross(points, gradients)], axis=1).T


def _rigid_matrix(step: NDArray) -> Matrix:
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_rotvec(step[3:6]).as_matrix()
    matrix[:3, 3] = step[:3]
    return matrix


def _similarity_columns(points: NDArray, gradients: NDArray) -> NDArray:
    radial = np.sum(points * gradients, axis=1)
    return np.vstack([_rigid_columns(points, gradients), radial])


def _similarity_matrix(step: NDArray) -> Matrix:
    matrix = _rigid_matrix(step)
    matrix[:3, :3] *= np.exp(step[6])
    return matrix


def _affine_columns(points: NDArray, gradients: NDArray) -> NDArray:
    products = gradients[:, :, None] * points[:, None, :]
    return np.concatenate([gradients, products.reshape(-1, 9)], axis=1).T


def _affine_matrix(step: NDArray) -> Matrix:
    matrix = np.eye(4)
    matrix[:3, :3] += step[3:].reshape(3, 3)
    matrix[:3, 3] = step[:3]
    return matrix


RIGID = Motion(_rigid_columns, _rigid_matrix)
SIMILARITY = Motion(_similarity_columns, _similarity_matrix)
AFFINE = Motion(_affine_columns, _affine_matrix)


def grid_center(shape: tuple[int, ...], affine: Matrix) -> NDArray[np.float64]:
    """Return the center of a grid in millimeters."""
    return affine[:3, :3] @ ((np.array(shape[:3]) - 1) / 2) + affine[:3, 3]


def shifted(offset: NDArray) -> Matrix:
    """Return the translation by ``offset``."""
    matrix = np.eye(4)
    matrix[:3, 3] = offset
    return matrix


class Moving:
    """A smoothed volume that can be evaluated anywhere, by cubic splines."""

    def __init__(self, volume: NDArray[np.float32], affine: Matrix, center: NDArray, fwhm: float):
        self.smoothed = ndimage.gaussian_filter(volume, sigmas(fwhm, affine), mode="nearest", truncate=3.0)
        self.coefficients = spline_coefficients(self.smoothed)
        self.voxel_of = np.linalg.inv(affine) @ shifted(center)

    def at(self, matrix: Matrix, points: NDArray) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the values at ``matrix @ points``, and a mask of the points inside the volume."""
        values, inside = np.empty(len(points)), np.empty(len(points), dtype=bool)
        sample(self.coefficients, (self.voxel_of @ matrix)[:3], points, values, inside)
        return values, inside


def spline_coefficients(volume: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the coefficients of the cubic spline through the voxels of a volume."""
    return ndimage.spline_filter(volume, order=3, output=np.float32, mode="mirror")


class Fixed:
    """Points of one or several volumes on one grid, with values and derivatives by a family of motions."""

    def __init__(
        self,
        volumes: list[NDArray[np.float32]],
        affine: Matrix,
        center: NDArray,
        motion: Motion,
        spacing: float,
        inside: NDArray[np.bool_] | None = None,
    ):
        self.motion = motion
        to_world = np.linalg.inv(affine[:3, :3])
        gradients = [np.stack(np.gradient(volume), axis=-1) @ to_world for volume in volumes]
        chosen = _informative(gradients, _every(volumes[0].shape, affine, spacing), inside)
        voxels = np.argwhere(chosen)
        self.points = voxels @ affine[:3, :3].T + affine[:3, 3] - center
        self.values = np.stack([volume[chosen] for volume in volumes]).astype(np.float64)
        self.gradients = np.stack([gradient[chosen] for gradient in gradients]).astype(np.float64)

    @cached_property
    def _first_design(self) -> NDArray[np.float64]:
        return self._design(np.ones(1))

    def _design(self, mixture: NDArray) -> NDArray[np.float64]:
        """Return values and derivatives of a mixture of the volumes, (1 + n_parameters, n_points)."""
        gradients = np.einsum("k,kpi->pi", mixture, self.gradients)
        return np.vstack([mixture @ self.values, self.motion.columns(self.points, gradients)])

    @cached_property
    def _first_normal(self) -> NDArray[np.float64]:
        return self._first_design @ self._first_design.T

    def step(self, seen: NDArray, inside: NDArray[np.bool_]) -> tuple[NDArray[np.float64], float]:
        """Return the coefficients of the best motion of the fixed volume, and the current dissimilarity.

        The latter is the squared residual before the step, relative to the squared values ``seen``.
        """
        if np.count_nonzero(inside) < MIN_POINTS:
            raise NoOverlapError("the volumes hardly overlap: expected two of one brain")
        weights = inside.astype(np.float64)
        seen = seen * weights
        if not seen.any():
            raise NoOverlapError("a volume is 0 where the other one is not: expected two of one brain")
        values = self.values * weights
        mixture = np.linalg.lstsq(values @ values.T, values @ seen, rcond=None)[0]
        unlike = float(np.sum((seen - mixture @ values) ** 2) / np.sum(seen**2))
        if len(self.values) == 1:
            design, normal = self._first_design, self._first_normal
            outside = design[:, ~inside]
            normal = normal - outside @ outside.T
        else:
            design = self._design(mixture) * weights
            normal = design @ design.T
        found = np.linalg.lstsq(normal, design @ seen, rcond=None)[0]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = found[1:] / found[0]
        if not np.isfinite(step).all():
            raise NoOverlapError("the volumes have nothing in common: expected two of one brain")
        return step, unlike


def register(
    moving: Moving, fixed: Fixed, start: Matrix, tol: float, max_iter: int = 50
) -> tuple[Matrix, float]:
    """Return ``M`` with ``moving(M p) = s fixed(p)``, and the remaining dissimilarity.

    The iteration ends when a step moves no point by ``tol`` millimeters; a step that increases the
    dissimilarity is halved.
    """
    corners = _corners(fixed.points)
    matrix, unlike = start, np.inf
    trial, change = start, None
    for _ in range(max_iter):
        with one_blas_thread():
            step, now = fixed.step(*moving.at(trial, fixed.points))
        if now <= unlike:
            matrix, unlike, change = trial, now, step
        else:
            change = change / 2
        trial = matrix @ _inverse(fixed.motion.matrix(change))
        moved = (trial - matrix)[:3, :3] @ corners + (trial - matrix)[:3, 3:]
        if np.abs(moved).max() < tol:
            return trial, unlike
    return matrix, unlike


def _inverse(motion: Matrix) -> Matrix:
    try:
        return np.linalg.inv(motion)
    except np.linalg.LinAlgError as error:  # a step between very different volumes may be singular
        raise NoOverlapError("the volumes have nothing in common: expected two of one brain") from error


def _corners(points: NDArray) -> NDArray[np.float64]:
    """Return the corners of the box around the points, of shape (3, 8)."""
    ends = np.stack([points.min(axis=0), points.max(axis=0)])
    return np.stack(np.meshgrid(*ends.T)).reshape(3, -1)


def _every(shape: tuple[int, ...], affine: Matrix, spacing: float) -> NDArray[np.bool_]:
    """Return a mask of voxels about ``spacing`` millimeters apart, without the outermost."""
    chosen = np.zeros(shape, dtype=bool)
    steps = np.clip(np.round(spacing / voxel_sizes(affine)), 1, max(shape)).astype(int)
    chosen[tuple(slice(1, -1, step) for step in steps)] = True
    return chosen


def _informative(
    gradients: list[NDArray], chosen: NDArray[np.bool_], inside: NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """Return a mask of the fewest voxels that hold `SHARE` of the squared gradient."""
    if inside is not None:
        chosen = chosen & inside
    sizes = sum(np.sum(gradient.astype(np.float64) ** 2, axis=-1) for gradient in gradients) * chosen
    order = np.sort(sizes[chosen])[::-1]
    if not len(order) or not order[0] > 0:
        raise ValueError("a volume is the same everywhere: expected a brain to register")
    least = order[np.searchsorted(np.cumsum(order), SHARE * order.sum())]
    return chosen & (sizes >= least)
