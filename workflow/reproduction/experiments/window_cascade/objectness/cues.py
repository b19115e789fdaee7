"""Six cues that a window contains an object of any class, for many windows at once (thesis, 3.2.4).

`ImageCues` builds integral images once; a cue then costs a few look-ups per window. RKB11 and ADF10 are the
works that the thesis cites for the cues, see `reproduction.experiments.window_cascade.objectness.maps`.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.parallel import over_ranges
from ermlab.detection.boxes import as_boxes_inside
from reproduction.experiments.window_cascade.objectness import _cues_numba as kernels
from reproduction.experiments.window_cascade.objectness.maps import (
    as_image,
    as_labels,
    border_likelihood,
    color_words,
    oriented_edges,
    saliency_maps,
    superpixel_boxes,
    superpixels,
)

CUES = ("WS", "BE", "BI", "CC", "SS", "MS")
WINDOWS_PER_THREAD = 1000


def cues(image: ArrayLike, windows: ArrayLike) -> NDArray[np.float64]:
    """Return the six `CUES` of each window, (n, 6)."""
    return ImageCues(image)(windows)


class ImageCues:
    """Cues of windows in one image.

    Parameters
    ----------
    image : array-like of shape (height, width, 3)
        RGB image, bytes or floating point from 0 to 1.
    labels : array-like of shape (height, width), default=None
        Superpixels of the image; by default those of `superpixels`.
    n_jobs : int, default=None
        Number of threads; by default that of numba. The cues do not depend on it.
    """

    def __init__(self, image: ArrayLike, labels: ArrayLike | None = None, n_jobs: int | None = None):
        self.image = as_image(image)
        self.shape = self.image.shape[:2]
        self.labels = superpixels(self.image) if labels is None else as_labels(labels, self.shape)
        self.n_jobs = n_jobs

    def __call__(self, windows: ArrayLike) -> NDArray[np.float64]:
        """Return the cues of windows (left, top, right, bottom), one column for each of `CUES`."""
        windows = as_boxes_inside(windows, self.shape)
        columns = (
            self.window_symmetry,
            self.boundary_edges,
            self.boundary_integral,
            self.color_contrast,
            self.superpixel_straddling,
            self.multiscale_saliency,
        )
        return np.stack([column(windows) for column in columns], axis=1)

    def window_symmetry(self, windows: ArrayLike) -> NDArray[np.float64]:
        """Return WS, the edges that the window shares with its own mirror images (RKB11).

        The window is divided into 4 x 4 blocks, each with the sums of `oriented_edges` in four directions.
        Each block of the left half is compared with its mirror image in the right half, and each block of the
        upper half with that in the lower half. The cue is the sum over all directions of the smaller of both
        sums (mirroring swaps the two diagonals), with weight 1/4 for the four blocks in the middle. As in the
        authors' program it grows with the window. The program divides by the largest value among the windows
        of the image; here it is divided by the edges of the whole image.
        """
        return self._run(windows, kernels.window_symmetry, self._edge_sums)

    def boundary_edges(self, windows: ArrayLike) -> NDArray[np.float64]:
        """Return BE, the edges near the border of the window that run along it (RKB11).

        The window is divided into 6 x 6 blocks. A block counts the edges along the direction in which a
        contour around the window would pass it: horizontal edges above and below, vertical ones at the sides,
        diagonal ones at the corners. The weight is 1 in the outermost ring of blocks, 1/2 in the next, and 0
        in the middle. The cue is divided by the edges of the whole image as in `window_symmetry`.
        """
        return self._run(windows, kernels.boundary_edges, self._edge_sums)

    def boundary_integral(self, windows: ArrayLike) -> NDArray[np.float64]:
        """Return BI, the sum of `border_likelihood` over the outermost pixels of the window (RKB11).

        It is divided by the number of outermost pixels of the image, so that it lies between 0 and 1.
        """
        return self._run(windows, kernels.border_sum, *self._line_sums)

    def color_contrast(self, windows: ArrayLike) -> NDArray[np.float64]:
        """Return CC, the chi-square distance of the colors of the window and the ring around it (ADF10).

        It is the sum of ``(p - q)^2 / (p + q)`` over `color_words`, with their shares p in the window and q
        in the ring: from 0 to 2. The ring extends by half the window's width and height on each side (rounded
        up), within the image. Without a ring the cue is 0.
        """
        return self._run(windows, kernels.color_contrast, self._color_sums)

    def superpixel_straddling(self, windows: ArrayLike) -> NDArray[np.float64]:
        """Return SS, ``1 - sum_s min(|s outside w|, |s inside w|) / |w|`` over superpixels s (ADF10)."""
        return self._run(windows, kernels.superpixel_straddling, *self._label_sums)

    def multiscale_saliency(self, windows: ArrayLike) -> NDArray[np.float64]:
        """Return MS, the saliency in the window times the share of its pixels that are salient (ADF10).

        It is the mean over the scales of `saliency_maps` of (sum of the map in w / pixels of the image) times
        (pixels of w with a positive value / pixels of w). The cited work searches windows at each scale
        separately and does not say how scales combine for a given window.
        """
        return self._run(windows, kernels.multiscale_saliency, self._saliency_sums)

    @cached_property
    def _edge_sums(self) -> NDArray[np.float64]:
        sums = _plane_sums(oriented_edges(self.image))
        total = sums[-1, -1].sum()
        return sums / total if total > 0 else sums

    @cached_property
    def _line_sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        likelihood = border_likelihood(self.labels)
        height, width = self.shape
        likelihood /= height * width - max(height - 2, 0) * max(width - 2, 0)
        along_x = np.cumsum(np.pad(likelihood, [(0, 0), (1, 0)]), axis=1)
        return along_x, np.cumsum(np.pad(likelihood, [(1, 0), (0, 0)]), axis=0)

    @cached_property
    def _color_sums(self) -> NDArray[np.int32]:
        # Photographs have few of the 256 color words: the table holds those that occur.
        found, words = np.unique(color_words(self.image), return_inverse=True)
        return kernels.histogram_sums(words.reshape(self.shape), len(found))

    @cached_property
    def _label_sums(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        boxes = superpixel_boxes(self.labels)
        return *kernels.label_sums(self.labels, boxes), boxes

    @cached_property
    def _saliency_sums(self) -> NDArray[np.float64]:
        maps = saliency_maps(self.image)
        return _plane_sums(np.concatenate([maps, maps > 0], axis=2))

    def _run(self, windows: ArrayLike, kernel: Callable, *tables: NDArray) -> NDArray[np.float64]:
        windows = as_boxes_inside(windows, self.shape)
        result = np.empty(len(windows))
        over_ranges(
            lambda start, stop: kernel(*tables, windows[start:stop], result[start:stop]),
            len(windows),
            self.n_jobs,
            WINDOWS_PER_THREAD,
        )
        return result


def _plane_sums(planes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.pad(planes, [(1, 0), (1, 0), (0, 0)]).cumsum(axis=0).cumsum(axis=1)
