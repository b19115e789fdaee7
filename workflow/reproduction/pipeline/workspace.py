"""Find and enter the project folder."""

import os
from pathlib import Path

from ermlab.exceptions import DataError


def project_root(start: str | Path = ".") -> Path:
    """Return the closest folder at or above ``start`` that holds the ``Snakefile``."""
    start = Path(start).resolve()
    for folder in (start, *start.parents):
        if (folder / "Snakefile").is_file():
            return folder
    raise DataError(f"no Snakefile in {start} or above it: run this inside a clone of the repository")


def enter_project() -> Path:
    """Make the project folder the working folder and return it.

    Jupyter starts a notebook in the notebook's own folder, the workflow in the project folder;
    after this call relative paths mean the same in both.
    """
    root = project_root()
    os.chdir(root)
    return root
