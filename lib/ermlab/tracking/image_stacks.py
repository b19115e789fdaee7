"""Frames of a film from a folder, a TIFF stack or a zarr array, read one at a time."""

from __future__ import annotations

import logging
import math
import re
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.files import broken, check_promise, is_folder, reading, require_file
from ermlab._utils.image_files import ImageFiles, read_image
from ermlab._utils.lazy import import_optional

Frames = Iterable[ArrayLike]
_TIFF = (".tif", ".tiff", ".btf")
_IMAGES = (*_TIFF, ".png")
#: Axes of TIFF files that may be those of time: time, images, unknown ones, and unless OME metadata define
#: them slices, as ImageJ names the images of any stack.
_TIME, _SLICES = "TIQ", "Z"
_NO_VOLUMES = "frames of two axes; volumes (3-D) and channels are not supported, select a plane of each"
_EXPECTED = "a folder of images, a TIFF stack (.tif) or a zarr array (.zarr)"


def read_stack(path: str | Path, pattern: str = "*") -> Sequence[NDArray]:
    """Open the frames of a film; each is read when it is used.

    Parameters
    ----------
    path : str or Path
        One of

        - a folder with one image per frame (TIFF or PNG), in the order of the numbers in their names, so
          that ``t2.tif`` precedes ``t10.tif``;
        - a TIFF file with one page per frame, which may be an OME-TIFF or come from ImageJ, whose slices
          count as frames;
        - a zarr array with the axes time, row and column, or the OME-Zarr image of one, whose full
          resolution is read; this needs the package zarr.

        Axes of length 1 are ignored. Volumes (3-D) and several channels are not supported.
    pattern : str, default="*"
        Pattern of the names of the files in a folder, for folders that contain images and masks.

    Returns
    -------
    sequence of ndarray
        The frames.
    """
    path = Path(path)
    if is_folder(path):
        return _zarr_stack(path) if _is_zarr(path) else _folder_stack(path, pattern)
    with reading(path, _EXPECTED):
        require_file(path)
    if path.suffix.lower() not in _TIFF:
        raise broken(path, f"a file with the ending {path.suffix!r}", _EXPECTED)
    return TiffStack(path)


def as_frames(source: str | Path | Frames) -> Frames:
    """Return the frames of a stack: those of a path by `read_stack`, else an array or iterable as it is."""
    if isinstance(source, str | Path):
        return read_stack(source)
    ndim = getattr(source, "ndim", None)
    if ndim is not None and ndim != 3:
        raise ValueError(
            f"an array of shape {tuple(source.shape)}: expected the axes time, row and column; "
            "volumes (3-D) and channels are not supported"
        )
    return source


def _folder_stack(folder: Path, pattern: str) -> ImageFiles:
    with reading(folder, "a readable folder"):
        found = [path for path in folder.glob(pattern) if path.suffix.lower() in _IMAGES]
    if not found:
        raise broken(folder, f"no image {pattern}", f"files that end with {', '.join(_IMAGES)}")
    return ImageFiles(sorted(found, key=_natural_order), _read_frame)


def _natural_order(path: Path) -> tuple[list, str]:
    """Return the text and the numbers of a name, by which t2 precedes t10."""
    parts = re.split(r"(\d+)", path.name)
    return [int(part) if number % 2 else part for number, part in enumerate(parts)], path.name


def _read_frame(path: Path) -> NDArray:
    if path.suffix.lower() not in _TIFF:
        frame = read_image(path)
        if frame.ndim != 2:
            raise broken(path, f"shape {frame.shape}", "a gray image")
        return frame
    stack = TiffStack(path, is_ome=False)  # OME metadata describe the whole film, of which this is one frame
    if len(stack) != 1:
        raise broken(path, f"{len(stack)} images", "one per file, or the path of a single stack")
    return stack[0]


class _Stack(Sequence[NDArray], ABC):
    """Frames of a file, read one at a time; subclasses set ``path`` and ``shape`` and define ``_read``."""

    path: Path
    shape: tuple[int, int, int]

    @abstractmethod
    def _read(self, t: int) -> NDArray:
        """Return frame ``t``, which may have further axes of length 1."""

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[t] for t in range(*index.indices(len(self)))]
        t = range(len(self))[index]
        with reading(f"{self.path}, frame {t}", "a complete image"):
            return np.asarray(self._read(t)).reshape(self.shape[1:])


class TiffStack(_Stack):
    """The pages of a TIFF file as frames.

    Parameters
    ----------
    path : str or Path
        The file.
    **options : object
        Arguments of `tifffile.TiffFile`.
    """

    def __init__(self, path: str | Path, **options: Any):
        self.path = Path(path)
        with reading(self.path, "a TIFF file"), _errors_of_tifffile():
            file = tifffile.TiffFile(require_file(self.path), **options)
            weakref.finalize(self, file.close)
            series, pages = file.series[0], _pages(file)
            check_promise(self.path, math.prod(series.shape[-2:]) * series.dtype.itemsize)
        shape, axes = (series.shape, series.axes) if pages is None else ((len(pages), *series.shape), "TYX")
        self.shape = _time_row_column(self.path, shape, axes, _TIME if file.is_ome else _TIME + _SLICES)
        self.dtype = series.dtype
        self._pages: Sequence[Any] | None = None
        pages = series.pages if pages is None else pages
        if len(pages) == len(self):
            self._pages = pages
        else:  # some programs write a single header for a whole stack, whose frames follow each other
            with reading(self.path, "one page per frame"):
                self._whole = tifffile.memmap(self.path, mode="r").reshape(self.shape)

    def _read(self, t: int) -> NDArray:
        return np.array(self._whole[t]) if self._pages is None else self._pages[t].asarray()


def _pages(file: tifffile.TiffFile) -> list | None:
    """Return the pages of a file that were appended one by one, None for a file with metadata of a stack."""
    series = file.series
    len(file.pages)  # so that a file that was cut is noticed
    plain = {(one.shape, one.dtype) for one in series if one.axes == "YX" and len(one.pages) == 1}
    if len(series) < 2 or len(plain) != 1 or any(one.axes != "YX" for one in series):
        return None
    return [one.pages[0] for one in series]


@contextmanager
def _errors_of_tifffile() -> Iterator[None]:
    """Raise a ValueError for what tifffile only logs: it reads as many frames as a damaged file has left."""
    found: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: found.append(record.getMessage())
    logger = logging.getLogger("tifffile")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
    if found:
        raise ValueError(found[0])


def _time_row_column(path: Path, shape: Sequence[int], axes: str, time: str) -> tuple[int, int, int]:
    """Return the numbers of frames, rows and columns, or raise a DataError."""
    kept = [(axis, n) for axis, n in zip(axes, shape, strict=True) if n > 1 or axis in "YX"]
    names = "".join(axis for axis, _ in kept)
    if names[-2:] != "YX" or len(names) > 3 or (len(names) == 3 and names[0] not in time):
        raise broken(path, f"axes {axes} of lengths {tuple(shape)}", _NO_VOLUMES)
    height, width = (n for _, n in kept[-2:])
    return (kept[0][1] if len(names) == 3 else 1), height, width


def _is_zarr(folder: Path) -> bool:
    return any((folder / name).exists() for name in ("zarr.json", ".zarray", ".zgroup", ".zattrs"))


def _zarr_stack(path: Path) -> Sequence[NDArray]:
    zarr = import_optional("zarr", f"reading {path}")
    with reading(path, "a zarr array or an OME-Zarr image"):
        node = zarr.open(str(path), mode="r")
        if not hasattr(node, "shape"):
            attributes = dict(node.attrs)
            scales = attributes.get("ome", attributes).get("multiscales")
            node = node[scales[0]["datasets"][0]["path"] if scales else "0"]
        shape = tuple(node.shape)
    long = [n for n in shape[:-2] if n > 1]
    if len(shape) < 2 or len(long) > 1:
        raise broken(path, f"shape {shape}", _NO_VOLUMES)
    return _ZarrStack(path, node, shape.index(long[0]) if long else None)


class _ZarrStack(_Stack):
    """The frames of a zarr array along one of its axes, None for a single frame."""

    def __init__(self, path: Path, array: Any, axis: int | None):
        self.path, self._array, self._axis = path, array, axis
        self.shape = (1 if axis is None else array.shape[axis], *array.shape[-2:])

    def _read(self, t: int) -> NDArray:
        place = [0] * (self._array.ndim - 2)
        if self._axis is not None:
            place[self._axis] = t
        return self._array[tuple(place)]
