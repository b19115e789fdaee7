"""Pictures that commands draw if matplotlib is installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ermlab.cli._outputs import writing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(size: tuple[float, float], required: bool) -> Figure | None:
    """Return a figure of the size in inches; None without matplotlib, unless the picture is ``required``."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        message = "no picture without matplotlib: pip install 'ermlab[plot]'"
        if required:
            raise ImportError(message) from error
        click.echo(f"Note: {message}", err=True)
        return None
    return Figure(figsize=size, layout="tight")


def save_figure(path: Path, figure: Figure) -> None:
    """Write a figure in the format of the name."""
    with writing(path) as part:
        figure.savefig(part, dpi=150)


def check_picture(path: Path, *endings: str, option: str) -> Path:
    """Raise a usage error unless the name has one of the endings."""
    if path.suffix.lower() not in endings:
        message = f"{path}: expected a name that ends in {' or '.join(endings)}"
        raise click.BadParameter(message, param_hint=option)
    return path
