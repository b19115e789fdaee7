"""Cubic splines over volumes, looked at where a motion takes voxels: what registration spends its time on.

Coefficients are those of ``scipy.ndimage.spline_filter`` with mode "mirror". Places outside the volume are
moved to its edge. Indices are unsigned: a signed one is tested for being negative at each use.
"""

import numpy as np
from numba import njit

#: Voxels beyond the outermost ones at which a volume still counts as seen, as in SPM.
EDGE = 0.05


@njit(cache=True)
def _weigh(x, n, weights, places):
    """Put the weights and places of the four coefficients around ``x``; say whether it lies inside."""
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
def sample(coefficients, motion, points, values, inside):
    """Fill in the value at ``motion`` (3, 4) of each point, and whether that place lies inside."""
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
def reslice(coefficients, motion, volume, inside):
    """Fill in the value at ``motion`` (3, 4) of each voxel; ``inside`` turns False where that is outside."""
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
