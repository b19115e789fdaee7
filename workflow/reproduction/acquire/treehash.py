"""Hash the names and contents of the files in a folder.

The hash is that of the text which, inside the folder, this command prints::

    find . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 sha256sum
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

#: How ``sha256sum`` writes the characters that would break its lines.
_ESCAPES = {b"\\": b"\\\\", b"\n": b"\\n", b"\r": b"\\r"}
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Tree:
    """What a folder holds: the hash of its files, their number and their size in all."""

    sha256: str
    files: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.files} files, {self.bytes} bytes, tree hash {self.sha256}"


def tree_hash(folder: str | Path) -> Tree:
    """Hash the regular files below ``folder``; links and empty folders do not count."""
    return tree_of({name: _hash_file(entry.path) for name, entry in _regular_files(folder)})


def tree_of(hashed: Mapping[bytes, tuple[str, int]]) -> Tree:
    """Return the tree of files from their paths inside the folder, with SHA-256 and length of each."""
    total = hashlib.sha256()
    for name in sorted(hashed):
        total.update(_checksum_line(hashed[name][0], name))
    return Tree(total.hexdigest(), len(hashed), sum(length for _, length in hashed.values()))


def tree_stamp(folder: str | Path) -> str:
    """Summarize names, sizes and times of the files below ``folder`` without reading them.

    The kernel sets the change time of a file at every write, and nothing else can set it, so an equal stamp
    means that the files are unchanged.
    """
    summary = hashlib.sha256()
    for name, entry in _regular_files(folder):
        status = entry.stat(follow_symlinks=False)
        summary.update(b"%s\0%d %d %d\n" % (name, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return summary.hexdigest()


def _regular_files(folder: str | Path) -> Iterator[tuple[bytes, os.DirEntry]]:
    """Yield (path inside ``folder``, entry) of the files below it, in the order of the paths' bytes."""
    found = []
    pending = [(b"", os.fsencode(folder))]
    while pending:
        prefix, path = pending.pop()
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append((prefix + entry.name + b"/", entry.path))
                elif entry.is_file(follow_symlinks=False):
                    found.append((prefix + entry.name, entry))
    yield from sorted(found, key=lambda item: item[0])


def _hash_file(path: bytes) -> tuple[str, int]:
    """Return the SHA-256 and the length of a file (plain system calls: most files are tiny and many)."""
    digest, length = hashlib.sha256(), 0
    descriptor = os.open(path, os.O_RDONLY)
    try:
        while chunk := os.read(descriptor, _CHUNK):
            digest.update(chunk)
            length += len(chunk)
    finally:
        os.close(descriptor)
    return digest.hexdigest(), length


def _checksum_line(digest: str, name: bytes) -> bytes:
    """Return the line of ``sha256sum``: one with an escaped name starts with a backslash."""
    escaped = b"".join(_ESCAPES.get(bytes([byte]), bytes([byte])) for byte in name) if _odd(name) else name
    mark = b"\\" if escaped != name else b""
    return mark + digest.encode() + b"  " + escaped + b"\n"


def _odd(name: bytes) -> bool:
    return any(character in name for character in _ESCAPES)
