"""The command `ermlab`: its subcommands, those that other packages add, and how errors are reported."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import entry_points, version
from types import FrameType
from typing import Any

import click

from ermlab.cli.decode import decode
from ermlab.cli.detect import detect
from ermlab.cli.graphs import graphs
from ermlab.cli.rank import rank
from ermlab.cli.segment import segment
from ermlab.cli.taxonomy import taxonomy
from ermlab.cli.track import track
from ermlab.cli.track_train import track_train

#: Entry points of packages that add commands.
PLUGINS = "ermlab.commands"
#: Commands of the reproduction, which is not part of the wheel.
FROM_CLONE = {
    "data": "List, fetch and verify the data sets of the reproduction.",
    "exhibits": "List the published figures and tables, and how to rebuild them.",
}
NEEDS_CLONE = (
    "`ermlab {name}` needs the reproduction, which is in a clone of the repository: run `make environment` "
    "in one, then `.venv/bin/ermlab {name}`"
)


class Commands(click.Group):
    """Group that reports errors in one line, and loads commands of other packages when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*super().list_commands(ctx), *entry_points(group=PLUGINS).names})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, loaded if another package provides it."""
        own = super().get_command(ctx, cmd_name)
        if own is not None and cmd_name not in FROM_CLONE:
            return own
        for entry in entry_points(group=PLUGINS, name=cmd_name):
            try:
                return entry.load()
            except ModuleNotFoundError as error:
                if own is None or (error.name or "").partition(".")[0] != entry.module.partition(".")[0]:
                    return _refusal(cmd_name, f"`ermlab {cmd_name}` needs {error.name}", "Not available.")
        return own

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an error ends it with a message of one line and the exit code 1."""
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
            except (BrokenPipeError, click.ClickException):
                raise
            except (ImportError, MemoryError, OSError, ValueError) as error:
                raise click.ClickException(_one_line(error)) from error


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 success, 1 bad data or a failure, 2 wrong usage.",
)
@click.version_option(version("ermlab"), prog_name="ermlab")
def ermlab() -> None:
    """Structured-output learning for data of your own: rank, detect, segment, track, decode.

    Each command reads common file formats, and `ermlab COMMAND --help` shows an example. With --json the
    results are printed as JSON. Messages and progress go to the standard error.
    """


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line."""
    signal.signal(signal.SIGTERM, _end)
    ermlab.main(args, prog_name="ermlab")


def _refusal(name: str, message: str, help: str) -> click.Command:
    """Return a command that cannot run, and says why."""

    def refuse(arguments: tuple[str, ...]) -> None:
        raise click.ClickException(message)

    anything = click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)
    settings = {"ignore_unknown_options": True}
    return click.Command(name, context_settings=settings, callback=refuse, params=[anything], help=help)


def _end(number: int, frame: FrameType | None) -> None:
    """End the process as an exception does, so that incomplete files are removed."""
    sys.exit(128 + number)


def _show_warning(message: Warning | str, *_: Any) -> None:
    click.echo(f"Warning: {_one_line(message)}", err=True)


def _one_line(message: BaseException | str) -> str:
    text = " ".join(str(message).split())
    return text or type(message).__name__


COMMANDS = (decode, detect, graphs, rank, segment, taxonomy, track, track_train)
for command in (
    *COMMANDS,
    *(_refusal(name, NEEDS_CLONE.format(name=name), help) for name, help in FROM_CLONE.items()),
):
    ermlab.add_command(command)
