"""The command `ermlab`. Its modules import the library inside of commands, so that help appears at once."""

from ermlab.cli.app import ermlab, main

__all__ = ["ermlab", "main"]
