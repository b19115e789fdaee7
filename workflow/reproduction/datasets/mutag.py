"""MUTAG: graphs of molecules in two classes, by their mutagenic effect on a bacterium."""

from pathlib import Path

from ermlab.kernels import GraphSet, read_tu


def read_mutag(folder: str | Path) -> GraphSet:
    """Read the files ``MUTAG_*.txt``."""
    return read_tu(folder, "MUTAG")
