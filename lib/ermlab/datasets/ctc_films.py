"""Films in the layout of the Cell Tracking Challenge: frames, and as much of them as is annotated."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ermlab.datasets._files import (
    ImageFiles,
    broken,
    file_number,
    image_size,
    list_files,
    list_series,
    read_image,
    read_labels,
    require_folder,
)
from ermlab.datasets.ctc import Lineage, TrackedCells, read_lineage

_LINEAGE = "man_track.txt"


def read_frames(folder: str | Path) -> ImageFiles:
    """Find the grey frames ``t000.tif``, ``t001.tif``, ..., all of one size, without a gap in the numbers."""
    paths = list_series(require_folder(folder), "t*.tif")
    shape = image_size(paths[0])
    for path in paths:
        if image_size(path) != shape:
            raise broken(path, f"shape {image_size(path)}", f"{shape} as in the first frame")
    return ImageFiles(paths, _read_frame)


def _read_frame(path: Path) -> np.ndarray:
    frame = read_image(path)
    if frame.ndim != 2:
        raise broken(path, f"shape {frame.shape}", "a grey image")
    if not np.isfinite(frame).all():
        raise broken(path, "a pixel that is no finite number", "finite numbers")
    return frame


def read_annotation(folder: str | Path, frames: Sequence[np.ndarray]) -> TrackedCells:
    """Read ``man_track.txt`` and the masks ``man_track<frame>.tif`` of some frames of a film.

    Masks may leave out frames, and cells. Where a track ends or begins beside a frame without a mask, it may
    well go on: the lineage that is returned says so. A label must be in a line that has it in this frame, and
    a line must be of a cell of some mask.

    Parameters
    ----------
    frames
        The frames of the film.
    """
    folder = require_folder(folder)
    lineage = read_lineage(folder / _LINEAGE)
    paths = {file_number(path): path for path in list_files(folder, "man_track*.tif")}
    shape = frames[0].shape
    seen: set[int] = set()
    lives = {label: (begin, end) for label, begin, end, _ in lineage.rows()}
    for frame, path in paths.items():
        if not 0 <= frame < len(frames):
            raise broken(path, f"frame {frame}", f"one of the frames 0 to {len(frames) - 1} of the film")
        mask = read_labels(path)
        if mask.shape != shape:
            raise broken(path, f"shape {mask.shape}", f"{shape} as the frames of the film")
        for label in np.unique(mask[mask > 0]).tolist():
            begin, end = lives.get(label, (0, -1))
            if not begin <= frame <= end:
                raise broken(path, f"cell {label}", f"cells of {_LINEAGE} that live in frame {frame}")
            seen.add(label)
    if missing := sorted(lives.keys() - seen):
        raise broken(folder / _LINEAGE, f"cell {missing[0]} is in no mask", "cells of the masks")
    return TrackedCells(_SomeMasks(paths, len(frames), shape), _open_ended(lineage, paths.keys()))


def _open_ended(lineage: Lineage, annotated: Collection[int]) -> Lineage:
    """Return a lineage whose tracks go on into frames that are not annotated, unless they divide there."""
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


class _SomeMasks(Sequence[np.ndarray]):
    """The masks of all frames of a film, of which only some are there: the others show nothing."""

    def __init__(self, paths: Mapping[int, Path], n_frames: int, shape: tuple[int, int]):
        self._paths, self._n_frames, self._shape = paths, n_frames, shape

    def __len__(self) -> int:
        return self._n_frames

    def __getitem__(self, frame: int) -> np.ndarray:
        if not 0 <= frame < len(self):
            raise IndexError(f"frame {frame}: expected 0 to {len(self) - 1}")
        path = self._paths.get(frame)
        return np.zeros(self._shape, dtype=np.uint16) if path is None else read_labels(path)
