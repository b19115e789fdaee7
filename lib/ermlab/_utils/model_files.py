"""The file of a saved model: a zip archive of a JSON document, arrays, and a digest of both.

Nothing in it is executed. Members are not compressed, so that a file cannot hold more than its size.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from ermlab._utils.array_files import read_array
from ermlab._utils.files import broken, reading, require_file

_HEADER, _DIGEST = "model.json", "sha256"
_EXPECTED = "a file that `save` of an estimator has written"


def write_model(path: str | Path, document: Any, arrays: Mapping[str, NDArray]) -> None:
    """Write a document and arrays atomically; equal content gives equal bytes.

    Parameters
    ----------
    path : str or Path
        The file, which is replaced if it exists.
    document : object
        What JSON can represent.
    arrays : mapping of str to ndarray
        Arrays of numbers or strings.
    """
    path = Path(path)
    header = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False).encode()
    members = {_HEADER: header, **{f"{name}.npy": _npy(array) for name, array in arrays.items()}}
    members[_DIGEST] = _digest(members).encode()
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with ZipFile(part, "w", ZIP_STORED) as container:
            for name, content in members.items():
                container.writestr(ZipInfo(name), content)  # whose date does not depend on the clock
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def read_model(path: str | Path) -> tuple[Any, dict[str, NDArray]]:
    """Return the document and the arrays of a file, or raise a `DataError`."""
    path = Path(path)
    with reading(path, _EXPECTED), ZipFile(require_file(path)) as container:
        infos = container.infolist()
        if any(info.compress_type != ZIP_STORED or info.file_size != info.compress_size for info in infos):
            raise broken(path, "compressed content", _EXPECTED)
        if sum(info.file_size for info in infos) > path.stat().st_size:
            raise broken(path, "members that overlap", _EXPECTED)
        members = {info.filename: container.read(info) for info in infos}
        if len(members) != len(infos) or _HEADER not in members or _DIGEST not in members:
            raise broken(path, f"no {_HEADER} and {_DIGEST}, or a name twice", _EXPECTED)
        digest = members.pop(_DIGEST).decode()
        if digest != _digest(members):
            raise broken(path, "a digest that differs from that of the content", "a file without damage")
        document = json.loads(members.pop(_HEADER))
        arrays = {
            info.filename.removesuffix(".npy"): read_array(container, info)
            for info in infos
            if info.filename in members
        }
    return document, arrays


def _npy(array: NDArray) -> bytes:
    content = io.BytesIO()
    npy_format.write_array(content, np.asanyarray(array), allow_pickle=False)
    return content.getvalue()


def _digest(members: Mapping[str, bytes]) -> str:
    """Return the SHA-256 digest of names and contents."""
    total = hashlib.sha256()
    for name, content in members.items():
        total.update(f"{name} {len(content)}\n".encode())
        total.update(content)
    return total.hexdigest()
