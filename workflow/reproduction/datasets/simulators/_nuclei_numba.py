"""Compiled loop that paints nuclei."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def paint_nuclei(
    centers, axes, angles, bumps, decay, levels, textures, numbers, pattern, grain, fluorescence, owner
):
    """Add the light of nuclei to ``fluorescence``, and write at each pixel the number of its nucleus.

    A pixel in two nuclei belongs to that in which it is deeper. The outline of a nucleus is an ellipse with
    bumps of frequencies 2, 3, ...; a dying nucleus breaks into as many pieces as ``bumps`` has frequencies,
    less one, which move outwards.
    """
    height, width = fluorescence.shape
    side = len(pattern)
    depth = np.ones((height, width))
    for k in range(len(centers)):
        row, column = centers[k]
        long, short = axes[k]
        reach = 1.6 * long + 2
        sine, cosine = np.sin(angles[k]), np.cos(angles[k])
        radius = np.sqrt(long * short)
        apart = min(max((decay[k] - 0.4) / 0.6, 0.0), 1.0)
        waves = bumps[k, 0] * np.exp(1j * bumps[k, 1])
        for i in range(max(0, int(np.floor(row - reach))), min(height, int(np.ceil(row + reach)) + 1)):
            for j in range(
                max(0, int(np.floor(column - reach))), min(width, int(np.ceil(column + reach)) + 1)
            ):
                # Coordinates in which the ellipse is the unit circle.
                along = ((i - row) * cosine + (j - column) * sine) / long
                across = ((j - column) * cosine - (i - row) * sine) / short
                if apart > 0:
                    inside = _in_pieces(along, across, bumps[k, 1, :-1], apart)
                else:
                    inside = _in_outline(along, across, waves)
                edge = min(max((1 - inside) * radius + 0.5, 0.0), 1.0)
                if edge > 0:
                    strength, down, right = textures[k]
                    grains = pattern[int(down + grain * along) % side, int(right + grain * across) % side]
                    chromatin = min(max(1 + strength * grains, 0.2), 2.0)
                    fluorescence[i, j] += levels[k] * edge * chromatin
                if inside < depth[i, j]:
                    depth[i, j] = inside
                    owner[i, j] = numbers[k]


@njit(cache=True, nogil=True)
def _in_pieces(along, across, directions, apart):
    """Return the distance from the center of the nearest piece, relative to its radius."""
    nearest = np.inf
    for direction in directions:
        distance = np.hypot(along - apart * np.cos(direction), across - apart * np.sin(direction))
        nearest = min(nearest, distance)
    return nearest / (1 - 0.5 * apart)


@njit(cache=True, nogil=True)
def _in_outline(along, across, waves):
    """Return the distance from the center relative to that of the outline in the same direction."""
    distance = np.sqrt(along**2 + across**2)
    if distance == 0 or distance > 1.5:  # the center, or beyond any outline
        return distance
    direction = complex(along, across) / distance
    power, outline = direction, 1.0
    for wave in waves:  # frequencies count from 2
        power *= direction
        outline += power.real * wave.real - power.imag * wave.imag
    return distance / min(max(outline, 0.4), 1.5)
