"""Write the help of the command `ermlab` and of its subcommands for the manual."""

from collections.abc import Iterator

import click

from ermlab.cli.app import ermlab

#: Where the help goes on a page.
PLACE = "<!-- help of all commands -->"
_WIDTH = 90


def command_help() -> str:
    """Return the help of all commands as Markdown, with a section for each."""
    return "\n\n".join(_sections(ermlab, "ermlab", None))


def _sections(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    settings = {**command.context_settings, "terminal_width": _WIDTH, "max_content_width": _WIDTH}
    context = click.Context(command, parent=parent, info_name=name, **settings)
    yield f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```"
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            yield from _sections(command.get_command(context, child), child, context)
