"""Reading files that may be missing, damaged or hostile, with one way of reporting it.

Every function raises `DataError` as ``<file>: <what is wrong>; expected <what>``, so that readers
built from them say nothing of errors themselves. Format libraries are called within `reading`, which
turns whatever they raise into a `DataError`.
"""

import io
import json
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from xml.etree.ElementTree import Element

import defusedxml.ElementTree
import numpy as np
from PIL import Image

from ermlab.exceptions import DataError

T = TypeVar("T")
_NUMBER = re.compile(r"\d+")
_INT64 = np.iinfo(np.int64)
#: Whole numbers below this one are exact in floating point.
_WHOLE = 2.0**53
_PGM = re.compile(rb"P5\s+(?:#[^\n]*\n\s*)*(\d+)\s+(\d+)\s+255\s")
#: Content of up to this many bytes may be allocated whatever the size of the file that promises it.
_SMALL_CONTENT = 1 << 26
#: Deflate, which gzip, zip, PNG and most compressed TIFF files use, shrinks data to a 1032nd at most.
DEFLATE_RATIO = 1032
#: LZW, as in GIF and TIFF files, shrinks some images more than deflate, to a 1400th or so.
_IMAGE_RATIO = 4000
#: Bytes of a value of a pixel, by Pillow's name of the kind of image; those of all other kinds take one.
_VALUE_BYTES = {"I": 4, "F": 4, "I;16": 2, "I;16B": 2, "I;16L": 2, "I;16N": 2}


def broken(place: str | Path, found: str, expected: str) -> DataError:
    """Return the error for a file (or a line of it) that is not as it should be."""
    return DataError(f"{place}: {found}; expected {expected}")


@contextmanager
def reading(place: str | Path, expected: str) -> Iterator[None]:
    """Turn every exception that is raised while a file is read into a `DataError`.

    Format libraries do not document what they raise for damaged files: nearly any exception is possible,
    `TypeError`, `OverflowError`, `RecursionError` and `MemoryError` among them.
    """
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        found = " ".join(str(error).split())[:200]
        if isinstance(error, OSError) and error.strerror:
            found = error.strerror
        elif type(error) is not ValueError:  # which says all by its text, unlike a KeyError
            found = f"{type(error).__name__}: {found}"
        raise broken(place, found, expected) from error


def check_promise(path: Path, n_bytes: int, ratio: float = DEFLATE_RATIO) -> None:
    """Refuse a file whose header promises more content than the file can hold.

    Parameters
    ----------
    path
        The file.
    n_bytes
        Size of the content that the header promises, which the caller is about to allocate.
    ratio
        Largest possible ratio of the size of the content to the size of the file.
    """
    with reading(path, "a readable file"):
        size = path.stat().st_size
    if n_bytes > max(_SMALL_CONTENT, ratio * size):
        raise broken(path, f"the header promises {n_bytes} bytes in a file of {size}", "a complete file")


def require_folder(folder: str | Path) -> Path:
    """Return ``folder`` as a path, or say how to get it."""
    folder = Path(folder)
    if not is_folder(folder):
        raise DataError(f"{folder}: no such folder; run `make` to acquire the data set, or name its folder")
    return folder


def is_folder(folder: Path) -> bool:
    """Whether a folder is there; a name that no folder can have is a `DataError`."""
    with reading(folder, "the name of a folder"):
        return folder.is_dir()


def require_file(path: Path) -> Path:
    """Return the path of a file that can be read to its end; call this within `reading`.

    A pipe would be waited for, and a device may have no end. What is wrong with a folder says who opens it.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise ValueError("a pipe or a device")
    return path


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
    with reading(named_by, f"the name of a file in {folder}"):
        is_inside = bool(name) and path.resolve().is_relative_to(folder.resolve())
    if not is_inside:
        raise broken(named_by, f"file name {name!r} leaves {folder}", "a name inside it")
    return path


def read_bytes(path: Path) -> bytes:
    """Return a file's content."""
    with reading(path, "a readable file"):
        return require_file(path).read_bytes()


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return a text file's content."""
    try:
        return read_bytes(path).decode(encoding)
    except UnicodeDecodeError as error:
        raise broken(path, f"byte {error.start} is not {encoding}", "a text file") from error


def read_lines(path: Path, parse: Callable[[str], T], expected: str, *, header: int = 0) -> list[T]:
    """Parse each line below the ``header`` that is not blank, and report an exception with its line."""
    parsed = []
    for number, line in enumerate(read_text(path).splitlines()[header:], start=header + 1):
        if line.strip():
            try:
                parsed.append(parse(line))
            except Exception as error:  # numbers can be text, too large or too many
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

    def parse(line: str) -> np.ndarray:
        nonlocal width
        # Made here and not of all rows at once: an integer beyond 64 bits is an error of its line.
        if "_" in line:  # which Python allows in numbers
            raise ValueError("an underscore")
        row = np.array([dtype(field) for field in line.replace(",", " ").split()], dtype=dtype)
        width = width or len(row)
        if len(row) != width or not len(row) or not np.isfinite(row).all():
            raise ValueError("not finite" if len(row) == width > 0 else f"{len(row)} values")
        return row

    return np.array(read_lines(path, parse, expected, header=header), dtype=dtype)


def parse_integer(text: str) -> int:
    """Return an integer that fits into 64 bits, as those of all arrays of numbers; else a ValueError."""
    number = int(text)
    if "_" in text:
        raise ValueError(f"{text[:30]} is no whole number")
    if not _INT64.min <= number <= _INT64.max:
        raise ValueError(f"{text[:30]} does not fit into 64 bits")
    return number


def as_integers(path: Path, values: np.ndarray, name: str) -> np.ndarray:
    """Return floating point ``values`` of a file as integers, which they must be already."""
    wrong = np.flatnonzero(~((values == np.rint(values)) & (np.abs(values) < _WHOLE)))
    if len(wrong):
        raise broken(path, f"{name} {values.ravel()[wrong[0]]:g} in row {wrong[0] + 1}", "a whole number")
    return values.astype(int)


def read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    text = read_text(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise broken(f"{path}, line {error.lineno}", error.msg, "valid JSON") from error
    except (ValueError, RecursionError) as error:  # an integer of thousands of digits, deep nesting
        raise broken(path, str(error), "valid JSON") from error


def write_json(path: str | Path, document: Any) -> None:
    """Write JSON whole or not at all, the same bytes for the same document."""
    path = Path(path)
    text = json.dumps(document, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False)
    part = path.with_name(path.name + ".part")
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)


def read_xml(path: Path) -> Element:
    """Return an XML file's root; entity definitions and external references are refused."""
    content = read_bytes(path)
    with reading(path, "well-formed XML without entities"):
        return defusedxml.ElementTree.fromstring(content)


def image_size(path: Path) -> tuple[int, int]:
    """Return (height, width) from an image's header."""
    return _with_image(path, lambda image: (image.height, image.width))


def read_image(path: Path) -> np.ndarray:
    """Read an image: 8 or 16 bit grey as (height, width), everything else as RGB."""

    def decode(image: Image.Image) -> np.ndarray:
        check_promise(path, _n_bytes(image), _IMAGE_RATIO)
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
        # Before the first page is decoded: each of many pages can promise what the file may hold as a whole.
        check_promise(path, image.n_frames * _n_bytes(image), _IMAGE_RATIO)
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
        with reading(path, "a binary PGM of 8 bits"):
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


def _n_bytes(image: Image.Image) -> int:
    """Return the size of the pixels of an image."""
    return image.width * image.height * len(image.getbands()) * _VALUE_BYTES.get(image.mode, 1)


def _with_image(path: Path, use: Callable):
    """Open an image and return ``use(image)``."""
    # From memory: when Pillow reads a file, Python allocates as many bytes as a damaged header asks for.
    with reading(path, "a complete image"), Image.open(io.BytesIO(require_file(path).read_bytes())) as image:
        return use(image)
