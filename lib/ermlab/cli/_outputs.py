"""Files that commands write: checked before anything is computed, and complete or absent."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ermlab.exceptions import DataError


def check_file(path: Path, force: bool) -> Path:
    """Raise a DataError unless a file can be written; one that exists needs ``force``."""
    _check_parent(path)
    if path.is_dir():
        raise DataError(f"{path}: a folder; expected the name of a file to write")
    if path.exists() and not force:
        raise DataError(f"{path}: the file exists; expected a new one, or --force to replace it")
    return path


def check_folder(path: Path, force: bool) -> Path:
    """Raise a DataError unless files can be written to a folder; one that has files needs ``force``."""
    if path.exists() and not path.is_dir():
        raise DataError(f"{path}: a file; expected a folder to write to")
    if not path.exists():
        _check_parent(path)
        return path
    _check_writable(path)
    if not force and (names := sorted(entry.name for entry in path.iterdir())):
        raise DataError(
            f"{path}: there is {names[0]}; expected an empty folder, or --force to replace results in it"
        )
    return path


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Yield the name of a new file that replaces ``path`` on success, and is removed after an error."""
    part = _part(path)
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def writing_folder(path: Path) -> Iterator[Path]:
    """Yield a new folder whose files are moved to ``path`` on success; other files there are kept."""
    part = _part(path)
    part.mkdir()
    try:
        yield part
        if path.exists():
            for file in sorted(part.iterdir()):
                file.replace(path / file.name)
        else:
            part.rename(path)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _part(path: Path) -> Path:
    """Return a name beside ``path`` with the same ending, which libraries take as the format."""
    return path.with_name(f".part-{os.getpid()}-{path.name}")


def _check_parent(path: Path) -> None:
    if not path.name:
        raise DataError(f"{path}: no name; expected the name of a file or folder to write")
    if not path.parent.is_dir():
        raise DataError(f"{path.parent}: no such folder; expected one to write {path.name} to")
    _check_writable(path.parent)


def _check_writable(folder: Path) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise DataError(f"{folder}: {error.strerror}; expected a folder to write to") from error
