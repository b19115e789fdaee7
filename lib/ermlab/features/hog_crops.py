"""Multi-level histograms of oriented gradients for very small crops (equivariant SVM, section 3.2).

The descriptor follows the idea of Maji, Berg and Malik (2008), which the source uses: oriented energies are
summed over the cells of several grids, from coarse to fine, and normalised by their sum over larger blocks.
A window of Dalal and Triggs would leave a crop of 18 x 36 pixels a handful of cells; here the finest cells
have 3 x 3 pixels and need no margin.

Taken over are levels, unsigned orientations and the L1 normalisation over blocks. The oriented filters
of the original, which are longer than such a crop's details, are central differences here, whose strength is
shared between the two nearest orientations. The square root of each share may be taken (`HogLayout.root`):
linear functions then compare histograms by the Hellinger kernel, a relative of the intersection kernel for
which the original was made.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.parallel import over_ranges
from ermlab._utils.validation import largest_magnitude, real_array, require_room, whole_number
from ermlab.features._hog_crops_numba import describe_crops

Grid = tuple[int, int]
#: Crops worth a thread.
_GRAIN = 64
#: Largest grey level times the pixels of a crop: sums of votes, in 1/1024 of a level, fit into 64 bits.
_LARGEST = 1e15


@dataclass(frozen=True)
class HogLayout:
    """Which histograms make up a descriptor.

    The numbers stand level by level, row by row, cell by cell, orientation by orientation.
    """

    levels: tuple[Grid, ...] = ((4, 2), (12, 6))  #: rows and columns of cells of each level
    blocks: Grid = (4, 2)  #: rows and columns of blocks, each of whole cells of every level
    orientations: int = 8  #: over half a turn
    root: bool = True  #: whether the square root of each share is taken
    floor: float = 1.0  #: grey levels of gradient a pixel that a block is taken to have anyway

    def __post_init__(self):
        if not self.levels or not (isinstance(self.floor, Real) and 0 < self.floor < np.inf):
            raise ValueError(
                f"levels and floor are {self.levels} and {self.floor!r}: expected at least one level, and a "
                "positive floor"
            )
        # Compiled loops want whole numbers of a whole type.
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
        """The permutation that makes a crop's descriptor that of its mirror image, to the last bit.

        It swaps left and right cells, and orientations that lean left and right.
        """
        order, start = [], 0
        for rows, columns in self.levels:
            places = start + np.arange(rows * columns * self.orientations)
            order.append(places.reshape(rows, columns, self.orientations)[:, ::-1, ::-1].ravel())
            start += len(places)
        return np.concatenate(order)


def small_hog(
    crops: ArrayLike, layout: HogLayout | None = None, *, n_threads: int | None = None
) -> NDArray[np.float32]:
    """Return the (n, layout.dimension) descriptors of (n, height, width) grey crops.

    Beyond its border a crop goes on as its last pixel. Where the pixels are no multiple of the cells, the
    lines between cells are rounded to whole pixels, alike on the left and on the right.
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
    over_ranges(
        lambda first, last: describe_crops(
            crops,
            cell_rows,
            cell_columns,
            blocks,
            layout.orientations,
            float(layout.floor),
            layout.root,
            descriptors,
            first,
            last,
        ),
        len(crops),
        n_threads,
        _GRAIN,
    )
    return descriptors


def cell_edges(length: int, cells: int) -> NDArray[np.int64]:
    """Return the pixels at which cells begin, and the length: mirrored ones are the same."""
    edges = np.arange(cells + 1) * length / cells
    lower = np.floor(edges[: cells // 2 + 1] + 0.5).astype(np.int64)
    return np.concatenate([lower, length - lower[: (cells + 1) // 2][::-1]])


def _grid(counts: Grid) -> Grid:
    """Return rows and columns as whole numbers, or raise a ValueError."""
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
            f"crops of {crops.shape[1]} x {crops.shape[2]} pixels: expected at least one a cell of the "
            f"{finest[0]} x {finest[1]} grid"
        )
    if not np.isfinite(crops).all():
        raise ValueError("crops hold NaN or infinity: expected grey levels")
    area = crops.shape[1] * crops.shape[2]
    if largest_magnitude(crops) > _LARGEST / area:
        raise ValueError(
            f"crops of {crops.shape[1]} x {crops.shape[2]} pixels hold grey levels up to "
            f"{largest_magnitude(crops):.3g}: expected at most {_LARGEST / area:.3g}"
        )
    return crops
