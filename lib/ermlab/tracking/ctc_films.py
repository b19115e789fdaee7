"""Films in the format of the Cell Tracking Challenge: frames, and masks of the annotated ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import tifffile

from ermlab._utils.files import broken, file_number, is_folder, list_files, list_series, reading, require_file
from ermlab._utils.image_files import ImageFiles, read_image, read_labels
from ermlab.tracking.ctc import Lineage, TrackedCells, read_lineage

_LINEAGE = "man_track.txt"
#: Supported types of pixels and labels; Pillow reads large values of uint32 as negative.
_PIXELS = ("uint8", "uint16", "int16", "int32", "float32")
_LABELS = ("uint8", "uint16")


def read_frames(folder: str | Path) -> ImageFiles:
    """Open the gray frames ``t000.tif``, ``t001.tif``, ..., without gaps in the numbers.

    All must have the same size and type of pixels: otherwise brightness would change with the type.
    """
    paths = list_series(_own_folder(folder, "a folder with t000.tif, t001.tif, ..."), "t*.tif")
    first = None
    for path in paths:
        shape, pixels = header = _grey_image(path)
        if pixels not in _PIXELS:
            raise broken(path, f"pixels of {pixels}", f"one of {', '.join(_PIXELS)}")
        first = header if first is None else first
        if shape != first[0]:
            raise broken(path, f"shape {shape}", f"{first[0]} as in the first frame")
        if pixels != first[1]:
            raise broken(path, f"pixels of {pixels}", f"{first[1]} as in the first frame")
    return ImageFiles(paths, _read_frame)


def _own_folder(folder: str | Path, expected: str) -> Path:
    """Return the path of an existing folder."""
    folder = Path(folder)
    if not is_folder(folder):
        raise broken(folder, "no such folder", expected)
    return folder


def _grey_image(path: Path) -> tuple[tuple[int, ...], str]:
    """Return shape and type of the pixels of a file with one gray image, according to its header."""
    # OME metadata describe the whole film, of which this may be one frame.
    with reading(path, "a complete image"), tifffile.TiffFile(require_file(path), is_ome=False) as file:
        page = file.pages[0]
        shape, pixels = page.shape, str(page.dtype)
        # Some programs write a single header for a whole stack.
        n_images = max(len(file.pages), file.series[0].size // max(page.size, 1))
    if n_images > 1:
        raise broken(path, f"{n_images} images", "one file per frame, no stack")
    if len(shape) != 2:
        raise broken(path, f"shape {shape}", "a gray image")
    return shape, pixels


def _read_frame(path: Path) -> np.ndarray:
    frame = read_image(path)
    if frame.ndim != 2:
        raise broken(path, f"shape {frame.shape}", "a gray image")
    if not np.isfinite(frame).all():
        raise broken(path, "a pixel that is no finite number", "finite numbers")
    return frame


def read_annotation(folder: str | Path, frames: Sequence[np.ndarray]) -> TrackedCells:
    """Read ``man_track.txt`` and the masks ``man_track<frame>.tif`` of some frames of a film.

    Frames and cells may lack a mask. In the returned lineage, a track that begins or ends beside a frame
    without a mask continues into it, and a division with a single child is unknown. Each label must live in
    its frame according to ``man_track.txt``, and each line must belong to a cell of a mask.

    Parameters
    ----------
    folder : str or Path
        Folder of the annotation.
    frames : sequence of ndarray
        The frames of the film.
    """
    folder = _own_folder(folder, f"a folder with {_LINEAGE} and man_track<frame>.tif of some frames")
    lineage = read_lineage(folder / _LINEAGE)
    paths = _mask_files(folder)
    shape = frames[0].shape
    seen: set[int] = set()
    lives = {label: (begin, end) for label, begin, end, _ in lineage.rows()}
    for frame, path in paths.items():
        if not 0 <= frame < len(frames):
            raise broken(path, f"frame {frame}", f"one of the frames 0 to {len(frames) - 1} of the film")
        found, pixels = _grey_image(path)
        if pixels not in _LABELS:
            raise broken(path, f"labels of {pixels}", f"a label image of {' or '.join(_LABELS)}")
        if found != shape:
            raise broken(path, f"shape {found}", f"{shape} as the frames of the film")
        mask = read_labels(path)
        for label in np.unique(mask[mask > 0]).tolist():
            begin, end = lives.get(label, (0, -1))
            if not begin <= frame <= end:
                raise broken(path, f"cell {label}", f"cells of {_LINEAGE} that live in frame {frame}")
            seen.add(label)
    if missing := sorted(lives.keys() - seen):
        raise broken(folder / _LINEAGE, f"cell {missing[0]} is in no mask", "cells of the masks")
    known = _without_half_divisions(_open_ended(lineage, paths.keys()))
    return TrackedCells(_PartialMasks(paths, len(frames), shape), known)


def _mask_files(folder: Path) -> dict[int, Path]:
    """Return the mask of each frame that has one."""
    paths: dict[int, Path] = {}
    for path in list_files(folder, "man_track*.tif"):
        frame = file_number(path)
        if frame in paths:
            raise broken(path, f"frame {frame} as in {paths[frame].name}", "one mask per frame")
        paths[frame] = path
    return paths


def _open_ended(lineage: Lineage, annotated: Collection[int]) -> Lineage:
    """Return a lineage whose tracks continue into frames without annotation, unless they divide there."""
    parents = set(lineage.parent.tolist())
    begin = [
        first if first - 1 in annotated or mother or not first else first - 1
        for _, first, _, mother in lineage.rows()
    ]
    end = [
        last if last + 1 in annotated or label in parents else last + 1
        for label, _, last, _ in lineage.rows()
    ]
    return replace(lineage, begin=np.array(begin), end=np.array(end))


def _without_half_divisions(lineage: Lineage) -> Lineage:
    """Return a lineage in which the fate of a cell with a single child in the next frame is unknown.

    It did not move, since the label differs. The other child was left out, or is out of view.
    """
    last = dict(zip(lineage.label.tolist(), lineage.end.tolist(), strict=True))
    families = Counter(lineage.parent.tolist())
    only = [
        mother > 0 and families[mother] == 1 and begin == last[mother] + 1
        for _, begin, _, mother in lineage.rows()
    ]
    alone = np.array(only, dtype=bool)
    return Lineage(
        lineage.label,
        np.where(alone, lineage.begin - 1, lineage.begin),
        np.where(np.isin(lineage.label, lineage.parent[alone]), lineage.end + 1, lineage.end),
        np.where(alone, 0, lineage.parent),
    )


class _PartialMasks(Sequence[np.ndarray]):
    """The masks of all frames of a film; frames without a file are empty."""

    def __init__(self, paths: Mapping[int, Path], n_frames: int, shape: tuple[int, int]):
        self._paths, self._n_frames, self._shape = paths, n_frames, shape

    def __len__(self) -> int:
        return self._n_frames

    def __getitem__(self, frame: int) -> np.ndarray:
        if not 0 <= frame < len(self):
            raise IndexError(f"frame {frame}: expected 0 to {len(self) - 1}")
        path = self._paths.get(frame)
        return np.zeros(self._shape, dtype=np.uint16) if path is None else read_labels(path)
