"""Tracks on frames, still and moving, links between frames, and trees of descent."""

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection, LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from ermlab.datasets.ctc import Lineage
from ermlab.features.cell_events import Gates
from ermlab.features.cell_films import CellFilm, frame_pairs
from ermlab.features.cell_scenes import TrackedFrames
from ermlab.features.cell_tracks import Links, links_of
from ermlab.plotting.pictures import show_image
from ermlab.plotting.style import AMBER, BLUE, GREEN, GREY, ORANGE, PINK, SKY, YELLOW
from ermlab.risk.event_forest import judged_events

#: Seen well on dark frames.
_TRACK_COLORS = (SKY, AMBER, PINK, YELLOW, GREEN, ORANGE, "#FFFFFF")
_RIGHT, _WRONG, _MISSED = BLUE, ORANGE, "black"
#: Milliseconds that each frame of an animation is shown, and the last one.
_PACE, _PAUSE = 250, 1200


def draw_tracks(ax: Axes, tracked: TrackedFrames, t: int, tail: int) -> None:
    """Show frame ``t`` with the last way of each track, and rings around cells that have just divided."""
    show_image(ax, tracked.images[t])
    ways, colors = [], []
    for track in np.unique(tracked.track[tracked.frame == t]).tolist():
        here = (tracked.track == track) & (tracked.frame <= t) & (tracked.frame >= t - tail)
        ways.append(tracked.position[here][:, ::-1])
        colors.append(_TRACK_COLORS[track % len(_TRACK_COLORS)])
    ax.add_collection(
        LineCollection(
            [way if len(way) > 1 else np.repeat(way, 2, axis=0) for way in ways],
            colors=colors,
            linewidths=1.3,
        )
    )
    ends = np.array([way[-1] for way in ways]).reshape(-1, 2)
    ax.scatter(*ends.T, s=7, c=colors, linewidths=0)
    children = tracked.lineage[(tracked.lineage[:, 3] > 0) & (tracked.lineage[:, 1] == t), 0]
    born = tracked.position[np.isin(tracked.track, children) & (tracked.frame == t)]
    ax.scatter(*born[:, ::-1].T, s=90, facecolors="none", edgecolors="white", linewidths=1.2)
    height, width = tracked.images.shape[1:]
    ax.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5))


def plot_tracks_on_frames(tracked: TrackedFrames, frames: Sequence[int], tail: int = 8) -> Figure:
    """Show some frames side by side with the tracks up to then."""
    fig, axes = plt.subplots(1, len(frames), figsize=(3.6 * len(frames), 3.9))
    for ax, t in zip(np.atleast_1d(axes), frames, strict=True):
        draw_tracks(ax, tracked, t, tail)
        ax.set_title(f"frame {t}", fontsize=9)
    return fig


def animate_tracks(tracked: TrackedFrames, path: str | Path, tail: int = 8, pixels: int = 340) -> HTML:
    """Write a film of frames with tracks as animated WebP, and return it as something a page can show."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    pages = [_page(tracked, t, tail, pixels) for t in range(len(tracked.images))]
    duration = [_PACE] * (len(pages) - 1) + [_PAUSE]
    pages[0].save(
        path, save_all=True, append_images=pages[1:], duration=duration, loop=0, quality=50, method=4
    )
    content = b64encode(path.read_bytes()).decode()
    source = f"data:image/webp;base64,{content}"
    return HTML(f'<img src="{source}" width="{pixels}" alt="tracks of nuclei in {len(pages)} frames">')


def _page(tracked: TrackedFrames, t: int, tail: int, pixels: int) -> Image.Image:
    fig = plt.figure(figsize=(pixels / 100, pixels / 100), dpi=100, layout="none")
    ax = fig.add_axes((0, 0, 1, 1))
    draw_tracks(ax, tracked, t, tail)
    ax.set_title("")
    buffer = BytesIO()
    fig.savefig(buffer, format="png", dpi=100)
    plt.close(fig)
    return Image.open(buffer).convert("RGB")


def plot_links(film: CellFilm, t: int, found: dict[str, Links], part: tuple[int, int, int]) -> Figure:
    """Show what trackers linked between two frames in a part of the view: right, wrong and missed.

    Parameters
    ----------
    t
        The first frame.
    found
        Title to the links of a tracker.
    part
        Top, left and side of a square.
    """
    (pair,) = frame_pairs(film, Gates(), range(t, t + 1))
    true, _ = judged_events(pair)
    known = {tuple(row) for row in links_of(pair.hypotheses, true).tolist()}
    settled = pair.hypotheses.incidence @ true.astype(float) > 0
    before, after = film.cells(t), film.cells(t + 1)
    fig, axes = plt.subplots(1, len(found), figsize=(4.9 * len(found), 5.1), sharex=True, sharey=True)
    top, left, side = part
    for ax, (title, rows) in zip(np.atleast_1d(axes), found.items(), strict=True):
        chosen = {tuple(row) for row in rows.tolist()}
        wrong = {(i, j) for i, j in chosen - known if settled[i] or settled[pair.hypotheses.n_sources + j]}
        for cells, color in ((before, "0.8"), (after, "0.55")):
            _draw_cells(ax, cells.position, cells.area, color)
        for links, style in (
            (chosen - wrong, {"colors": _RIGHT, "linewidths": 1.4}),
            (known - chosen, {"colors": _MISSED, "linewidths": 1.4, "linestyles": "dotted"}),
            (wrong, {"colors": _WRONG, "linewidths": 2.2}),
        ):
            ways = [[before.position[i][::-1], after.position[j][::-1]] for i, j in sorted(links)]
            ax.add_collection(LineCollection(ways, **style))
        ax.set(xlim=(left, left + side), ylim=(top + side, top), aspect="equal", title=title, xlabel="pixels")
        ax.grid(visible=False)
    np.atleast_1d(axes)[0].set_ylabel("pixels")
    handles = [
        plt.Line2D([], [], color=_RIGHT, label="right, or not known"),
        plt.Line2D([], [], color=_WRONG, linewidth=2.2, label="wrong"),
        plt.Line2D([], [], color=_MISSED, linestyle=":", label="missed"),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=3)
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


def families(lineage: Lineage) -> list[list[int]]:
    """Return the labels of each family in which a cell divides, parents before their children."""
    children: dict[int, list[int]] = {}
    for label, _, _, parent in lineage.rows():
        children.setdefault(parent, []).append(label)

    def below(label: int) -> list[int]:
        return [label] + [each for child in children.get(label, []) for each in below(child)]

    dividing = set(lineage.dividing.tolist())
    return [family for root in children.get(0, []) if dividing & set(family := below(root))]


def draw_trees(ax: Axes, lineage: Lineage, most: int, title: str) -> None:
    """Draw families as trees over time, at most so many, those with most divisions first."""
    dividing = set(lineage.dividing.tolist())
    every = sorted(families(lineage), key=lambda family: (-len(dividing & set(family)), family[0]))
    row = {label: (begin, end, parent) for label, begin, end, parent in lineage.rows()}
    height = 0.0
    for family in every[:most]:
        place: dict[int, float] = {}
        for label in reversed(family):
            below = [place[child] for child in family if row[child][2] == label]
            place[label] = float(np.mean(below)) if below else height
            height += 0 if below else 1
        for label in family:
            begin, end, parent = row[label]
            inner = label != family[0]
            ax.plot([begin, end + 1], [place[label]] * 2, color=ORANGE if inner else BLUE, linewidth=1.4)
            if inner:
                ax.plot([begin, begin], [place[parent], place[label]], color=GREY, linewidth=1)
        height += 0.8
    ax.set(
        yticks=[], xlabel="frame", title=f"{title}: {len(every)} families with divisions", ylim=(height, -1)
    )
    ax.grid(visible=False, axis="y")
