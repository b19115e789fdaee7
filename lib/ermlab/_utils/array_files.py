"""Dataclasses of arrays that can be written to a file and read back unchanged."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Self
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from ermlab._utils.files import check_promise, reading, require_file

#: By version of the format; version 3 is for structured arrays only.
_READ_HEADER = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}


class ArrayFile:
    """Base class of dataclasses of arrays, strings and numbers that are stored in an ``.npz`` file."""

    def write(self, path: str | Path) -> None:
        """Write all fields; equal content gives equal bytes."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            np.savez(file, **{field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file that `write` has written."""
        names = [field.name for field in fields(cls)]
        place = f"{path} is not what {cls.__name__}.write has written"
        with reading(place, f"the arrays {', '.join(names)}"):
            arrays = _read_arrays(Path(path), names)
            return cls(**{name: value if value.ndim else value.item() for name, value in arrays.items()})


def _read_arrays(path: Path, names: Iterable[str]) -> dict[str, NDArray]:
    """Read arrays by their names from an ``.npz`` file."""
    with ZipFile(require_file(path)) as container:
        members = {name: container.getinfo(f"{name}.npy") for name in names}
        check_promise(path, sum(member.file_size for member in members.values()))
        return {name: read_array(container, member) for name, member in members.items()}


def read_array(container: ZipFile, member: ZipInfo) -> NDArray:
    """Read an array, unless its header announces more than the member holds."""
    with container.open(member) as file:
        shape, _, dtype = _READ_HEADER[npy_format.read_magic(file)](file)
    if dtype.kind not in "biufU":
        raise ValueError(f"{member.filename} holds values of type {dtype}")
    # NumPy allocates the whole array before it reads the first number.
    if dtype.itemsize * math.prod(shape) > member.file_size:
        raise ValueError(f"{member.filename} promises shape {shape} in {member.file_size} bytes")
    with container.open(member) as file:
        return npy_format.read_array(file, allow_pickle=False)
