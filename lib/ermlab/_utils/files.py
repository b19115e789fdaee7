"""Functions for reading files that may be missing, damaged or malicious.

Every function raises a `DataError` of the form ``<file>: <what is wrong>; expected <what>``. Format libraries
are called within `reading`, which turns whatever they raise into a `DataError`.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ermlab.exceptions import DataError

T = TypeVar("T")
_NUMBER = re.compile(r"\d+")
#: Content of up to this many bytes may be allocated whatever the size of the file.
_SMALL_CONTENT = 1 << 26
#: Largest compression ratio of deflate, which gzip, zip, PNG and most compressed TIFF files use.
DEFLATE_RATIO = 1032


def broken(place: str | Path, found: str, expected: str) -> DataError:
    """Return the error for a file, or a line of it, with unexpected content."""
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
        elif type(error) is not ValueError:  # whose text is complete, unlike that of a KeyError
            found = f"{type(error).__name__}: {found}"
        raise broken(place, found, expected) from error


def check_promise(path: str | Path, n_bytes: int, ratio: float = DEFLATE_RATIO) -> None:
    """Reject a file whose header promises more content than the file can hold.

    Parameters
    ----------
    path : str or Path
        The file.
    n_bytes : int
        Size of the content according to the header, which the caller is about to allocate.
    ratio : float, default=1032
        Largest possible compression ratio.
    """
    with reading(path, "a readable file"):
        size = Path(path).stat().st_size
    if n_bytes > max(_SMALL_CONTENT, ratio * size):
        raise broken(path, f"the header promises {n_bytes} bytes in a file of {size}", "a complete file")


def require_folder(folder: str | Path) -> Path:
    """Return ``folder`` as a path; raise an error that says how to get the data if it does not exist."""
    folder = Path(folder)
    if not is_folder(folder):
        raise DataError(f"{folder}: no such folder; run `make` to acquire the data set, or name its folder")
    return folder


def is_folder(folder: str | Path) -> bool:
    """Return whether a folder exists; an impossible name is a `DataError`."""
    with reading(folder, "the name of a folder"):
        return Path(folder).is_dir()


def require_file(path: str | Path) -> Path:
    """Return the path of a file that can be read to its end; call this within `reading`.

    Reading a pipe could block, and a device may have no end. A folder is left to the caller to report.
    """
    path = Path(path)
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise ValueError("a pipe or a device")
    return path


def list_files(folder: str | Path, pattern: str) -> list[Path]:
    """Return the files matching ``pattern``, at least one, ordered by the last number in their names."""
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


def file_number(path: str | Path) -> int:
    """Return the last number in the name of a file, or -1 if there is none."""
    numbers = _NUMBER.findall(Path(path).stem)
    return int(numbers[-1]) if numbers else -1


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a file."""
    with reading(path, "a readable file"):
        return require_file(path).read_bytes()


def read_text(path: str | Path, encoding: str = "utf-8") -> str:
    """Return the content of a text file."""
    try:
        return read_bytes(path).decode(encoding)
    except UnicodeDecodeError as error:
        raise broken(path, f"byte {error.start} is not {encoding}", "a text file") from error


def read_lines(path: str | Path, parse: Callable[[str], T], expected: str, *, header: int = 0) -> list[T]:
    """Parse each non-blank line below the ``header``; report exceptions with the line."""
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


def read_table(
    path: str | Path, columns: int | None = None, dtype: type = float, *, header: int = 0
) -> np.ndarray:
    """Read rows of finite numbers, separated by commas or blanks, as a 2-D array.

    ``columns`` is the required number of columns, by default that of the first row. ``header`` lines at the
    top are skipped.
    """
    width = columns
    expected = f"{columns if columns else 'equally many'} finite {dtype.__name__} values per row"

    def parse(line: str) -> np.ndarray:
        nonlocal width
        # Converted here and not for all rows at once: an integer beyond 64 bits is an error of its line.
        if "_" in line:  # which Python allows in numbers
            raise ValueError("an underscore")
        row = np.array([dtype(field) for field in line.replace(",", " ").split()], dtype=dtype)
        width = width or len(row)
        if len(row) != width or not len(row) or not np.isfinite(row).all():
            raise ValueError("not finite" if len(row) == width > 0 else f"{len(row)} values")
        return row

    return np.array(read_lines(path, parse, expected, header=header), dtype=dtype)


def read_json(path: str | Path) -> Any:
    """Return the content of a JSON file."""
    text = read_text(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise broken(f"{path}, line {error.lineno}", error.msg, "valid JSON") from error
    except (ValueError, RecursionError) as error:  # an integer of thousands of digits, deep nesting
        raise broken(path, str(error), "valid JSON") from error


def write_json(path: str | Path, document: Any) -> None:
    """Write JSON atomically, with the same bytes for the same document."""
    path = Path(path)
    text = json.dumps(document, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False)
    part = path.with_name(path.name + ".part")
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)
