"""Histograms of oriented gradients with 31 numbers a cell.

Felzenszwalb, Girshick, McAllester and Ramanan, "Object detection with discriminatively trained part based
models", PAMI 2010: gradients of the strongest colour channel, in 18 signed orientations, shared among the
four nearest cells; each cell is divided by the norms of the four blocks of 2 x 2 cells that hold it, clipped
at .2 and summed. A cell has 18 signed sums, 9 unsigned ones and 4 sums over the orientations, one a block.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import largest_magnitude, require_room, whole_number
from ermlab.features._hog_cells_numba import cell_histograms, normalised_cells

N_ORIENTATIONS = 9
CLIP = 0.2
#: Keeps blocks without any gradient finite.
EPSILON = 1e-4
#: Weight of the four sums over orientations: 1 / sqrt(18), as the reference program has it.
TEXTURE = 0.2357
#: Largest pixel times the pixels of a cell: squared sums of gradients stay finite in single precision.
_LARGEST = 1e17


def hog(
    image: ArrayLike, cell: int = 8, *, pad: int = 0, n_orientations: int = N_ORIENTATIONS
) -> NDArray[np.float32]:
    """Describe an image by cells of ``cell`` x ``cell`` pixels.

    Parameters
    ----------
    image
        (height, width), or (height, width, channels).
    cell
        Side of a cell.
    pad
        Cells to add on every side, filled with the nearest pixel of the image. The outermost cells lack
        neighbours and are never returned: with ``pad=1`` the result covers just the image.
    n_orientations
        Unsigned orientations; there are twice as many signed ones.

    Returns
    -------
    features
        (rows, columns, 3 n_orientations + 4) with ``rows = round(height / cell) + 2 pad - 2``; cell (i, j)
        begins at pixel ``((i + 1 - pad) cell, (j + 1 - pad) cell)``. Orientation o stands for gradients (dx,
        dy), y downwards, around the angle ``pi o / n_orientations``.
    """
    pixels = _checked_image(image)
    cell = whole_number("cell", cell, 1)
    pad, n = whole_number("pad", pad, 0), whole_number("n_orientations", n_orientations, 1)
    if largest_magnitude(pixels) * cell**2 > _LARGEST:
        raise ValueError(
            f"image has values up to {largest_magnitude(pixels):.3g}: "
            f"expected at most {_LARGEST / cell**2:.3g} for cells of {cell} pixels"
        )
    height, width = (side + 2 * pad * cell for side in pixels.shape[:2])
    # Half a cell at the end counts as a whole one.
    rows, columns = ((2 * side + cell) // (2 * cell) for side in (height, width))
    if rows < 3 or columns < 3:
        raise ValueError(
            f"{height} x {width} pixels make {rows} x {columns} cells of {cell} "
            "pixels: expected at least 3 x 3, for those at the border are left out"
        )
    require_room((rows, columns, 3 * n + 4), f"{rows} x {columns} cells of {n} orientations", 4)
    if pad:
        require_room((height, width, pixels.shape[2]), f"an image padded by {pad} cells", 4)
        border = (pad * cell, pad * cell)
        pixels = np.pad(pixels, (border, border, (0, 0)), mode="edge")
    # Rounded, so that an upright gradient on the border of two bins is just there, and falls to the first.
    borders = np.pi * (np.arange(n) + 0.5) / n
    cosines, sines = (np.round(f(borders), 12).astype(np.float32) for f in (np.cos, np.sin))
    histograms = np.zeros((rows, columns, 2 * n), dtype=np.float32)
    cell_histograms(pixels, cell, cosines, sines, histograms)
    features = np.empty((rows - 2, columns - 2, 3 * n + 4), dtype=np.float32)
    normalised_cells(histograms, np.float32(CLIP), np.float32(EPSILON), np.float32(TEXTURE), features)
    return features


def _checked_image(image: ArrayLike) -> NDArray:
    if np.ma.is_masked(image):
        raise ValueError("image has masked pixels: expected a number at each")
    pixels = np.asarray(image)
    if pixels.ndim not in (2, 3) or not pixels.size:
        raise ValueError(
            f"image has shape {pixels.shape}: expected (height, width) or (height, width, channels)"
        )
    if pixels.dtype == np.uint8:
        return np.ascontiguousarray(pixels if pixels.ndim == 3 else pixels[..., None])
    if not (np.issubdtype(pixels.dtype, np.number) or pixels.dtype == bool) or np.iscomplexobj(pixels):
        raise ValueError(f"image has type {pixels.dtype}: expected real numbers")
    with np.errstate(over="ignore"):  # what is infinite in single precision is found below
        pixels = np.ascontiguousarray(pixels if pixels.ndim == 3 else pixels[..., None], dtype=np.float32)
    if not np.isfinite(pixels).all():
        raise ValueError("image holds values that are not finite")
    return pixels
