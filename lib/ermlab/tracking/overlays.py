"""Pictures and animations of tracks over the frames of a film, drawn by Pillow."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageColor, ImageDraw

from ermlab._utils.files import broken
from ermlab._utils.palette import BLUE, GREEN, ORANGE, PINK, SKY, YELLOW
from ermlab._utils.validation import whole_number
from ermlab.tracking.cells import as_image, as_label_image
from ermlab.tracking.image_stacks import as_frames
from ermlab.tracking.track_tables import checked_tracks

#: Colors that are visible on a dark image; a track has the same color in each frame.
_COLORS = np.array(
    [ImageColor.getrgb(color) for color in (YELLOW, SKY, ORANGE, GREEN, PINK, BLUE)], dtype=np.uint8
)
_WHITE = (255, 255, 255)
#: Percentiles of a frame that are shown black and white.
_BLACK, _BRIGHT = 1.0, 99.8
#: Range of the gray levels of the frames: tracks stay brighter.
_GRAY = 170
#: Animations, and pictures of a single frame.
_ANIMATIONS, _PICTURES = (".gif", ".webp"), (".png", ".jpg", ".jpeg")
_RADIUS = 2


def write_overlay(
    path: str | Path,
    table: pd.DataFrame,
    images: str | Path | Iterable[ArrayLike] | None = None,
    masks: Iterable[ArrayLike] | None = None,
    *,
    frame: int | None = None,
    tail: int = 10,
    duration: int = 150,
    columns: Mapping[str, str] | None = None,
) -> None:
    """Write an animation of the tracks, or a picture of one frame.

    Each track has a color; its path over the last frames is a line, and a white line leads from the last
    place of a parent to the first one of each child. With masks, cells are outlined; without them, points
    mark them.
    Films are drawn in the plane: volumes (3-D) are not supported, and neither is video (MP4).

    Parameters
    ----------
    path : str or Path
        The file: ``.gif`` or ``.webp`` for an animation, ``.png`` or ``.jpg`` for a picture.
    table : DataFrame
        The tracks, from `track_table` or `CellTracker.track_points`, in pixels.
    images : str, Path or iterable of array-like of shape (height, width), optional
        The frames 0, 1, ..., or what `read_stack` reads; by default black ones.
    masks : iterable of array-like of int of shape (height, width), optional
        Label images of the frames 0, 1, ... with the tracks as labels.
    frame : int, optional
        Number of the frame of a picture, by default the last one.
    tail : int, default=10
        Number of frames for which the path of a cell is shown.
    duration : int, default=150
        Milliseconds per frame of an animation.
    columns : mapping of str to str, optional
        The columns for ``"frame"``, ``"y"`` and ``"x"``, by default recognized as in `film_of_points`.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in (*_ANIMATIONS, *_PICTURES):
        raise broken(path, f"the ending {ending!r}", f"one of {', '.join((*_ANIMATIONS, *_PICTURES))}")
    tail = whole_number("tail", tail, 0)
    duration = whole_number("duration", duration, 1)
    table = checked_tracks(table, columns)
    if not len(table):
        raise ValueError("the table has no rows: expected a track to draw")
    first, last = int(table["frame"].min()), int(table["frame"].max())
    if images is not None or masks is not None:
        if first < 0:
            raise ValueError(f"the table has frame {first}: expected numbers from 0, those of the images")
        first = 0
    if ending in _PICTURES:
        last = last if frame is None else frame
        if not first <= last <= int(table["frame"].max()):
            raise ValueError(f"frame is {frame}: expected {first} to {int(table['frame'].max())}")
    pictures = _pictures(table, images, masks, range(first, last + 1), tail)
    part = path.with_name(f".part-{path.name}")
    try:
        if ending in _PICTURES:
            deque(pictures, maxlen=1).pop().save(part)
        else:
            begin = next(pictures)
            begin.save(part, save_all=True, append_images=pictures, duration=duration, loop=0)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _pictures(
    table: pd.DataFrame,
    images: str | Path | Iterable[ArrayLike] | None,
    masks: Iterable[ArrayLike] | None,
    frames: range,
    tail: int,
) -> Iterator[Image.Image]:
    """Yield the picture of each frame."""
    places = _Places(table)
    backgrounds = _backgrounds(table, images, masks)
    for t in frames:
        image, mask = next(backgrounds, (None, None))
        if image is None:
            raise ValueError(f"no image or mask for frame {t}: expected one for each of {len(frames)} frames")
        picture = np.repeat(image[..., None], 3, axis=-1)
        if mask is not None:
            edges = _edges(mask)
            picture[edges] = _COLORS[mask[edges] % len(_COLORS)]
        drawn = Image.fromarray(picture)
        places.draw(ImageDraw.Draw(drawn), t, tail, dots=mask is None)
        yield drawn


def _backgrounds(
    table: pd.DataFrame, images: str | Path | Iterable[ArrayLike] | None, masks: Iterable[ArrayLike] | None
) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64] | None]]:
    """Yield gray levels and labels of the frames."""
    if images is None and masks is None:
        height, width = (int(np.ceil(table[axis].max())) + 10 for axis in ("y", "x"))
        yield from repeat((np.zeros((max(height, 10), max(width, 10)), dtype=np.uint8), None))
        return
    grays = repeat(None) if images is None else (_gray(image) for image in as_frames(images))
    labels = repeat(None) if masks is None else (as_label_image(mask) for mask in masks)
    for gray, mask in zip(grays, labels, strict=False):
        gray = np.zeros(mask.shape, dtype=np.uint8) if gray is None else gray
        if mask is not None and mask.shape != gray.shape:
            raise ValueError(f"a mask has shape {mask.shape}: expected {gray.shape} as its image")
        yield gray, mask


def _gray(image: ArrayLike) -> NDArray[np.uint8]:
    image = as_image(image)
    low, high = np.percentile(image, [_BLACK, _BRIGHT])
    share = np.clip((image - low) / max(high - low, np.finfo(float).tiny), 0, 1)
    return np.round(_GRAY * np.sqrt(share)).astype(np.uint8)


def _edges(mask: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the pixels of cells beside a pixel of another label."""
    padded = np.pad(mask, 1, mode="edge")
    here = padded[1:-1, 1:-1]
    neighbors = (padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:])
    return (here > 0) & np.any([here != other for other in neighbors], axis=0)


class _Places:
    """The places of tracks by frame, for drawing."""

    def __init__(self, table: pd.DataFrame):
        self._table = table  # ordered by track and frame
        last = table.drop_duplicates("track_id", keep="last").set_index("track_id")
        births = table.drop_duplicates("track_id")
        births = births[births["parent_track_id"] > 0]
        parents = last.loc[births["parent_track_id"]]
        self._births = np.column_stack([births["frame"], parents[["x", "y"]], births[["x", "y"]]])

    def draw(self, canvas: ImageDraw.ImageDraw, frame: int, tail: int, *, dots: bool) -> None:
        """Draw the paths of the cells of a frame over the frames before, and recent divisions."""
        table = self._table
        recent = table[(table["frame"] >= frame - tail) & (table["frame"] <= frame)]
        present = set(recent["track_id"][recent["frame"] == frame].tolist())
        for track, path in recent.groupby("track_id"):
            if track not in present:
                continue
            color = tuple(_COLORS[track % len(_COLORS)].tolist())
            points = [tuple(point) for point in path[["x", "y"]].to_numpy().tolist()]
            if len(points) > 1:
                canvas.line(points, fill=color, width=1)
            if dots:
                x, y = points[-1]
                canvas.ellipse((x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS), fill=color)
        for begin, *line in self._births.tolist():
            if frame - tail <= begin <= frame:
                canvas.line(line, fill=_WHITE, width=1)
