"""Reading images that may be missing, damaged or malicious."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from PIL import Image

from ermlab._utils.files import broken, check_promise, reading, require_file

T = TypeVar("T")
#: Largest compression ratio of an image: LZW, as in GIF and TIFF files, can exceed deflate, up to about 1400.
_RATIO = 4000
#: Bytes per value of a pixel by Pillow's mode; 1 for all other modes.
_VALUE_BYTES = {"I": 4, "F": 4, "I;16": 2, "I;16B": 2, "I;16L": 2, "I;16N": 2}


def with_image(path: str | Path, use: Callable[[Image.Image], T]) -> T:
    """Open an image and return ``use(image)``."""
    # From memory: when Pillow reads a file, Python allocates as many bytes as a damaged header requests.
    with reading(path, "a complete image"), Image.open(io.BytesIO(require_file(path).read_bytes())) as image:
        return use(image)


def check_image(path: str | Path, image: Image.Image, n_pages: int = 1) -> None:
    """Reject a file whose header promises more pixels than the file can hold."""
    n_bytes = image.width * image.height * len(image.getbands()) * _VALUE_BYTES.get(image.mode, 1)
    check_promise(path, n_pages * n_bytes, _RATIO)


def read_image(path: str | Path) -> np.ndarray:
    """Read an image: gray levels as (height, width), everything else as RGB."""

    def decode(image: Image.Image) -> np.ndarray:
        check_image(path, image)
        plain = image if image.mode in ("L", "I;16", "I;16B", "F", "I") else image.convert("RGB")
        return np.array(plain)

    return with_image(path, decode)


def read_labels(path: str | Path) -> np.ndarray:
    """Read a label image: (height, width), unsigned integers of 8 or 16 bits, 0 for background."""
    labels = read_image(path)
    if labels.ndim != 2 or labels.dtype.kind != "u":
        raise broken(path, f"shape {labels.shape} of {labels.dtype}", "a label image of 8 or 16 bits")
    return labels


class ImageFiles(Sequence[np.ndarray]):
    """Sequence of images on disk: ``files[i]`` reads image ``i`` by ``read``."""

    def __init__(self, paths: Iterable[str | Path], read: Callable[[Path], np.ndarray] = read_image):
        self.paths = tuple(Path(path) for path in paths)
        self._read = read

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return ImageFiles(self.paths[index], self._read)
        return self._read(self.paths[index])
