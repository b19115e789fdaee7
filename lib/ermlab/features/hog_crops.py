"""Multi-level histograms of oriented gradients for very small crops (equivariant SVM, section 3.2).

The descriptor follows Maji, Berg and Malik (2008), whom the source cites: oriented energies are summed over
the cells of several grids, from coarse to fine, and normalized by their sum over larger blocks. The finest
cells have 3 x 3 pixels and need no margin, so that even a crop of 18 x 36 pixels has many.

Levels, unsigned orientations and the L1 normalization over blocks are those of the original. Its oriented
filters, which are longer than the details of such a crop, are replaced by central differences, whose strength
is shared between the two nearest orientations. With the square root of each share (`HogLayout.root`) linear
functions compare histograms by the Hellinger kernel, which is similar to the intersection kernel of the
original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.parallel import over_ranges
from ermlab._utils.validation import largest_magnitude, real_array, require_room, whole_number
from ermlab.features._hog_crops_numba import describe_crops

Grid = tuple[int, int]
#: Number of crops worth a thread.
_GRAIN = 64
#: Largest gray level times the pixels of a crop: sums of votes, in 1/1024 of a level, fit into 64 bits.
_LARGEST = 1e15


@dataclass(frozen=True)
class HogLayout:
    """Layout of the histograms of a descriptor, ordered by level, row, column and orientation.

    Parameters
    ----------
    levels : tuple of (int, int), default=((4, 2), (12, 6))
        Rows and columns of cells of each level.
    blocks : (int, int), default=(4, 2)
        Rows and columns of blocks, each of whole cells at every level.
    orientations : int, default=8
        Number of orientations over half a turn.
    root : bool, default=True
        Whether to take the square root of each share.
    floor : float, default=1.0
        Gradient in gray levels per pixel that is added to the sum of each block.
    """

    levels: tuple[Grid, ...] = ((4, 2), (12, 6))
    blocks: Grid = (4, 2)
    orientations: int = 8
    root: bool = True
    floor: float = 1.0

    def __post_init__(self):
        if not self.levels or not (isinstance(self.floor, Real) and 0 < self.floor < np.inf):
            raise ValueError(
                f"levels and floor are {self.levels} and {self.floor!r}: expected at least one level, and a "
                "positive floor"
            )
        # Compiled loops need integers of an integer type.
        object.__setattr__(self, "orientations", whole_number("orientations", self.orientations, 1))
        object.__setattr__(self, "levels", tuple(_grid(level) for level in self.levels))
        object.__setattr__(self, "blocks", _grid(self.blocks))
        for level in self.levels:
            if min(self.blocks) < 1 or level[0] % self.blocks[0] or level[1] % self.blocks[1] or 0 in level:
                raise ValueError(
                    f"a level has {level[0]} x {level[1]} cells: expected whole cells in each of "
                    f"{self.blocks[0]} x {self.blocks[1]} blocks"
                )

    @property
    def dimension(self) -> int:
        """Length of a descriptor."""
        return self.orientations * sum(rows * columns for rows, columns in self.levels)

    @property
    def mirror(self) -> NDArray[np.int64]:
        """Permutation of a descriptor to exactly that of the mirrored crop.

        It swaps left and right cells, and orientations that lean left and right.
        """
        order, start = [], 0
        for rows, columns in self.levels:
            places = start + np.arange(rows * columns * self.orientations)
            order.append(places.reshape(rows, columns, self.orientations)[:, ::-1, ::-1].ravel())
            start += len(places)
        return np.concatenate(order)


def small_hog(
    crops: ArrayLike, layout: HogLayout | None = None, *, n_jobs: int | None = None
) -> NDArray[np.float32]:
    """Compute the descriptors of small gray crops.

    Pixels at the border are repeated outside. If the side is no multiple of the number of cells, the lines
    between cells are rounded to whole pixels, symmetrically.

    Parameters
    ----------
    crops : array-like of shape (n_crops, height, width)
        Gray levels.
    layout : HogLayout, default=None
        Cells and blocks, by default ``HogLayout()``.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_crops, layout.dimension), float32
    """
    layout = HogLayout() if layout is None else layout
    crops = _crops(crops, layout)
    cell_rows = _cell_of_pixel(crops.shape[1], [rows for rows, _ in layout.levels])
    cell_columns = _cell_of_pixel(crops.shape[2], [columns for _, columns in layout.levels])
    blocks = np.array(
        [(*level, level[0] // layout.blocks[0], level[1] // layout.blocks[1]) for level in layout.levels]
    )
    require_room((len(crops), layout.dimension), f"{len(crops)} descriptors of {layout.dimension} numbers", 4)
    descriptors = np.empty((len(crops), layout.dimension), dtype=np.float32)
    options = layout.orientations, float(layout.floor), layout.root

    def work(first: int, last: int) -> None:
        describe_crops(crops, cell_rows, cell_columns, blocks, *options, descriptors, first, last)

    over_ranges(work, len(crops), n_jobs, _GRAIN)
    return descriptors


def cell_edges(length: int, cells: int) -> NDArray[np.int64]:
    """Return the pixels at which cells begin, and the length; the edges are symmetric."""
    edges = np.arange(cells + 1) * length / cells
    lower = np.floor(edges[: cells // 2 + 1] + 0.5).astype(np.int64)
    return np.concatenate([lower, length - lower[: (cells + 1) // 2][::-1]])


def _grid(counts: Grid) -> Grid:
    """Return rows and columns as integers, or raise a ValueError."""
    if np.shape(counts) != (2,):
        raise ValueError(f"a grid is {counts!r}: expected rows and columns")
    rows, columns = (whole_number("a number of rows or columns", count, 0) for count in counts)
    return rows, columns


def _cell_of_pixel(length: int, counts: Sequence[int]) -> NDArray[np.int64]:
    return np.stack([np.repeat(np.arange(cells), np.diff(cell_edges(length, cells))) for cells in counts])


def _crops(crops: ArrayLike, layout: HogLayout) -> NDArray[np.float64]:
    crops = np.ascontiguousarray(real_array(crops, "crops"))
    if crops.ndim != 3:
        raise ValueError(f"crops of shape {crops.shape}: expected (n, height, width)")
    finest = np.max(layout.levels, axis=0)
    if crops.shape[1] < finest[0] or crops.shape[2] < finest[1]:
        raise ValueError(
            f"crops of {crops.shape[1]} x {crops.shape[2]} pixels: expected at least one pixel per cell of "
            f"the {finest[0]} x {finest[1]} grid"
        )
    if not np.isfinite(crops).all():
        raise ValueError("crops have values that are not finite: expected gray levels")
    area = crops.shape[1] * crops.shape[2]
    if largest_magnitude(crops) > _LARGEST / area:
        raise ValueError(
            f"crops of {crops.shape[1]} x {crops.shape[2]} pixels have gray levels up to "
            f"{largest_magnitude(crops):.3g}: expected at most {_LARGEST / area:.3g}"
        )
    return crops
