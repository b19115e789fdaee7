"""Reading files that may be missing, damaged or hostile, with one way of reporting it.

Every function raises `DataError` as ``<file>: <what is wrong>; expected <what>``, so that readers
built from them say nothing of errors themselves.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar
from xml.etree.ElementTree import Element, ParseError

import defusedxml.ElementTree
import numpy as np
from defusedxml import DefusedXmlException
from PIL import Image

from ermlab.errors import DataError

T = TypeVar("T")
_NUMBER = re.compile(r"\d+")
_PGM = re.compile(rb"P5\s+(?:#[^\n]*\n\s*)*(\d+)\s+(\d+)\s+255\s")
#: What Pillow raises for a file that is cut short, of another kind, or a decompression bomb.
_IMAGE_ERRORS = (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError)


def broken(place: str | Path, found: str, expected: str) -> DataError:
    """Return the error for a file (or a line of it) that is not as it should be."""
    return DataError(f"{place}: {found}; expected {expected}")


def require_folder(folder: str | Path) -> Path:
    """Return ``folder`` as a path, or say how to get it."""
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; run `make` to acquire the data set, or name its folder")
    return folder


def list_files(folder: str | Path, pattern: str) -> list[Path]:
    """Return the files matching ``pattern``, ordered by the last number in their names; at least one."""
    folder = require_folder(folder)
    files = sorted(folder.glob(pattern), key=lambda path: (file_number(path), path.name))
    if not files:
        raise broken(folder, f"no file {pattern}", "at least one")
    return files


def list_series(folder: str | Path, pattern: str, first: int = 0) -> list[Path]:
    """Return the files matching ``pattern``, whose numbers must be first, first + 1, ... without a gap."""
    files = list_files(folder, pattern)
    for number, path in enumerate(files, start=first):
        if file_number(path) != number:
            raise broken(Path(folder) / pattern, f"the next file is {path.name}", f"number {number}")
    return files


def file_number(path: Path) -> int:
    """Return the last number in a file's name, -1 without one."""
    numbers = _NUMBER.findall(path.stem)
    return int(numbers[-1]) if numbers else -1


def inside(folder: Path, name: str, named_by: Path) -> Path:
    """Return ``folder / name`` for a name found in the file ``named_by``, refusing one that leads outside."""
    path = folder / name
    if not name or not path.resolve().is_relative_to(folder.resolve()):
        raise broken(named_by, f"file name {name!r} leaves {folder}", "a name inside it")
    return path


def read_bytes(path: Path) -> bytes:
    """Return a file's content."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise broken(path, error.strerror or str(error), "a readable file") from error


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return a text file's content."""
    try:
        return read_bytes(path).decode(encoding)
    except UnicodeDecodeError as error:
        raise broken(path, f"byte {error.start} is not {encoding}", "a text file") from error


def read_lines(path: Path, parse: Callable[[str], T], expected: str, *, header: int = 0) -> list[T]:
    """Parse each line below the ``header`` that is not blank, and report a `ValueError` with its line."""
    parsed = []
    for number, line in enumerate(read_text(path).splitlines()[header:], start=header + 1):
        if line.strip():
            try:
                parsed.append(parse(line))
            except ValueError as error:
                raise broken(f"{path}, line {number}", f"{line[:60]!r} ({error})", expected) from error
    if not parsed:
        raise broken(path, "the file is empty", expected)
    return parsed


def read_table(path: Path, columns: int | None = None, dtype: type = float, *, header: int = 0) -> np.ndarray:
    """Read rows of finite numbers, separated by commas or blanks, as a 2-D array.

    ``columns`` is the required number of columns; None takes that of the first row. ``header`` lines
    at the top are skipped.
    """
    width = columns
    expected = f"{columns if columns else 'equally many'} finite {dtype.__name__} values a row"

    def parse(line: str) -> list:
        nonlocal width
        row = [dtype(field) for field in line.replace(",", " ").split()]
        width = width or len(row)
        if len(row) != width or not np.isfinite(row).all():
            raise ValueError(f"{len(row)} values" if len(row) != width else "not finite")
        return row

    return np.array(read_lines(path, parse, expected, header=header), dtype=dtype)


def read_xml(path: Path) -> Element:
    """Return an XML file's root; entity definitions and external references are refused."""
    try:
        return defusedxml.ElementTree.fromstring(read_bytes(path))
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise broken(path, f"{type(error).__name__}: {error}", "well-formed XML without entities") from error


def image_size(path: Path) -> tuple[int, int]:
    """Return (height, width) from an image's header."""
    return _with_image(path, lambda image: (image.height, image.width))


def read_image(path: Path) -> np.ndarray:
    """Read an image: 8 or 16 bit grey as (height, width), everything else as RGB."""

    def decode(image: Image.Image) -> np.ndarray:
        plain = image if image.mode in ("L", "I;16", "I;16B", "F", "I") else image.convert("RGB")
        return np.array(plain)

    return _with_image(path, decode)


def read_labels(path: Path) -> np.ndarray:
    """Read a label image: (height, width), whole numbers of 8 or 16 bits, 0 for background."""
    labels = read_image(path)
    if labels.ndim != 2 or labels.dtype.kind != "u":
        raise broken(path, f"shape {labels.shape} of {labels.dtype}", "a label image of 8 or 16 bits")
    return labels


def read_pages(path: Path) -> np.ndarray:
    """Read a multi-page image of equal grey pages as (pages, height, width)."""

    def decode(image: Image.Image) -> np.ndarray:
        pages = []
        for index in range(image.n_frames):
            image.seek(index)
            pages.append(np.array(image))
        return np.stack(pages)

    pages = _with_image(path, decode)
    if pages.ndim != 3:
        raise broken(path, f"shape {pages.shape}", "grey pages")
    return pages


def read_pgm_stack(paths: Iterable[Path], shape: tuple[int, int]) -> np.ndarray:
    """Read 8 bit PGM files of one ``shape`` (height, width) into one array.

    For tens of thousands of tiny files: parsing the header here is several times as fast as Pillow.
    """
    size = shape[0] * shape[1]
    pixels = []
    for path in paths:
        content = read_bytes(path)
        header = _PGM.match(content)
        if header is None:
            raise broken(path, f"header {content[:15]!r}", "a binary PGM of 8 bits")
        found = int(header[2]), int(header[1])
        if found != shape:
            raise broken(path, f"{found[0]} rows of {found[1]} pixels", f"{shape[0]} rows of {shape[1]}")
        if len(content) - header.end() != size:
            raise broken(path, f"{len(content) - header.end()} bytes of pixels", f"{size}")
        pixels.append(content[header.end() :])
    return np.frombuffer(b"".join(pixels), dtype=np.uint8).reshape(-1, *shape)


class ImageFiles(Sequence[np.ndarray]):
    """Images that stay on disk: ``files[i]`` reads image ``i`` by ``read``."""

    def __init__(self, paths: Iterable[Path], read: Callable[[Path], np.ndarray] = read_image):
        self.paths = tuple(paths)
        self._read = read

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return ImageFiles(self.paths[index], self._read)
        return self._read(self.paths[index])


def _with_image(path: Path, use: Callable):
    """Open an image and return ``use(image)``, with Pillow's many errors reported as one kind."""
    try:
        with Image.open(path) as image:
            return use(image)
    except _IMAGE_ERRORS as error:
        raise broken(path, f"{type(error).__name__}: {error}", "a complete image") from error
