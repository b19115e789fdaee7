"""Commands to track cells and to train trackers."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Callable


def run(command: Callable[..., None], parser: ArgumentParser) -> None:
    """Call a command with the arguments of the command line; an error ends it with a message of one line."""
    try:
        command(**vars(parser.parse_args()))
    except (ImportError, OSError, ValueError) as error:
        sys.exit(str(error))
