"""Rigid realignment of a series: how the head moved, and the series without it (thesis, section 4.1.3)."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
from nibabel.spatialimages import SpatialImage
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from ermlab.fmri._registration import (
    RIGID,
    Fixed,
    Matrix,
    Moving,
    grid_centre,
    register,
    shifted,
    spline_coefficients,
)
from ermlab.fmri._splines_numba import reslice
from ermlab.fmri.images import ImageLike, as_series, check_fwhm, series_like, volumes_first

#: Voxels along each axis that a rigid motion can be seen with.
LEAST_VOXELS = 4
TARGETS = ("first", "mean")


@dataclass(frozen=True)
class Realignment:
    """A realigned series and the motion that was taken out.

    Attributes
    ----------
    img
        The series on the grid of its first volume; voxels that some volume does not show are 0 in all.
    parameters
        (volumes, 6): how the head lies at each volume against the first, shifts along x, y, z in millimetres
        and rotations about them in degrees, right-handed, about the middle of the grid. Rotations apply in
        the order z, y, x, then the shift.
    """

    img: SpatialImage
    parameters: NDArray[np.float64]


def realign(
    img: ImageLike,
    *,
    to: str = "mean",
    fwhm: float = 5.0,
    spacing: float = 4.0,
    tolerance: float = 0.005,
) -> Realignment:
    """Find the rigid motion of each volume by least squares, and take it out.

    As SPM does: volumes are smoothed, compared at points some millimetres apart, with a gain for each, and
    brought to the first one, then to the mean of all so realigned. Reslicing is by cubic splines.

    Parameters
    ----------
    to
        ``"mean"``: in a second pass to the mean of the first pass; ``"first"``: the first pass only.
    fwhm
        Smoothing in millimetres for the estimate; what is resliced is not smoothed.
    spacing
        Millimetres between the points compared.
    tolerance
        Millimetres by which the last step moves any point at most.
    """
    img = as_series(img)
    fwhm = check_fwhm(fwhm, img.affine)
    for name, millimetres in (("spacing", spacing), ("tolerance", tolerance)):
        if not (isinstance(millimetres, Real) and 0 < millimetres < np.inf):
            raise ValueError(f"{name} is {millimetres!r}: expected millimetres above 0")
    if to not in TARGETS:
        raise ValueError(f"to is {to!r}: expected one of {TARGETS}")
    if min(img.shape[:3]) < LEAST_VOXELS:
        raise ValueError(f"img has shape {img.shape}: expected {LEAST_VOXELS} voxels or more along each axis")
    volumes = volumes_first(img)
    flat = np.flatnonzero(np.ptp(volumes.reshape(len(volumes), -1), axis=1) == 0)
    if len(flat):
        raise ValueError(f"volume {flat[0]} of img is the same everywhere: expected a brain")
    affine, centre = img.affine, grid_centre(img.shape, img.affine)

    def moving(t: int) -> Moving:
        return Moving(volumes[t], affine, centre, fwhm)

    def fixed(volume: NDArray, inside: NDArray | None = None) -> Fixed:
        return Fixed([volume], affine, centre, RIGID, spacing, inside)

    first = moving(0)
    target, matrices = fixed(first.smoothed), [np.eye(4)]
    mean, shown = first.smoothed.astype(np.float64), np.ones(img.shape[:3], dtype=bool)
    resliced = np.empty_like(first.smoothed)
    for t in range(1, len(volumes)):
        volume = moving(t)
        # Heads move little from one volume to the next.
        matrices.append(register(volume, target, matrices[-1], tolerance)[0])
        reslice(volume.coefficients, _voxels(matrices[-1], affine, centre), resliced, shown)
        mean += resliced
    if to == "mean":
        target = fixed((mean / len(volumes)).astype(np.float32), shown)
        matrices = [register(moving(t), target, matrix, tolerance)[0] for t, matrix in enumerate(matrices)]
        back = np.linalg.inv(matrices[0])
        matrices = [matrix @ back for matrix in matrices]
    motions = [_voxels(matrix, affine, centre) for matrix in matrices]
    return Realignment(
        series_like(img, _resliced(volumes, motions)), np.array([_parameters(matrix) for matrix in matrices])
    )


def excessive_motion(parameters: ArrayLike, translation: float = 2.0, rotation: float = 2.0) -> bool:
    """Say whether a head moved so much against its first volume that the scan is left out (thesis, 4.2.2).

    Kept are scans that stay *below* ``translation`` millimetres and ``rotation`` degrees along every axis.
    """
    motion = np.asarray(parameters, dtype=np.float64)
    if motion.ndim != 2 or motion.shape[1] != 6 or not np.isfinite(motion).all():
        raise ValueError(f"parameters of shape {motion.shape}: expected six finite numbers for each volume")
    sizes = np.abs(motion).max(axis=0, initial=0.0)
    return bool(sizes[:3].max() >= translation or sizes[3:].max() >= rotation)


def _voxels(matrix: Matrix, affine: Matrix, centre: NDArray) -> NDArray[np.float64]:
    """Return a motion of millimetres about the centre as one of voxels, (3, 4)."""
    return (np.linalg.inv(affine) @ shifted(centre) @ matrix @ shifted(-centre) @ affine)[:3]


def _parameters(matrix: Matrix) -> NDArray[np.float64]:
    angles = Rotation.from_matrix(matrix[:3, :3]).as_euler("XYZ", degrees=True)
    return np.concatenate([matrix[:3, 3], angles])


def _resliced(volumes: NDArray[np.float32], motions: list[NDArray]) -> NDArray[np.float32]:
    """Return the volumes without their motions, 0 where one of them has no voxel."""
    seen = np.ones(volumes.shape[1:], dtype=bool)
    resliced = np.empty_like(volumes)
    for volume, motion, target in zip(volumes, motions, resliced, strict=True):
        reslice(spline_coefficients(volume), motion, target, seen)
    return np.multiply(resliced, seen, out=resliced)
