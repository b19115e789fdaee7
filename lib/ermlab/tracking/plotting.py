"""Plots of tracked frames: outlines of cells, their paths and divisions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import axes, collections, colors
from numpy.typing import ArrayLike, NDArray
from skimage import segmentation

from ermlab._utils.palette import BLUE, GREEN, ORANGE, PINK, SKY, YELLOW
from ermlab.tracking.cells import measure
from ermlab.tracking.ctc import Lineage

#: Colors that are visible on a dark image; a track has the same color in each frame.
_COLORS = np.array([colors.to_rgba(color) for color in (YELLOW, SKY, ORANGE, GREEN, PINK, BLUE)])
#: Offset of the logarithmic scale, as a share of the brightest value.
_FAINT = 0.02


def show_tracked_frame(
    ax: axes.Axes,
    image: ArrayLike,
    masks: Sequence[NDArray[np.integer]],
    lineage: Lineage,
    frame: int,
    title: str = "",
) -> None:
    """Show a frame with the outlines of its cells, their paths so far, and white lines to their parents.

    Parameters
    ----------
    ax : matplotlib Axes
        The axes to draw on.
    image : array-like of shape (height, width)
        The frame.
    masks : sequence of ndarray of int
        Label images of all frames up to this one at least, with the labels of the lineage.
    lineage : Lineage
        The lineage of the labels.
    frame : int
        Index of the frame.
    title : str, default=""
        Title of the axes.
    """
    ax.imshow(_log_scale(np.asarray(image, dtype=float)), cmap="gray", interpolation="nearest")
    ax.set_axis_off()
    ax.set_title(title, fontsize=9)
    edges = segmentation.find_boundaries(masks[frame], mode="inner")
    ax.imshow(np.where(edges[..., None], _COLORS[masks[frame] % len(_COLORS)], 0.0), interpolation="nearest")
    places = [_places(mask) for mask in masks[: frame + 1]]
    parents = dict(zip(lineage.label.tolist(), lineage.parent.tolist(), strict=True))
    paths, path_colors, divisions = [], [], []
    for label in places[frame]:
        path = [at[label] for at in places if label in at]
        paths.append(np.array(path))
        path_colors.append(_COLORS[label % len(_COLORS)])
        parent = parents[label]
        before = [at[parent] for at in places if parent in at]
        if before:
            divisions.append(np.array([before[-1], path[0]]))
    ax.add_collection(collections.LineCollection(paths, colors=path_colors, linewidths=0.8))
    ax.add_collection(collections.LineCollection(divisions, colors="white", linewidths=1.2))
    if divisions:
        ax.plot(*np.array([line[0] for line in divisions]).T, "o", color="white", markersize=2.5)


def _log_scale(image: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the intensity above the background, which shows faint beside bright cells."""
    low, high = np.percentile(image, [20, 99.8])
    return np.log(np.clip((image - low) / max(high - low, 1e-12), 0, 1) + _FAINT)


def _places(mask: NDArray[np.integer]) -> dict[int, NDArray[np.float64]]:
    """Return column and row of the center of each cell."""
    labels, cells = measure(mask)
    return dict(zip(labels.tolist(), cells.position[:, ::-1], strict=True))
