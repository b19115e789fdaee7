"""Resampling of a volume after motion."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

#: Largest entry of a motion, so that voxel indices fit into 64 bits.
_LARGEST = 1e9


def resample(
    volume: NDArray[np.floating], matrix: NDArray[np.float64], offset: NDArray[np.float64]
) -> NDArray[np.floating]:
    """Return ``volume`` at ``matrix @ voxel + offset`` for every voxel; 0 outside.

    Several times as fast as the splines of SciPy; a simulation resamples thousands of volumes.
    """
    if volume.ndim != 3 or volume.dtype.kind != "f":
        raise ValueError(f"volume of shape {volume.shape}, type {volume.dtype}: expected (x, y, z) floats")
    for name, values, shape in (("matrix", matrix, (3, 3)), ("offset", offset, (3,))):
        if values.shape != shape or not (np.abs(values) <= _LARGEST).all():
            raise ValueError(f"{name} is {values.tolist()}: expected {shape} numbers of at most {_LARGEST:g}")
    return _resample(volume, matrix, offset)


@njit(cache=True)
def _keys(distance):
    """Cubic convolution kernel of Keys (1981): third order, and exact at the voxels."""
    d = abs(distance)
    if d < 1.0:
        return (1.5 * d - 2.5) * d * d + 1.0
    if d < 2.0:
        return ((-0.5 * d + 2.5) * d - 4.0) * d + 2.0
    return 0.0


@njit(cache=True)
def _resample(volume, matrix, offset):
    nx, ny, nz = volume.shape
    result = np.zeros_like(volume)
    wx, wy, wz = np.empty(4), np.empty(4), np.empty(4)
    for x in range(nx):
        for y in range(ny):
            for z in range(nz):
                px = matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2] * z + offset[0]
                py = matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2] * z + offset[1]
                pz = matrix[2, 0] * x + matrix[2, 1] * y + matrix[2, 2] * z + offset[2]
                fx, fy, fz = int(np.floor(px)) - 1, int(np.floor(py)) - 1, int(np.floor(pz)) - 1
                for i in range(4):
                    wx[i] = _keys(px - fx - i)
                    wy[i] = _keys(py - fy - i)
                    wz[i] = _keys(pz - fz - i)
                total = 0.0
                for i in range(4):
                    if 0 <= fx + i < nx and wx[i] != 0.0:
                        for j in range(4):
                            if 0 <= fy + j < ny and wy[j] != 0.0:
                                line = 0.0
                                for k in range(4):
                                    if 0 <= fz + k < nz:
                                        line += wz[k] * volume[fx + i, fy + j, fz + k]
                                total += wx[i] * wy[j] * line
                result[x, y, z] = total
    return result
