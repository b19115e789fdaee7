"""Square patches of images, rotated by any angle, and their HOG cells, which are cached."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.parallel import map_in_threads
from ermlab._utils.validation import real_array, require_room, whole_number
from ermlab.features._patches_numba import sample_turned
from ermlab.features.hog_cells import hog, with_channels

#: Digits of a rounded cosine, which makes quarter turns exact.
_DIGITS = 12


def turned(points: ArrayLike, angle: float) -> NDArray[np.float64]:
    """Rotate points (..., 2) around the origin by ``angle`` radians, from the x to the y axis."""
    c, s = _direction(angle)
    points = real_array(points, "points")
    if points.shape[-1:] != (2,):
        raise ValueError(f"points of shape {points.shape}: expected (..., 2)")
    with np.errstate(over="ignore", invalid="ignore"):
        moved = points @ np.array([[c, s], [-s, c]])
    if not np.isfinite(moved).all():
        raise ValueError(f"a point is not finite after a rotation by {angle}: expected finite coordinates")
    return moved


def turned_patch(
    image: ArrayLike, center: tuple[float, float], side: int, angle: float = 0.0
) -> NDArray[np.float32]:
    """Return the square patch around ``center`` after the image was rotated around it by ``angle``.

    The pixel at ``center + p`` moves to ``turned(p, angle)`` from the middle of the patch. Samples are
    bilinear; outside the image the nearest pixel of its border is used. With an odd side and an integer
    center quarter turns are exact.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, n_channels)
        Pixels.
    center : tuple of float
        x and y.
    side : int
        Side of the patch in pixels.
    angle : float, default=0.0
        Angle in radians, from the x to the y axis.
    """
    side, has_channels = whole_number("side", side, 1), np.ndim(image) == 3
    image = with_channels(image)
    if image.dtype.kind == "f" and image.dtype.newbyteorder("=") not in (np.float32, np.float64):
        with np.errstate(over="ignore"):  # half and extended precision, which numba does not support
            image = image.astype(np.float32 if image.dtype.itemsize < 8 else np.float64)
    if not image.dtype.isnative:
        image = image.astype(image.dtype.newbyteorder("="))
    if len(center) != 2:
        raise ValueError(f"center is {center}: expected x and y")
    x, y = (float(value) for value in center)
    if not (math.isfinite(x) and math.isfinite(y)):
        raise ValueError(f"center is {(x, y)}: expected finite numbers")
    require_room((side, side, image.shape[2]), f"a patch of {side} x {side} pixels", 4)
    patch = np.empty((side, side, image.shape[2]), dtype=np.float32)
    sample_turned(image, x, y, *_direction(angle), patch)
    if image.dtype.kind == "f" and not np.isfinite(patch).all():
        raise ValueError(f"image is not finite around {(x, y)}: expected numbers that are finite in float32")
    return patch if has_channels else patch[..., 0]


def _direction(angle: float) -> tuple[float, float]:
    """Return the rounded cosine and sine of an angle."""
    if not (isinstance(angle, Real) and math.isfinite(angle)):
        raise ValueError(f"angle is {angle!r}: expected a finite number")
    return tuple(float(np.round(f(angle), _DIGITS)) for f in (np.cos, np.sin))


@dataclass(frozen=True)
class Region:
    """A square region of an image: the number of the image, the middle (x, y), and a rotation."""

    image: int
    x: int
    y: int
    angle: float = 0.0


class RegionGrids:
    """HOG cells of regions of images, computed when first requested and cached.

    Parameters
    ----------
    images : sequence of ndarray
        Images in the order of `Region.image`.
    cells : int
        Odd number of cells along a side of a region; the region itself has two more, which a grid leaves out.
    cell : int, default=5
        Odd side of a cell in pixels, so that a region has a middle pixel.

    Attributes
    ----------
    computed : int
        Number of grids computed so far.
    """

    def __init__(self, images: Sequence[NDArray], cells: int, cell: int = 5):
        cells, cell = whole_number("cells", cells, 0), whole_number("cell", cell, 0)
        if cells % 2 == 0 or cell % 2 == 0:
            raise ValueError(f"{cells} cells of {cell} pixels: expected odd numbers")
        self.images, self.cells, self.cell = images, cells, cell
        self.computed = 0
        self._grids: dict[Region, NDArray[np.float32]] = {}

    @property
    def side(self) -> int:
        """Side of a region in pixels."""
        return (self.cells + 2) * self.cell

    def grid(self, region: Region) -> NDArray[np.float32]:
        """Return the cells of a region, (cells, cells, 31)."""
        return self.stack([region])[0]

    def stack(self, regions: Sequence[Region]) -> NDArray[np.float32]:
        """Return the cells of several regions, (regions, cells, cells, 31)."""
        missing = list(dict.fromkeys(region for region in regions if region not in self._grids))
        if missing:
            self._grids.update(zip(missing, map_in_threads(self._compute, missing), strict=True))
            self.computed += len(missing)
        return np.stack([self._grids[region] for region in regions])

    def _compute(self, region: Region) -> NDArray[np.float32]:
        if not 0 <= region.image < len(self.images):
            raise ValueError(f"{region}: expected an image from 0 to {len(self.images) - 1}")
        patch = turned_patch(self.images[region.image], (region.x, region.y), self.side, region.angle)
        return hog(patch, self.cell)
