"""Films that commands read, and pictures of tracks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ermlab.cli._console import bar
from ermlab.cli._outputs import writing
from ermlab.cli._pictures import new_figure, pixels, save_figure

if TYPE_CHECKING:
    import pandas as pd

    from ermlab.tracking import Lineage

TABLES = (".csv", ".tsv", ".txt")

columns_option = click.option(
    "--columns",
    metavar="NAME=COLUMN,...",
    help="Columns of a table for frame, x, y, area, intensity, eccentricity, track and parent, such as "
    "frame=t,x=pos_x. Usual names are recognized.",
)


def column_names(text: str | None) -> dict[str, str]:
    """Return the columns of an option ``frame=t,x=pos_x``."""
    pairs = [part.partition("=") for part in text.split(",")] if text else []
    for name, sign, column in pairs:
        if not (name.strip() and sign and column.strip()):
            message = f"{text}: expected pairs such as frame=t,x=pos_x"
            raise click.BadParameter(message, param_hint="--columns")
    return {name.strip(): column.strip() for name, _, column in pairs}


def is_table(path: Path) -> bool:
    """Return whether a film is a table of points."""
    return path.suffix.lower() in TABLES


def draw_film(path: Path, frames: Any, masks: Any, lineage: Lineage, *, required: bool) -> bool:
    """Draw the last frame with its tracks, or an animation; return whether this was possible."""
    height, width = masks[0].shape
    animated = path.suffix.lower() == ".gif"
    shown = range(len(masks)) if animated else [len(masks) - 1]
    pictures = []
    with bar(len(shown), "drawing") as progress:
        for frame in shown:
            figure = new_figure((8.0, 8.0 * height / width + 0.3), required)
            if figure is None:
                return False
            from ermlab.tracking import show_tracked_frame

            image = (masks if frames is None else frames)[frame]
            show_tracked_frame(figure.subplots(), image, masks, lineage, frame, title=f"frame {frame}")
            pictures.append(pixels(figure))
            progress.update(1)
    animation = {"save_all": True, "append_images": pictures[1:], "duration": 250, "loop": 0}
    with writing(path) as part:
        pictures[0].save(part, **animation if animated else {})
    return True


def draw_points(path: Path, table: pd.DataFrame, x: str, y: str, *, required: bool) -> bool:
    """Draw the paths of all tracks; return whether this was possible."""
    figure = new_figure((7.0, 7.0), required)
    if figure is None:
        return False
    from ermlab._utils.palette import COLORS

    axes = figure.subplots()
    for number, (_, rows) in enumerate(table.groupby("track_id")):
        axes.plot(rows[x], rows[y], ".-", markersize=3, linewidth=1, color=COLORS[number % len(COLORS)])
    axes.set(xlabel=x, ylabel=y, title=f"{table['track_id'].nunique()} tracks", aspect="equal")
    axes.invert_yaxis()  # as in images
    save_figure(path, figure)
    return True
