"""Unpack untrusted archives: no file leaves the target folder, and all content is verified."""

import errno
import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, Self

from ermlab._utils.files import require_file
from ermlab.exceptions import DataError
from reproduction.acquire.tree_writer import TreeWriter
from reproduction.acquire.treehash import Tree

_ZIP_SUFFIXES = (".zip", ".whl")
_CHUNK = 1 << 20
#: Members of a tar archive that hold names of others, and how long they may be: they are read as a whole, and
#: a megabyte of a compressed archive can hold a name of a gigabyte.
_NAMES = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_LONGEST_NAME = 1 << 20
_TWICE = "{archive}: member {name!r} comes twice: nothing was unpacked"


class _Member(NamedTuple):
    name: str
    kind: str
    size: int
    open: Callable[[], IO[bytes]]


def unpack(archive: Path, target: Path, members: Mapping[str, str | None], expected: Tree) -> None:
    """Unpack the chosen members of ``archive`` into the new folder ``target`` and verify them.

    Parameters
    ----------
    members
        Paths in the archive to paths in ``target``. A path that ends in ``/`` (or is empty: everything) is
        a folder, whose files keep their names below the other path; ``None`` leaves a member out.
    expected
        What the folder must hold in the end. Its counts also bound what is written on the way.

    Raises
    ------
    DataError
        If the archive is damaged, tries to leave ``target`` or holds something else. ``target`` is gone then.
    """
    with _damage_reported(archive):
        require_file(archive)
    target.mkdir(parents=True)
    try:
        found = _write_members(archive, target, members, expected)
        if found != expected:
            raise DataError(
                f"{archive} does not hold the registered data: found {found}; expected {expected}; "
                "get this archive again from where it came from"
            )
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise


def _write_members(archive: Path, target: Path, members: Mapping[str, str | None], limit: Tree) -> Tree:
    """Write the chosen members, and return the tree of what was written."""
    names: dict[str, str] = {}
    with TreeWriter(target) as writer:
        try:
            for name, member in _chosen(archive, members, limit):
                if name in names:
                    raise DataError(_TWICE.format(archive=archive, name=member.name))
                names[name] = member.name
                _copy(archive, member, name, writer)
            return writer.finish()
        except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
            # A file and a folder of one name, or a file system that does not tell cases apart.
            place = os.path.relpath(error.filename, target)
            raise DataError(_TWICE.format(archive=archive, name=names.get(place, place))) from None


def _copy(archive: Path, member: _Member, name: str, writer: TreeWriter) -> None:
    with _damage_reported(archive), member.open() as source:
        left = member.size
        while True:
            content = source.read(min(left, _CHUNK) or 1)
            left -= len(content)
            if left < 0 or (left and not content):
                raise ValueError(
                    f"member {member.name!r} does not have the {member.size} bytes that it promises"
                )
            writer.write(name, content, last=not left)
            if not left:
                return


def _chosen(archive: Path, members: Mapping[str, str | None], limit: Tree) -> Iterator[tuple[str, _Member]]:
    """Yield the chosen members with their paths in the target folder, no more than the limit allows."""
    files = size = 0
    for member in _members(archive):
        name = _safe_name(member.name, archive)
        place = _place(name, members)
        if place is None or member.kind == "folder":
            continue
        if member.kind != "file":
            raise DataError(f"{archive}: member {member.name!r} is a {member.kind}: nothing was unpacked")
        files, size = files + 1, size + member.size
        if files > limit.files or size > limit.bytes:
            raise DataError(
                f"{archive}: more than the registered {limit.files} files and {limit.bytes} bytes "
                f"at member {member.name!r}: nothing was unpacked"
            )
        yield _safe_name(place, archive), member


def _safe_name(name: str, archive: Path) -> str:
    """Return a member's name without empty steps; refuse one that leads out of the folder."""
    steps = name.split("/")
    if name.startswith("/") or ".." in steps or "\0" in name:
        raise DataError(f"{archive}: member {name!r} leads out of the folder: nothing was unpacked")
    return "/".join(step for step in steps if step not in ("", "."))


def _place(name: str, members: Mapping[str, str | None]) -> str | None:
    """Return the path of a member inside the target folder, None if it is not used."""
    if name in members:
        return members[name]
    for source, place in members.items():
        if (source == "" or source.endswith("/")) and name.startswith(source) and name != source:
            return f"{place}/{name[len(source) :]}".lstrip("/")
    return None


@contextmanager
def _damage_reported(archive: Path) -> Iterator[None]:
    """Turn any exception that a damaged archive raises into a `DataError`."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        # gzip and bz2 report damage as an OSError without a number, and zipfile seeks places below zero;
        # any other number is the system's, such as that of a full disk.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        what = str(error).partition("\n")[0].rstrip(":") or type(error).__name__
        raise DataError(
            f"{archive} is damaged ({what}): delete it and get it again from where it came from"
        ) from error


def _members(archive: Path) -> Iterator[_Member]:
    """Yield the members of a tar or zip archive in their order."""
    walk = _zip_members if archive.name.endswith(_ZIP_SUFFIXES) else _tar_members
    members = walk(archive)
    while True:
        with _damage_reported(archive):
            member = next(members, None)
        if member is None:
            return
        yield member


class _Header(tarfile.TarInfo):
    """A header that does not promise a name of any length."""

    @classmethod
    def frombuf(cls, buf: bytes, encoding: str, errors: str) -> Self:
        """Return the header in a block of an archive."""
        header = super().frombuf(buf, encoding, errors)
        if header.type in _NAMES and header.size > _LONGEST_NAME:
            raise ValueError(f"a name of {header.size} bytes")
        return header


def _tar_members(archive: Path) -> Iterator[_Member]:
    with tarfile.open(archive, tarinfo=_Header) as tar:
        for member in tar:
            kind = "link" if member.issym() or member.islnk() else "device"
            kind = "file" if member.isreg() else "folder" if member.isdir() else kind
            yield _Member(member.name, kind, member.size, lambda member=member: tar.extractfile(member))


def _zip_members(archive: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(archive) as container:
        for member in container.infolist():
            mode = stat.S_IFMT(member.external_attr >> 16)
            kind = {0: "file", stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}.get(
                mode, "device"
            )
            kind = "folder" if member.is_dir() else kind
            yield _Member(
                member.filename, kind, member.file_size, lambda member=member: container.open(member)
            )
