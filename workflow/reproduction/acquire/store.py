"""Manage the folder of raw data: atomic, locked, and without overwriting files of users."""

import fcntl
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ermlab._utils.files import reading
from ermlab.exceptions import DataError
from reproduction.acquire.treehash import Tree, tree_hash, tree_stamp
from reproduction.claims.results import read_json, write_json

#: The source of real data that the user put into place.
USER_SOURCE = "raw"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Origin:
    """Where files came from: ``kind`` real or simulated, the source's name, and its description."""

    kind: str
    source: str
    detail: str


@dataclass(frozen=True)
class Found:
    """What a folder holds, and where it came from if this store put it there."""

    tree: Tree
    origin: Origin | None

    @property
    def replaceable(self) -> bool:
        """Whether this store made the folder, so that it may be replaced."""
        return self.origin is not None and self.origin.source != USER_SOURCE


class RawStore:
    """The place of one data set below ``raw``.

    ``raw/<name>`` is complete or absent: it is made as ``raw/.part-<name>`` and renamed. Beside it are

    - ``.acquired/<name>.json``: what this store put there, and a stamp that saves reading it again;
    - ``.downloads/<name>/``: downloaded archives, complete or ``.part``;
    - ``.real-<name>``: real data set aside while simulated ones are in use.
    """

    def __init__(self, raw: str | Path, name: str):
        raw = Path(raw)
        self.folder = raw / name
        self.part = raw / f".part-{name}"
        self.downloads = raw / ".downloads" / name
        self._old = raw / f".old-{name}"
        # Beside the folder and not deeper, so that a relative link stays right when it is moved.
        self._aside = raw / f".real-{name}"
        self._record = raw / ".acquired" / f"{name}.json"
        self._lock = raw / ".acquired" / f"{name}.lock"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock this data set, and remove what an interrupted process left behind."""
        self._lock.parent.mkdir(parents=True, exist_ok=True)
        with self._lock.open("w") as handle:
            _wait_for(handle, self.folder.name)
            self._clear()
            try:
                yield
            finally:
                self._clear()

    def look(self, expected: Tree | None) -> Found | None:
        """Return what is in place, None if nothing is; refuse to go on with files of unknown origin."""
        found = self._identify(self.folder, expected)
        if found is not None and found.tree != expected and not found.replaceable:
            raise DataError(
                f"{self.folder} holds something else than the registered data: found {found.tree}; "
                f"expected {expected or 'simulated files only'}; it is left alone: move it away and run again"
            )
        return found

    def restore(self, expected: Tree | None) -> Found | None:
        """Bring back real data that were set aside, if they are the expected ones."""
        found = self._identify(self._aside, expected)
        if found is None or found.tree != expected:
            return None
        self._retire(self.look(expected), expected)
        self._aside.rename(self.folder)
        return found

    def place(self, origin: Origin, expected: Tree | None) -> Found:
        """Put the finished ``part`` into place; real data, the ``expected`` ones, are set aside for it."""
        tree = tree_hash(self.part) if origin.kind == "simulated" else expected
        present = self.look(expected)
        if present == Found(tree, origin):
            return present
        self._retire(present, expected)
        self._remember(self.part, Found(tree, origin))
        self.part.rename(self.folder)
        return Found(tree, origin)

    def _retire(self, present: Found | None, expected: Tree | None) -> None:
        """Move what is in place out of the way."""
        if present is None:
            return
        if present.tree == expected:
            _remove(self._aside)
            self.folder.rename(self._aside)
        else:
            self.folder.rename(self._old)

    def _identify(self, folder: Path, expected: Tree | None) -> Found | None:
        if not os.path.lexists(folder):
            return None
        if not folder.is_dir():
            raise DataError(f"{folder} is not a folder: move it away, the data set goes there")
        if not folder.is_symlink() and not any(folder.iterdir()):
            folder.rmdir()
            return None
        records = self._records()
        stamp = tree_stamp(folder)
        for found, known in records:
            if stamp == known:
                return found
        tree = tree_hash(folder)
        found = next((found for found, _ in records if found.tree == tree), None)
        if found is None and tree == expected:
            found = Found(tree, Origin("real", USER_SOURCE, f"found in {folder.name}"))
        if found is None:
            return Found(tree, None)
        self._remember(folder, found)
        return found

    def _records(self) -> list[tuple[Found, str]]:
        """Return what this store has put into place before, each with its stamp."""
        if not self._record.exists():
            return []
        with reading(self._record, "the record of what was acquired; delete it"):
            return [(_found(entry), entry["stamp"]) for entry in read_json(self._record).values()]

    def _remember(self, folder: Path, found: Found) -> None:
        """Record what ``folder`` holds; the records of one real and one simulated data set are kept."""
        entries = read_json(self._record) if self._record.exists() else {}
        entry: dict[str, Any] = {
            "tree": vars(found.tree),
            "origin": vars(found.origin),
            "stamp": tree_stamp(folder),
        }
        write_json(self._record, {**entries, found.origin.kind: entry})

    def _clear(self) -> None:
        _remove(self.part)
        _remove(self._old)


def _found(entry: dict[str, Any]) -> Found:
    return Found(Tree(**entry["tree"]), Origin(**entry["origin"]))


def _wait_for(handle: IO, name: str) -> None:
    """Lock a file; the kernel releases the lock when the process ends."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _log.warning("another process is acquiring %s; waiting for it", name)
        fcntl.flock(handle, fcntl.LOCK_EX)


def _remove(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
