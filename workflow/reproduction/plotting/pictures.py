"""Functions that draw images, montages, boxes, brain slices, tracks and graphs on given axes."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from ermlab._utils.palette import BLUE, COLORS, GREY, ORANGE, YELLOW
from ermlab.tracking.ctc import Lineage
from reproduction.datasets.cell_migration import UNTRACKED, Detections


def show_image(ax: Axes, image: np.ndarray, title: str = "", cmap: str | ListedColormap = "gray") -> None:
    """Show an image pixel by pixel, without axes."""
    ax.imshow(image, cmap=cmap, interpolation="nearest")
    ax.set_axis_off()
    ax.set_title(title, fontsize=9)


def show_montage(ax: Axes, images: np.ndarray, columns: int, title: str) -> None:
    """Show gray images of one size in rows of ``columns``, separated by one white pixel."""
    padded = np.pad(images, ((0, -len(images) % columns), (0, 1), (0, 1)), constant_values=255)
    n, height, width = padded.shape
    grid = padded.reshape(n // columns, columns, height, width).swapaxes(1, 2)
    show_image(ax, grid.reshape(n // columns * height, columns * width), title)


def outline_boxes(
    ax: Axes,
    boxes: np.ndarray,
    *,
    styles: Sequence[str] | None = None,
    colors: Sequence[str] | None = None,
    linewidth: float = 1.5,
) -> None:
    """Outline boxes (left, top, right, bottom) with inclusive corners, each with its style and color."""
    styles = ["-"] * len(boxes) if styles is None else styles
    colors = [YELLOW] * len(boxes) if colors is None else colors
    for (left, top, right, bottom), style, color in zip(boxes, styles, colors, strict=True):
        corner, size = (left - 0.5, top - 0.5), (right - left + 1, bottom - top + 1)
        ax.add_patch(
            Rectangle(corner, *size, fill=False, edgecolor=color, linestyle=style, linewidth=linewidth)
        )


def show_slice(ax: Axes, values: np.ndarray, title: str, *, limit: float | None = None) -> AxesImage:
    """Show a slice (x, y) with y upwards: in gray, or with ``limit`` in colors from -limit to limit."""
    ax.set_facecolor("lightgray" if limit else "black")
    colors = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit} if limit else {"cmap": "gray"}
    image = ax.imshow(values.T, origin="lower", **colors)
    ax.set(xticks=[], yticks=[])
    ax.grid(visible=False)
    ax.set_title(title, fontsize=9)
    return image


def plot_stimuli(ax: Axes, series: np.ndarray, labels: np.ndarray, step: float, rest: str) -> None:
    """Plot a voxel over time, with the stimuli as colored bands, except ``rest``."""
    seconds = np.arange(len(series)) * step
    ax.plot(seconds, series, color="black", linewidth=1)
    starts = np.flatnonzero(np.r_[True, labels[1:] != labels[:-1]])
    kinds = sorted(set(labels) - {rest})
    shades = dict(zip(kinds, mpl.colormaps["tab10"](np.arange(len(kinds))), strict=True))
    for start, stop in zip(starts, np.r_[starts[1:], len(labels)], strict=True):
        if labels[start] != rest:
            ax.axvspan(start * step, stop * step, color=shades[labels[start]], alpha=0.35, linewidth=0)
            middle = (start + stop) / 2 * step
            ax.text(middle, series.max(), labels[start], ha="center", va="bottom", fontsize=8)
    ax.set(xlabel="seconds (first run)", ylabel="BOLD of the\nmarked voxel")
    ax.margins(x=0, y=0.15)


def plot_tracks(ax: Axes, detections: Detections, lineage: Lineage) -> None:
    """Draw the path of each cell, colored by its label, and a dot at each division."""
    known = detections.track != UNTRACKED
    order = np.lexsort((detections.frame[known], detections.track[known]))
    track, place = detections.track[known][order], detections.centroid[known][order][:, ::-1]
    labels, starts = np.unique(track, return_index=True)
    paths = np.split(place, starts[1:])
    ax.add_collection(
        LineCollection(paths, colors=[COLORS[label % len(COLORS)] for label in labels], linewidths=0.8)
    )
    ends = np.array(
        [path[-1] for path, label in zip(paths, labels, strict=True) if label in lineage.dividing]
    )
    ax.plot(*ends.reshape(-1, 2).T, "o", color="black", ms=3)
    ax.autoscale()


def plot_lifelines(ax: Axes, lineage: Lineage) -> None:
    """Draw the life of each cell as a line over time, and connect children to their parents."""
    row = {label: index for index, label in enumerate(_depth_first(lineage))}
    for label, begin, end, parent in lineage.rows():
        ax.plot([begin, end + 1], [row[label]] * 2, color=BLUE if parent == 0 else ORANGE, linewidth=1)
        if parent:
            ax.plot([begin, begin], [row[parent], row[label]], color=GREY, linewidth=0.6)
    ax.set(
        xlabel="frame",
        yticks=[],
        title=f"{len(lineage)} cells, {len(lineage.dividing)} divisions; children orange",
    )
    ax.margins(x=0)


def _depth_first(lineage: Lineage) -> list[int]:
    """Return the labels in an order in which children follow their parent."""
    children: dict[int, list[int]] = {}
    for label, _, _, parent in lineage.rows():
        children.setdefault(parent, []).append(label)
    order, waiting = [], children.get(0, [])[::-1]
    while waiting:
        label = waiting.pop()
        order.append(label)
        waiting.extend(children.get(label, [])[::-1])
    return order


def show_graph(ax: Axes, adjacency: csr_array, labels: np.ndarray) -> None:
    """Draw a graph, nodes colored by label."""
    place = graph_layout(adjacency)
    tail, head = adjacency.nonzero()
    ax.add_collection(
        LineCollection(place[np.column_stack([tail, head])], colors=GREY, linewidths=0.8, zorder=1)
    )
    ax.scatter(*place.T, c=[COLORS[label % len(COLORS)] for label in labels], s=22, zorder=2)
    (left, bottom), (right, top) = place.min(axis=0) - 0.5, place.max(axis=0) + 0.5
    ax.set(aspect="equal", xlim=(left, right), ylim=(bottom, top))
    ax.set_axis_off()


def graph_layout(adjacency: csr_array, steps: int = 60) -> np.ndarray:
    """Return positions of nodes whose distances follow path lengths: stress majorization from a circle."""
    n = adjacency.shape[0]
    target = shortest_path(adjacency, directed=False, unweighted=True)
    target[np.isinf(target)] = np.sqrt(n) + 1
    np.fill_diagonal(target, 1)
    weight = target**-2.0
    np.fill_diagonal(weight, 0)
    laplacian = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    angle = 2 * np.pi * np.arange(n) / n
    place = np.sqrt(n) * np.column_stack([np.cos(angle), np.sin(angle)])
    for _ in range(steps):
        apart = np.linalg.norm(place[:, None] - place[None], axis=-1)
        np.fill_diagonal(apart, 1)
        pull = weight * target / np.maximum(apart, 1e-9)
        place = laplacian @ (np.diag(pull.sum(axis=1)) - pull) @ place
    return place


def spread(n: int, count: int) -> np.ndarray:
    """Return up to ``count`` indices spread over ``range(n)``."""
    return np.unique(np.linspace(0, n - 1, count).astype(int))


def stretch(image: np.ndarray) -> np.ndarray:
    """Map the values between the 1st and 99.7th percentile to 8 bits."""
    low, high = np.percentile(image, [1, 99.7])
    return (255 * np.clip((image - low) / max(high - low, 1), 0, 1)).astype(np.uint8)


def central_square(image: np.ndarray, pixels: int = 160) -> np.ndarray:
    """Return the largest centered square, subsampled to about ``pixels``."""
    height, width = image.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    step = max(side // pixels, 1)
    return image[top : top + side : step, left : left + side : step]


def outline_labels(ax: Axes, labels: np.ndarray) -> None:
    """Draw the outlines of labeled regions over an image."""
    edges = np.ma.masked_equal(label_edges(labels), 0)
    ax.imshow(edges, cmap=ListedColormap([YELLOW]), interpolation="nearest")


def label_edges(labels: np.ndarray) -> np.ndarray:
    """Return the pixels whose right or lower neighbor has another label."""
    edges = np.zeros(labels.shape, dtype=bool)
    edges[:, :-1] |= labels[:, :-1] != labels[:, 1:]
    edges[:-1] |= labels[:-1] != labels[1:]
    return edges
