"""Compiled loop of `ermlab.features.patches`."""

from numba import njit


@njit(cache=True, nogil=True)
def sample_turned(image, x, y, cosine, sine, patch):
    """Write bilinear samples around (x, y) to ``patch``; outside the image the border is repeated."""
    height, width, n_channels = image.shape
    side = patch.shape[0]
    half = (side - 1) / 2
    for i in range(side):
        for j in range(side):
            u, v = j - half, i - half
            # Rotated backwards, to where the sample at (u, v) was before the rotation.
            column = min(max(x + cosine * u + sine * v, 0.0), width - 1.0)
            row = min(max(y - sine * u + cosine * v, 0.0), height - 1.0)
            left, top = int(column), int(row)
            right, bottom = min(left + 1, width - 1), min(top + 1, height - 1)
            a, b = column - left, row - top
            for c in range(n_channels):
                upper = (1 - a) * image[top, left, c] + a * image[top, right, c]
                lower = (1 - a) * image[bottom, left, c] + a * image[bottom, right, c]
                patch[i, j, c] = (1 - b) * upper + b * lower
