"""Evaluation of cubic splines at moved points and voxels, the inner loop of registration.

Coefficients are those of ``scipy.ndimage.spline_filter`` with mode "mirror". Points outside the volume are
moved to its edge. Indices are unsigned, since numba tests signed ones for being negative at each use.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

#: Distance in voxels beyond the outermost ones that still counts as inside, as in SPM.
EDGE = 0.05
#: Largest entry of a motion matrix: products with points stay finite.
_LARGEST = 1e100


def sample(
    coefficients: NDArray, motion: NDArray, points: NDArray, values: NDArray, inside: NDArray[np.bool_]
) -> None:
    """Fill in the value at each point, moved by ``motion`` of shape (3, 4), and whether it lies inside."""
    _check_motion(coefficients, motion)
    if points.ndim != 2 or points.shape[1] != 3 or not values.shape == inside.shape == points.shape[:1]:
        raise ValueError(
            f"points, values and inside of shapes {points.shape}, {values.shape} and {inside.shape}: "
            "expected (n, 3), (n,) and (n,)"
        )
    # The loop would read out of bounds at NaN. One product is the fastest test.
    if not np.isfinite(np.vdot(points, points)):
        raise ValueError("squares of the points do not have a finite sum: expected finite coordinates")
    _sample(_at_least_two(coefficients), motion, points, values, inside)
    for axis in _single(coefficients):
        inside &= np.abs(points @ motion[axis, :3] + motion[axis, 3]) <= EDGE


def reslice(coefficients: NDArray, motion: NDArray, volume: NDArray, inside: NDArray[np.bool_]) -> None:
    """Fill in the value at each voxel, moved by ``motion`` (3, 4); ``inside`` turns False outside."""
    _check_motion(coefficients, motion)
    if volume.ndim != 3 or inside.shape != volume.shape:
        raise ValueError(
            f"volume {volume.shape} and inside {inside.shape}: expected three dimensions, the same"
        )
    _reslice(_at_least_two(coefficients), motion, volume, inside)
    for axis in _single(coefficients):
        steps = zip(motion[axis, :3], np.indices(volume.shape, sparse=True), strict=True)
        inside &= np.abs(sum(step * index for step, index in steps) + motion[axis, 3]) <= EDGE


def _single(coefficients: NDArray) -> list[int]:
    return [axis for axis, length in enumerate(coefficients.shape) if length == 1]


def _at_least_two(coefficients: NDArray) -> NDArray:
    """Repeat a single voxel along an axis: the spline is constant, and the loops need two."""
    for axis in _single(coefficients):
        coefficients = np.repeat(coefficients, 2, axis=axis)
    return coefficients


def _check_motion(coefficients: NDArray, motion: NDArray) -> None:
    if coefficients.ndim != 3 or not coefficients.size:
        raise ValueError(f"coefficients of shape {coefficients.shape}: expected three dimensions, not empty")
    if motion.shape != (3, 4) or not (np.abs(motion) <= _LARGEST).all():
        raise ValueError(f"motion is {motion.tolist()}: expected (3, 4) finite numbers")


@njit(cache=True)
def _weigh(x, n, weights, places):
    """Fill in weights and indices of the four coefficients around ``x``; return whether it lies inside."""
    inside = -EDGE <= x <= n - 1 + EDGE
    x = min(max(x, 0.0), n - 1.0)
    first = min(int(x), n - 2)
    t = x - first
    s = 1.0 - t
    weights[0] = s * s * s / 6.0
    weights[1] = 2.0 / 3.0 - 0.5 * t * t * (2.0 - t)
    weights[2] = 2.0 / 3.0 - 0.5 * s * s * (2.0 - s)
    weights[3] = t * t * t / 6.0
    for k in range(4):
        place = abs(first - 1 + k)
        places[k] = place if place < n else 2 * (n - 1) - place
    return inside


@njit(cache=True)
def _mix(coefficients, weights, places):
    """Return the weighted sum of the 4 x 4 x 4 coefficients."""
    total = 0.0
    z0, z1, z2, z3 = places[2, 0], places[2, 1], places[2, 2], places[2, 3]
    w0, w1, w2, w3 = weights[2, 0], weights[2, 1], weights[2, 2], weights[2, 3]
    for i in range(4):
        x, plane = places[0, i], 0.0
        for j in range(4):
            y = places[1, j]
            plane += weights[1, j] * (
                w0 * coefficients[x, y, z0]
                + w1 * coefficients[x, y, z1]
                + w2 * coefficients[x, y, z2]
                + w3 * coefficients[x, y, z3]
            )
        total += weights[0, i] * plane
    return total


@njit(cache=True)
def _sample(coefficients, motion, points, values, inside):
    weights, places = np.empty((3, 4)), np.empty((3, 4), dtype=np.uint64)
    for p in range(len(points)):
        seen = True
        for a in range(3):
            x = motion[a, 3]
            for b in range(3):
                x += motion[a, b] * points[p, b]
            seen &= _weigh(x, coefficients.shape[a], weights[a], places[a])
        inside[p] = seen
        values[p] = _mix(coefficients, weights, places)


@njit(cache=True)
def _reslice(coefficients, motion, volume, inside):
    weights, places = np.empty((3, 4)), np.empty((3, 4), dtype=np.uint64)
    for i in range(volume.shape[0]):
        for j in range(volume.shape[1]):
            for k in range(volume.shape[2]):
                seen = True
                for a in range(3):
                    x = motion[a, 0] * i + motion[a, 1] * j + motion[a, 2] * k + motion[a, 3]
                    seen &= _weigh(x, coefficients.shape[a], weights[a], places[a])
                inside[i, j, k] &= seen
                volume[i, j, k] = _mix(coefficients, weights, places)
