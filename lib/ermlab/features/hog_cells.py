"""Histograms of oriented gradients with 31 numbers per cell.

Felzenszwalb, Girshick, McAllester and Ramanan, "Object detection with discriminatively trained part based
models", PAMI 2010: gradients of the strongest color channel, in 18 signed orientations, are shared among the
four nearest cells; each cell is divided by the norms of the four blocks of 2 x 2 cells that contain it,
clipped at .2 and summed. A cell has 18 signed sums, 9 unsigned ones, and 4 sums over the orientations, one
per block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import largest_magnitude, require_room, whole_number
from ermlab.features._hog_cells_numba import cell_histograms, normalized_cells

N_ORIENTATIONS = 9
CLIP = 0.2
#: Keeps blocks without gradients finite.
EPSILON = 1e-4
#: Weight of the four sums over orientations: 1 / sqrt(18), as in the reference program.
TEXTURE = 0.2357
#: Largest pixel times the pixels of a cell: squared sums of gradients stay finite in single precision.
_LARGEST = 1e17


def hog(
    image: ArrayLike, cell: int = 8, *, pad: int = 0, n_orientations: int = N_ORIENTATIONS
) -> NDArray[np.float32]:
    """Compute the histograms of oriented gradients of an image.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, n_channels)
        Pixels.
    cell : int, default=8
        Side of a cell in pixels.
    pad : int, default=0
        Number of cells added on every side, filled with the nearest pixel of the image. The outermost cells
        lack neighbors and are never returned: with ``pad=1`` the result covers exactly the image.
    n_orientations : int, default=9
        Number of unsigned orientations; there are twice as many signed ones.

    Returns
    -------
    ndarray of shape (rows, columns, 3 * n_orientations + 4), float32
        ``rows = round(height / cell) + 2 pad - 2``; cell (i, j) begins at pixel ``((i + 1 - pad) cell, (j + 1
        - pad) cell)``. Orientation o holds gradients (dx, dy), with y downwards, around the angle ``pi o /
        n_orientations``.
    """
    pixels = _pixels(image)
    cell = whole_number("cell", cell, 1)
    pad, n = whole_number("pad", pad, 0), whole_number("n_orientations", n_orientations, 1)
    if largest_magnitude(pixels) * cell**2 > _LARGEST:
        raise ValueError(
            f"image has values up to {largest_magnitude(pixels):.3g}: "
            f"expected at most {_LARGEST / cell**2:.3g} for cells of {cell} pixels"
        )
    height, width = (side + 2 * pad * cell for side in pixels.shape[:2])
    # Half a cell at the end counts as a full one.
    rows, columns = ((2 * side + cell) // (2 * cell) for side in (height, width))
    if rows < 3 or columns < 3:
        raise ValueError(
            f"{height} x {width} pixels make {rows} x {columns} cells of {cell} "
            "pixels: expected at least 3 x 3, as those at the border are left out"
        )
    require_room((rows, columns, 3 * n + 4), f"{rows} x {columns} cells of {n} orientations", 4)
    if pad:
        require_room((height, width, pixels.shape[2]), f"an image padded by {pad} cells", 4)
        border = (pad * cell, pad * cell)
        pixels = np.pad(pixels, (border, border, (0, 0)), mode="edge")
    # Rounded, so that a vertical gradient, on the border of two bins, is exactly there and goes to the first.
    borders = np.pi * (np.arange(n) + 0.5) / n
    cosines, sines = (np.round(f(borders), 12).astype(np.float32) for f in (np.cos, np.sin))
    histograms = np.zeros((rows, columns, 2 * n), dtype=np.float32)
    cell_histograms(pixels, cell, cosines, sines, histograms)
    features = np.empty((rows - 2, columns - 2, 3 * n + 4), dtype=np.float32)
    normalized_cells(histograms, np.float32(CLIP), np.float32(EPSILON), np.float32(TEXTURE), features)
    return features


def _pixels(image: ArrayLike) -> NDArray:
    """Return the image as (height, width, n_channels), in uint8 if it is so given and else in float32."""
    pixels = with_channels(image)
    if pixels.dtype == np.uint8:
        return np.ascontiguousarray(pixels)
    with np.errstate(over="ignore"):  # values that become infinite are rejected below
        pixels = np.ascontiguousarray(pixels, dtype=np.float32)
    if not np.isfinite(pixels).all():
        raise ValueError("image has values that are not finite")
    return pixels


def with_channels(image: ArrayLike) -> NDArray:
    """Return an image of real numbers as (height, width, n_channels), or raise a ValueError."""
    if np.ma.is_masked(image):
        raise ValueError("image has masked pixels: expected a number at each")
    pixels = np.asarray(image)
    if pixels.ndim not in (2, 3) or not pixels.size:
        raise ValueError(f"image has shape {pixels.shape}: expected (height, width[, channels])")
    if pixels.dtype.kind not in "biuf":
        raise ValueError(f"image has type {pixels.dtype}: expected real numbers")
    return pixels if pixels.ndim == 3 else pixels[..., None]
