"""Films that commands read, and pictures of tracks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ermlab.cli._pictures import new_figure, save_figure

if TYPE_CHECKING:
    import pandas as pd

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
