"""Ground truth in the format of the Cell Tracking Challenge: label images and ``man_track.txt``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from ermlab._utils.files import broken, list_series, read_table, require_folder
from ermlab._utils.image_files import ImageFiles, read_labels

#: Labels and frames stay below, so that sums of them fit into any integer type in use.
_LARGEST = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Lineage:
    """The lineage of tracks, one entry per track."""

    label: np.ndarray  #: from 1
    begin: np.ndarray  #: first frame
    end: np.ndarray  #: last frame
    parent: np.ndarray  #: label of the parent, 0 without one

    @classmethod
    def empty(cls) -> Self:
        """Return a lineage without a cell."""
        return cls(*np.zeros((4, 0), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.label)

    def rows(self) -> list[list[int]]:
        """Return the lines of the file: label, begin, end, parent."""
        return np.column_stack([self.label, self.begin, self.end, self.parent]).tolist()

    @property
    def dividing(self) -> np.ndarray:
        """The labels of cells with two or more children."""
        parents, children = np.unique(self.parent[self.parent > 0], return_counts=True)
        return parents[children >= 2]


@dataclass(frozen=True)
class TrackedCells:
    """Tracked cells: a label image per frame, 0 for the background, and the lineage of the labels."""

    masks: ImageFiles
    lineage: Lineage


def read_tracked_cells(folder: str | Path) -> TrackedCells:
    """Read ``man_track.txt`` and ``man_track<frame>.tif``, which must agree in every frame."""
    folder = require_folder(folder)
    lineage = read_lineage(folder / "man_track.txt")
    masks = ImageFiles(list_series(folder, "man_track*.tif"), read_labels)
    check_frames(masks, lineage, folder / "man_track.txt")
    return TrackedCells(masks, lineage)


def read_lineage(path: str | Path) -> Lineage:
    """Read lines ``label begin end parent``."""
    lineage = Lineage(*read_table(path, columns=4, dtype=int).T)
    if problem := lineage_problem(lineage):
        raise broken(path, *problem)
    return lineage


def lineage_problem(lineage: Lineage) -> tuple[str, str] | None:
    """Return what is wrong with a lineage and what was expected, None if it is valid."""
    if max(column.max(initial=0) for column in (lineage.label, lineage.end, lineage.parent)) >= _LARGEST:
        return "a number that is too large", f"labels and frames below {_LARGEST}"
    known = dict(zip(lineage.label.tolist(), lineage.end.tolist(), strict=True))
    if len(known) < len(lineage) or lineage.label.min(initial=1) < 1:
        return "a label below 1 or twice", "labels from 1, each once"
    for cell, first, last, mother in lineage.rows():
        if not 0 <= first <= last:
            return f"cell {cell} lives from frame {first} to {last}", "0 <= begin <= end"
        if mother and mother not in known:
            return f"parent {mother} of cell {cell} is no cell", "0 or a label of the file"
        if mother and known[mother] >= first:
            found = f"cell {cell} begins at {first}, its parent {mother} ends at {known[mother]}"
            return found, "the parent to end first"
    return None


def lives_problem(seen: Mapping[int, Sequence[int]], lineage: Lineage) -> tuple[str, str] | None:
    """Return where the first and last frames in the images contradict the lineage, None if they agree."""
    stated = {label: [begin, end] for label, begin, end, _ in lineage.rows()}
    for label in sorted(seen.keys() | stated.keys()):
        if seen.get(label) != stated.get(label):
            found, expected = stated.get(label, "in no line"), seen.get(label, "in no frame")
            return f"cell {label} is {found} [begin, end]", f"{expected} as in the images"
    return None


def note_frame(seen: dict[int, list[int]], frame: int, mask: np.ndarray) -> None:
    """Update the first and last frame of each label with those of a frame."""
    for label in np.flatnonzero(np.bincount(mask.ravel())).tolist():
        if label:
            seen.setdefault(label, [frame, frame])[1] = frame


def check_frames(masks: ImageFiles, lineage: Lineage, path: str | Path) -> None:
    """Raise a DataError unless masks of one shape agree with the lineage of the file ``path``."""
    seen: dict[int, list[int]] = {}
    shape = masks[0].shape
    for frame, mask in enumerate(masks):
        if mask.shape != shape:
            raise broken(masks.paths[frame], f"shape {mask.shape}", f"{shape} as in the first frame")
        note_frame(seen, frame, mask)
    if problem := lives_problem(seen, lineage):
        raise broken(path, *problem)
