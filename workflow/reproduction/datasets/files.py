"""Functions for reading files that only data sets of the reproduction need.

Like those of `ermlab._utils.files`, they raise a `DataError` of the form ``<file>: <what is wrong>; expected
<what>``.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree.ElementTree import Element

import defusedxml.ElementTree
import numpy as np
from PIL import Image

from ermlab._utils.files import broken, read_bytes, reading
from ermlab._utils.image_files import check_image, with_image

_INT64 = np.iinfo(np.int64)
#: Integers below this one are exact in floating point.
_LARGEST_EXACT = 2.0**53
_PGM = re.compile(rb"P5\s+(?:#[^\n]*\n\s*)*(\d+)\s+(\d+)\s+255\s")


def inside(folder: Path, name: str, named_by: Path) -> Path:
    """Return ``folder / name`` for a name found in the file ``named_by``; reject one that leads outside."""
    path = folder / name
    with reading(named_by, f"the name of a file in {folder}"):
        is_inside = bool(name) and path.resolve().is_relative_to(folder.resolve())
    if not is_inside:
        raise broken(named_by, f"file name {name!r} leaves {folder}", "a name inside it")
    return path


def parse_integer(text: str) -> int:
    """Return an integer that fits into 64 bits; raise a ValueError otherwise."""
    number = int(text)
    if "_" in text:
        raise ValueError(f"{text[:30]} is not an integer")
    if not _INT64.min <= number <= _INT64.max:
        raise ValueError(f"{text[:30]} does not fit into 64 bits")
    return number


def as_integers(path: Path, values: np.ndarray, name: str) -> np.ndarray:
    """Convert floating-point ``values`` of a file that must be integers."""
    invalid = np.flatnonzero(~((values == np.rint(values)) & (np.abs(values) < _LARGEST_EXACT)))
    if len(invalid):
        raise broken(path, f"{name} {values.ravel()[invalid[0]]:g} in row {invalid[0] + 1}", "an integer")
    return values.astype(int)


def read_xml(path: Path) -> Element:
    """Return the root of an XML file; reject entity definitions and external references."""
    content = read_bytes(path)
    with reading(path, "well-formed XML without entities"):
        return defusedxml.ElementTree.fromstring(content)


def image_size(path: Path) -> tuple[int, int]:
    """Return (height, width) from the header of an image."""
    return with_image(path, lambda image: (image.height, image.width))


def read_pages(path: Path) -> np.ndarray:
    """Read a multi-page image of gray pages of one size as (pages, height, width)."""

    def decode(image: Image.Image) -> np.ndarray:
        pages = []
        # Before the first page is decoded: each single page may promise what the whole file can hold.
        check_image(path, image, image.n_frames)
        for index in range(image.n_frames):
            image.seek(index)
            pages.append(np.array(image))
        return np.stack(pages)

    pages = with_image(path, decode)
    if pages.ndim != 3:
        raise broken(path, f"shape {pages.shape}", "gray pages")
    return pages


def read_pgm_stack(paths: Iterable[Path], shape: tuple[int, int]) -> np.ndarray:
    """Read 8 bit PGM files of one ``shape`` (height, width) into one array.

    For tens of thousands of tiny files this is several times as fast as Pillow.
    """
    size = shape[0] * shape[1]
    pixels = []
    for path in paths:
        content = read_bytes(path)
        header = _PGM.match(content)
        if header is None:
            raise broken(path, f"header {content[:15]!r}", "a binary PGM of 8 bits")
        with reading(path, "a binary PGM of 8 bits"):
            found = int(header[2]), int(header[1])
        if found != shape:
            raise broken(path, f"{found[0]} rows of {found[1]} pixels", f"{shape[0]} rows of {shape[1]}")
        if len(content) - header.end() != size:
            raise broken(path, f"{len(content) - header.end()} bytes of pixels", f"{size}")
        pixels.append(content[header.end() :])
    return np.frombuffer(b"".join(pixels), dtype=np.uint8).reshape(-1, *shape)
