"""Write the files of a folder in a thread of its own, and hash them on the way.

Decompression, hashing and the file system each take about as long. Decompression releases Python's global
lock, so that with a thread for the other two unpacking is about as fast as decompression alone.
"""

import hashlib
import os
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import NamedTuple, Self

from reproduction.acquire.treehash import Tree, tree_of

#: Bytes and pieces that are handed over at once, and how many such batches may wait.
_BATCH_BYTES, _BATCH_PIECES, _WAITING = 1 << 20, 256, 8


class _Piece(NamedTuple):
    """A part of a file, and whether it is the last one."""

    name: str
    content: bytes
    last: bool


class TreeWriter:
    """Write files below a folder, each once, and know the tree of what was written.

    An error of the thread, such as that of a full disk, is raised by a later call, by `finish` at the latest.

    Parameters
    ----------
    folder
        An existing, empty folder.
    """

    def __init__(self, folder: Path):
        self._folder = str(folder)
        self._made = {self._folder}
        self._hashed: dict[bytes, tuple[str, int]] = {}
        self._error: BaseException | None = None
        self._batch: list[_Piece] = []
        self._batch_bytes = 0
        self._queue: Queue[list[_Piece] | None] = Queue(_WAITING)
        self._thread = Thread(target=self._work, name="tree-writer", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    def write(self, name: str, content: bytes, *, last: bool) -> None:
        """Append a part to the file with this path inside the folder; parts of two files do not mix."""
        self._batch.append(_Piece(name, content, last))
        self._batch_bytes += len(content)
        if self._batch_bytes >= _BATCH_BYTES or len(self._batch) >= _BATCH_PIECES:
            self._hand_over()

    def finish(self) -> Tree:
        """Wait until everything is written, and return the tree of the folder."""
        self._hand_over()
        self._queue.put(None)
        self._thread.join()
        if self._error is not None:
            raise self._error
        return tree_of(self._hashed)

    def _hand_over(self) -> None:
        if self._error is not None:
            raise self._error
        self._queue.put(self._batch)
        self._batch, self._batch_bytes = [], 0

    def _work(self) -> None:
        pieces = self._pieces()
        try:
            for piece in pieces:
                self._write_file(piece, pieces)
        except BaseException as error:
            self._error = error
            for _ in pieces:  # so that nobody waits for room in the queue
                pass

    def _pieces(self):
        while (batch := self._queue.get()) is not None:
            yield from batch

    def _write_file(self, piece: _Piece, more) -> None:
        """Write the file that begins with ``piece``; its other parts are the next of ``more``."""
        path = f"{self._folder}/{piece.name}"
        if (folder := os.path.dirname(path)) not in self._made:  # noqa: PTH120 (many small files: no path objects)
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103
            self._made.add(folder)
        digest, length = hashlib.sha256(), 0
        with open(path, "xb", buffering=0) as file:  # noqa: PTH123
            while True:
                file.write(piece.content)
                digest.update(piece.content)
                length += len(piece.content)
                if piece.last:
                    break
                piece = next(more)
        self._hashed[os.fsencode(piece.name)] = (digest.hexdigest(), length)
