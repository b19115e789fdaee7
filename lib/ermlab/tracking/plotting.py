"""Tracks over the frames of a film: outlines in the colours of tracks, where they came from, divisions."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from numpy.typing import ArrayLike, NDArray
from skimage.segmentation import find_boundaries

from ermlab._utils.palette import BLUE, GREEN, ORANGE, PINK, SKY, YELLOW
from ermlab.tracking.cells import measure
from ermlab.tracking.ctc import Lineage

#: Seen well on a dark image; a track has the same colour in each frame.
_COLORS = np.array([to_rgba(color) for color in (YELLOW, SKY, ORANGE, GREEN, PINK, BLUE)])
#: The faintest grey that is shown apart from the background, as a share of the brightest.
_FAINT = 0.02


def show_tracked_frame(
    ax: Axes,
    image: ArrayLike,
    masks: Sequence[NDArray[np.integer]],
    lineage: Lineage,
    frame: int,
    title: str = "",
) -> None:
    """Show a frame with the outlines of its cells, their paths so far, and white lines to where they divided.

    Parameters
    ----------
    masks
        Label images of all frames up to this one, at least; the labels are those of the lineage.
    """
    ax.imshow(_on_a_log_scale(np.asarray(image, dtype=float)), cmap="gray", interpolation="nearest")
    ax.set_axis_off()
    ax.set_title(title, fontsize=9)
    edges = find_boundaries(masks[frame], mode="inner")
    ax.imshow(np.where(edges[..., None], _COLORS[masks[frame] % len(_COLORS)], 0.0), interpolation="nearest")
    places = [_places(mask) for mask in masks[: frame + 1]]
    parents = dict(zip(lineage.label.tolist(), lineage.parent.tolist(), strict=True))
    paths, colors, divisions = [], [], []
    for label in places[frame]:
        path = [at[label] for at in places if label in at]
        paths.append(np.array(path))
        colors.append(_COLORS[label % len(_COLORS)])
        parent = parents[label]
        before = [at[parent] for at in places if parent in at]
        if before:
            divisions.append(np.array([before[-1], path[0]]))
    ax.add_collection(LineCollection(paths, colors=colors, linewidths=0.8))
    ax.add_collection(LineCollection(divisions, colors="white", linewidths=1.2))
    if divisions:
        ax.plot(*np.array([line[0] for line in divisions]).T, "o", color="white", markersize=2.5)


def _on_a_log_scale(image: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of what is above the background, so that faint cells show beside bright ones."""
    low, high = np.percentile(image, [20, 99.8])
    return np.log(np.clip((image - low) / max(high - low, 1e-12), 0, 1) + _FAINT)


def _places(mask: NDArray[np.integer]) -> dict[int, NDArray[np.float64]]:
    """Return column and row of the middle of each cell."""
    labels, cells = measure(mask)
    return dict(zip(labels.tolist(), cells.position[:, ::-1], strict=True))
