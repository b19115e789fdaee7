"""Rigid realignment: estimation and removal of head motion (thesis, section 4.1.3)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from ermlab.fmri._registration import (
    RIGID,
    Fixed,
    Matrix,
    Moving,
    grid_center,
    register,
    shifted,
    spline_coefficients,
)
from ermlab.fmri._splines_numba import reslice
from ermlab.fmri.images import ImageLike, SpatialImage, as_series, check_fwhm, series_like, volumes_first

#: Smallest number of voxels along each axis.
MIN_VOXELS = 4
TARGETS = ("first", "mean")


@dataclass(frozen=True)
class Realignment:
    """A realigned series and the motion that was removed.

    Attributes
    ----------
    img : image
        The series on the grid of its first volume; voxels that lie outside any of the volumes are 0 in all.
    parameters : ndarray of shape (n_volumes, 6)
        Position of the head relative to the first volume: translations along x, y, z in millimeters, then
        right-handed rotations about these axes through the center of the grid in degrees. Rotations apply in
        the order z, y, x, before the translation.
    """

    img: SpatialImage
    parameters: NDArray[np.float64]


def realign(
    img: ImageLike,
    *,
    to: str = "mean",
    fwhm: float = 5.0,
    spacing: float = 4.0,
    tol: float = 0.005,
) -> Realignment:
    """Estimate the rigid motion of each volume by least squares, and remove it.

    As in SPM, smoothed volumes are compared at a grid of points, with a gain for each volume. They are
    registered to the first volume, then to the mean of the realigned volumes, and resliced by cubic splines.

    Parameters
    ----------
    img : image or str or Path
        A series.
    to : {"mean", "first"}, default="mean"
        Target of the registration: the mean of a first pass, or the first volume.
    fwhm : float, default=5.0
        Smoothing for the estimation in millimeters; the resliced volumes are not smoothed.
    spacing : float, default=4.0
        Distance of the points in millimeters.
    tol : float, default=0.005
        Largest movement of a point by the last step, in millimeters.
    """
    img = as_series(img)
    fwhm = check_fwhm(fwhm, img.affine)
    for name, millimeters in (("spacing", spacing), ("tol", tol)):
        if not (isinstance(millimeters, Real) and 0 < millimeters < np.inf):
            raise ValueError(f"{name} is {millimeters!r}: expected millimeters above 0")
    if to not in TARGETS:
        raise ValueError(f"to is {to!r}: expected one of {TARGETS}")
    if min(img.shape[:3]) < MIN_VOXELS:
        raise ValueError(f"img has shape {img.shape}: expected {MIN_VOXELS} voxels or more along each axis")
    volumes = volumes_first(img)
    flat = np.flatnonzero(np.ptp(volumes.reshape(len(volumes), -1), axis=1) == 0)
    if len(flat):
        raise ValueError(f"volume {flat[0]} of img is the same everywhere: expected a brain")
    affine, center = img.affine, grid_center(img.shape, img.affine)

    def moving(t: int) -> Moving:
        return Moving(volumes[t], affine, center, fwhm)

    def fixed(volume: NDArray, inside: NDArray | None = None) -> Fixed:
        return Fixed([volume], affine, center, RIGID, spacing, inside)

    first = moving(0)
    target, matrices = fixed(first.smoothed), [np.eye(4)]
    mean, shown = first.smoothed.astype(np.float64), np.ones(img.shape[:3], dtype=bool)
    resliced = np.empty_like(first.smoothed)
    for t in range(1, len(volumes)):
        volume = moving(t)
        # Heads move little from one volume to the next.
        matrices.append(register(volume, target, matrices[-1], tol)[0])
        reslice(volume.coefficients, _voxels(matrices[-1], affine, center), resliced, shown)
        mean += resliced
    if to == "mean":
        target = fixed((mean / len(volumes)).astype(np.float32), shown)
        matrices = [register(moving(t), target, matrix, tol)[0] for t, matrix in enumerate(matrices)]
        back = np.linalg.inv(matrices[0])
        matrices = [matrix @ back for matrix in matrices]
    motions = [_voxels(matrix, affine, center) for matrix in matrices]
    return Realignment(
        series_like(img, _resliced(volumes, motions)), np.array([_parameters(matrix) for matrix in matrices])
    )


def excessive_motion(parameters: ArrayLike, translation: float = 2.0, rotation: float = 2.0) -> bool:
    """Return whether a head moved too much relative to its first volume (thesis, section 4.2.2).

    Parameters
    ----------
    parameters : array-like of shape (n_volumes, 6)
        As in `Realignment`.
    translation, rotation : float, default=2.0
        Limits in millimeters and degrees; motion must stay below them along every axis.
    """
    motion = np.asarray(parameters, dtype=np.float64)
    if motion.ndim != 2 or motion.shape[1] != 6 or not np.isfinite(motion).all():
        raise ValueError(f"parameters of shape {motion.shape}: expected six finite numbers per volume")
    sizes = np.abs(motion).max(axis=0, initial=0.0)
    return bool(sizes[:3].max() >= translation or sizes[3:].max() >= rotation)


def _voxels(matrix: Matrix, affine: Matrix, center: NDArray) -> NDArray[np.float64]:
    """Return a motion in millimeters about the center as one in voxels, of shape (3, 4)."""
    return (np.linalg.inv(affine) @ shifted(center) @ matrix @ shifted(-center) @ affine)[:3]


def _parameters(matrix: Matrix) -> NDArray[np.float64]:
    angles = Rotation.from_matrix(matrix[:3, :3]).as_euler("XYZ", degrees=True)
    return np.concatenate([matrix[:3, 3], angles])


def _resliced(volumes: NDArray[np.float32], motions: list[NDArray]) -> NDArray[np.float32]:
    """Return the volumes without their motions, 0 where one of them is outside."""
    seen = np.ones(volumes.shape[1:], dtype=bool)
    resliced = np.empty_like(volumes)
    for volume, motion, target in zip(volumes, motions, resliced, strict=True):
        reslice(spline_coefficients(volume), motion, target, seen)
    return np.multiply(resliced, seen, out=resliced)
