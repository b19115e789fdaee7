"""Figures of tracks on frames, animations, links between frames, and lineage trees."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection, LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from PIL import Image

from ermlab._utils.palette import BLUE, GREY, ORANGE
from ermlab.tracking.ctc import Lineage
from ermlab.tracking.films import CellFilm, FramePair
from ermlab.tracking.lineage import CellTracks
from ermlab.tracking.plotting import show_tracked_frame
from reproduction.experiments.tracking.links import Links, links_of
from reproduction.experiments.tracking.measures import judged_events
from reproduction.experiments.tracking.scenes import TrackedFrames

_CORRECT, _WRONG, _MISSED = BLUE, ORANGE, "black"
#: Duration of each frame of an animation, and of the last one, in milliseconds.
_PACE, _PAUSE = 250, 1200


def plot_tracks_on_frames(tracked: TrackedFrames, frames: Sequence[int]) -> Figure:
    """Draw frames side by side, with outlines and the paths of all tracks up to each frame."""
    fig, axes = plt.subplots(1, len(frames), figsize=(3.6 * len(frames), 3.9))
    lineage = Lineage(*tracked.lineage.T)
    for ax, t in zip(np.atleast_1d(axes), frames, strict=True):
        show_tracked_frame(ax, tracked.images[t], tracked.masks, lineage, t, f"frame {t}")
    return fig


def animate_tracks(tracked: TrackedFrames, path: str | Path, pixels: int = 340) -> HTML:
    """Write the frames with their tracks as animated WebP, and return it as HTML."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    pages = [_page(tracked, t, pixels) for t in range(len(tracked.images))]
    duration = [_PACE] * (len(pages) - 1) + [_PAUSE]
    pages[0].save(
        path, save_all=True, append_images=pages[1:], duration=duration, loop=0, quality=50, method=4
    )
    source = f"data:image/webp;base64,{b64encode(path.read_bytes()).decode()}"
    return HTML(f'<img src="{source}" width="{pixels}" alt="tracks of nuclei in {len(pages)} frames">')


def _page(tracked: TrackedFrames, t: int, pixels: int) -> Image.Image:
    fig = plt.figure(figsize=(pixels / 100, pixels / 100), dpi=100, layout="none")
    ax = fig.add_axes((0, 0, 1, 1))
    show_tracked_frame(ax, tracked.images[t], tracked.masks, Lineage(*tracked.lineage.T), t)
    buffer = BytesIO()
    fig.savefig(buffer, format="png", dpi=100)
    plt.close(fig)
    return Image.open(buffer).convert("RGB")


def plot_links(
    film: CellFilm, pair: FramePair, found: Mapping[str, Links], part: tuple[int, int, int]
) -> Figure:
    """Draw the links of trackers between two frames in a part of the view: correct, wrong and missed.

    Parameters
    ----------
    film : CellFilm
        Detections.
    pair : FramePair
        The two frames.
    found : mapping
        Links of each tracker by its title.
    part : tuple
        Top, left and side of a square.
    """
    true, _ = judged_events(pair)
    known = {tuple(row) for row in links_of(pair.hypotheses, true).tolist()}
    settled = pair.hypotheses.incidence @ true.astype(float) > 0
    before, after = film.cells(pair.frame), film.cells(pair.frame + 1)
    fig, axes = plt.subplots(1, len(found), figsize=(4.9 * len(found), 5.3), sharex=True, sharey=True)
    axes = np.atleast_1d(axes)
    top, left, side = part
    for ax, (title, rows) in zip(axes, found.items(), strict=True):
        chosen = {tuple(row) for row in rows.tolist()}
        wrong = {(i, j) for i, j in chosen - known if settled[i] or settled[pair.hypotheses.n_sources + j]}
        for cells, color in ((before, "0.8"), (after, "0.55")):
            _draw_cells(ax, cells.position, cells.area, color)
        for links, style in (
            (chosen - wrong, {"colors": _CORRECT, "linewidths": 1.4}),
            (known - chosen, {"colors": _MISSED, "linewidths": 1.4, "linestyles": "dotted"}),
            (wrong, {"colors": _WRONG, "linewidths": 2.2}),
        ):
            segments = [[before.position[i][::-1], after.position[j][::-1]] for i, j in sorted(links)]
            ax.add_collection(LineCollection(segments, **style))
        ax.set(xlim=(left, left + side), ylim=(top + side, top), aspect="equal", title=title, xlabel="pixels")
        ax.grid(visible=False)
    axes[0].set_ylabel("pixels")
    handles = [
        Line2D([], [], color=_CORRECT, label="correct, or not known"),
        Line2D([], [], color=_WRONG, linewidth=2.2, label="wrong"),
        Line2D([], [], color=_MISSED, linestyle=":", label="missed"),
        Line2D([], [], color="0.8", marker="o", linestyle="", mfc="none", label="cell before"),
        Line2D([], [], color="0.55", marker="o", linestyle="", mfc="none", label="cell after"),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return fig


def _draw_cells(ax: Axes, position: NDArray, area: NDArray, color: str) -> None:
    diameter = 2 * np.sqrt(area / np.pi)
    ax.add_collection(
        EllipseCollection(
            diameter,
            diameter,
            np.zeros(len(area)),
            units="xy",
            offsets=position[:, ::-1],
            offset_transform=ax.transData,
            facecolors="none",
            edgecolors=color,
            linewidths=0.8,
        )
    )


def plot_trees(film: CellFilm, tracks: CellTracks, first: int, max_families: int = 14) -> Figure:
    """Draw annotated families with divisions, and the found families of the same first cells.

    Parameters
    ----------
    film : CellFilm
        Detections with their annotated tracks.
    tracks : CellTracks
        Found tracks in the frames from ``first`` on, counted from 0.
    first : int
        First frame.
    max_families : int, default=14
        Maximum number of families, those with most divisions first.
    """
    last = first + int(tracks.lineage.end.max())
    detections = film.numbers(last).stop - film.numbers(first).start
    if len(tracks.label) != detections:
        raise ValueError(
            f"tracks of {len(tracks.label)} detections: expected the {detections} of frames {first} to {last}"
        )
    found = Lineage(*(np.array(tracks.lineage.rows()) + np.array([0, first, first, 0])).T)
    true = _lineage_between(film, first, last)
    dividing = set(true.dividing.tolist())
    dividing_families = sorted(families(true), key=lambda family: (-len(dividing & set(family)), family[0]))
    fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), sharex=True, sharey=True)
    height = 0.0
    for family in dividing_families[:max_families]:
        same = _family_of(found, _label_of_first_cell(film, tracks, first, family[0]))
        leaves = [
            draw_tree(ax, lineage, labels, height)
            for ax, lineage, labels in ((axes[0], true, family), (axes[1], found, same))
        ]
        height += max(leaves) + 0.8
    n_drawn, n_families = min(max_families, len(dividing_families)), len(dividing_families)
    axes[0].set(
        title=f"annotated: {n_drawn} of {n_families} families with divisions",
        yticks=[],
        ylim=(max(height, 1), -1),
    )
    axes[1].set(title="found, of the same first cells")
    for ax in axes:
        ax.set(xlabel="frame")
        ax.grid(visible=False, axis="y")
    return fig


def _lineage_between(film: CellFilm, first: int, last: int) -> Lineage:
    """Return the annotated tracks clipped to the frames, without parents that ended before."""
    rows = film.lineage[(film.lineage[:, 2] >= first) & (film.lineage[:, 1] <= last)].copy()
    rows[:, 1:3] = np.clip(rows[:, 1:3], first, last)
    rows[~np.isin(rows[:, 3], rows[:, 0]), 3] = 0
    return Lineage(*rows.T)


def _label_of_first_cell(film: CellFilm, tracks: CellTracks, first: int, track: int) -> int:
    """Return the found label of the first detection of an annotated track from a frame on."""
    start = film.numbers(first).start
    detections = film.tracks[film.tracks[:, 1] == track, 0]
    return int(tracks.label[detections[detections >= start].min() - start])


def _family_of(lineage: Lineage, label: int) -> list[int]:
    """Return the labels of the first ancestor of a cell and of all its descendants."""
    parent = dict(zip(lineage.label.tolist(), lineage.parent.tolist(), strict=True))
    while parent.get(label, 0):
        label = parent[label]
    return _with_descendants(lineage, label)


def _with_descendants(lineage: Lineage, label: int) -> list[int]:
    """Return the label and those of all descendants, parents before their children."""
    children = lineage.label[lineage.parent == label].tolist()
    return [label] + [member for child in children for member in _with_descendants(lineage, child)]


def families(lineage: Lineage) -> list[list[int]]:
    """Return the labels of each family in which a cell divides, parents before their children."""
    dividing = set(lineage.dividing.tolist())
    roots = lineage.label[lineage.parent == 0].tolist()
    return [family for root in roots if dividing & set(family := _with_descendants(lineage, root))]


def draw_tree(ax: Axes, lineage: Lineage, family: Sequence[int], height: float) -> int:
    """Draw a family as a tree over time, downwards from a height, and return the number of its leaves."""
    life = {label: (begin, end, parent) for label, begin, end, parent in lineage.rows()}
    place: dict[int, float] = {}
    leaves = 0
    for label in reversed(family):
        below = [place[child] for child in family if life[child][2] == label]
        place[label] = float(np.mean(below)) if below else height + leaves
        leaves += 0 if below else 1
    for label in family:
        begin, end, parent = life[label]
        inner = label != family[0]
        ax.plot([begin, end + 1], [place[label]] * 2, color=ORANGE if inner else BLUE, linewidth=1.4)
        if inner:
            ax.plot([begin, begin], [place[parent], place[label]], color=GREY, linewidth=1)
    return leaves
