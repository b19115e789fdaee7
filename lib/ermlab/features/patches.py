"""Square patches of images, turned by any angle, and their cells, computed once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.parallel import map_in_threads
from ermlab._utils.validation import real_array, require_room, whole_number
from ermlab.features._patches_numba import sample_turned
from ermlab.features.hog_cells import hog

#: Digits of a cosine: with fewer than all, quarter turns are exact.
_DIGITS = 12


def turned(points: ArrayLike, angle: float) -> NDArray[np.float64]:
    """Turn points (..., 2) around the origin by ``angle`` radians, from the x to the y axis."""
    c, s = _direction(angle)
    points = real_array(points, "points")
    if points.shape[-1:] != (2,):
        raise ValueError(f"points of shape {points.shape}: expected (..., 2)")
    with np.errstate(over="ignore", invalid="ignore"):
        moved = points @ np.array([[c, s], [-s, c]])
    if not np.isfinite(moved).all():
        raise ValueError(f"a point is not finite after a turn by {angle}: expected finite coordinates")
    return moved


def turned_patch(
    image: ArrayLike, centre: tuple[float, float], side: int, angle: float = 0.0
) -> NDArray[np.float32]:
    """Return the square patch around ``centre`` (x, y) after the image was turned around it by ``angle``.

    What was at ``centre + p`` comes to lie at ``turned(p, angle)`` from the middle of the patch. Samples are
    bilinear; outside the image the nearest pixel of its border is taken. An odd side and a whole centre make
    quarter turns exact.
    """
    side = whole_number("side", side, 1)
    if np.ma.is_masked(image):
        raise ValueError("image has masked pixels: expected a number at each")
    image = np.asarray(image)
    if image.ndim not in (2, 3) or not image.size:
        raise ValueError(
            f"image has shape {image.shape}: expected (height, width) or (height, width, channels)"
        )
    if image.dtype.kind not in "biuf":
        raise ValueError(f"image has type {image.dtype}: expected real numbers")
    if image.dtype.kind == "f" and image.dtype.newbyteorder("=") not in (np.float32, np.float64):
        with np.errstate(over="ignore"):  # half and extended precision, which numba does not know
            image = image.astype(np.float32 if image.dtype.itemsize < 8 else np.float64)
    if not image.dtype.isnative:
        image = image.astype(image.dtype.newbyteorder("="))
    if len(centre) != 2:
        raise ValueError(f"centre is {centre}: expected x and y")
    x, y = (float(value) for value in centre)
    if not (math.isfinite(x) and math.isfinite(y)):
        raise ValueError(f"centre is {(x, y)}: expected finite numbers")
    channels = image if image.ndim == 3 else image[..., None]
    require_room((side, side, channels.shape[2]), f"a patch of {side} x {side} pixels", 4)
    patch = np.empty((side, side, channels.shape[2]), dtype=np.float32)
    sample_turned(channels, x, y, *_direction(angle), patch)
    if image.dtype.kind == "f" and not np.isfinite(patch).all():
        raise ValueError(f"image is not finite around {(x, y)}: expected numbers that are finite in float32")
    return patch if image.ndim == 3 else patch[..., 0]


def _direction(angle: float) -> tuple[float, float]:
    """Return the rounded cosine and sine of an angle."""
    if not (isinstance(angle, Real) and math.isfinite(angle)):
        raise ValueError(f"angle is {angle!r}: expected a finite number")
    return tuple(float(np.round(f(angle), _DIGITS)) for f in (np.cos, np.sin))


@dataclass(frozen=True)
class Region:
    """A square part of an image: the image's number, its middle (x, y), and how far it is turned."""

    image: int
    x: int
    y: int
    angle: float = 0.0


class RegionGrids:
    """HOG cells of regions of some images, each computed when first asked for and kept.

    Parameters
    ----------
    images
        In the order of `Region.image`.
    cells
        Cells along a side of a region, odd; the region itself has two more, which a grid leaves out.
    cell
        Side of a cell in pixels, odd, so that a region has a middle pixel.

    Attributes
    ----------
    computed
        How many grids have been computed so far.
    """

    def __init__(self, images: Sequence[NDArray], cells: int, cell: int = 5):
        cells, cell = whole_number("cells", cells, 0), whole_number("cell", cell, 0)
        if cells % 2 == 0 or cell % 2 == 0:
            raise ValueError(
                f"{cells} cells of {cell} pixels: expected odd numbers, for the sake of a middle"
            )
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
