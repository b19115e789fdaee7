"""Results in the format of the Cell Tracking Challenge: ``mask<frame>.tif`` and ``res_track.txt``."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from ermlab._utils.files import broken, file_number, list_series, read_text, reading, require_folder
from ermlab._utils.image_files import ImageFiles, read_labels
from ermlab.tracking.ctc import (
    Lineage,
    TrackedCells,
    check_frames,
    lineage_problem,
    lives_problem,
    note_frame,
    read_lineage,
)

_LINEAGE = "res_track.txt"
_RESULT = re.compile(r"mask\d+\.tif|res_track\.txt")
#: Smallest number of digits of the frame in the name of a mask.
_DIGITS = 3


def write_tracking(folder: str | Path, label_images: Iterable[np.ndarray], lineage: Lineage) -> None:
    """Write label images and their lineage, which must agree.

    An earlier result in the folder is replaced; a folder with other files is rejected. After an error the
    folder is unchanged.

    Parameters
    ----------
    folder : str or Path
        Folder for the files.
    label_images : iterable of ndarray of int
        One image per frame, 0 for the background.
    lineage : Lineage
        First and last frame of each label, and its parent.
    """
    if problem := lineage_problem(lineage):
        raise ValueError("the lineage has {}: expected {}".format(*problem))
    with _whole(Path(folder)) as part:
        seen: dict[int, list[int]] = {}
        shape = None
        for frame, labels in enumerate(label_images):
            labels = np.asarray(labels)
            shape = labels.shape if shape is None else shape
            _check_image(frame, labels, shape)
            note_frame(seen, frame, labels)
            image = Image.fromarray(labels.astype(np.uint16))
            image.save(part / _mask_name(frame, _DIGITS), compression="tiff_adobe_deflate")
        if shape is None:
            raise ValueError("no label images: expected one for each frame")
        _with_equal_digits(part, len(str(frame)))
        if problem := lives_problem(seen, lineage):
            raise ValueError("{}: expected {}".format(*problem))
        lines = (" ".join(map(str, row)) + "\n" for row in lineage.rows())
        (part / _LINEAGE).write_text("".join(lines))


def check_result_folder(folder: str | Path) -> Path:
    """Return the path of a folder that is new, empty or has an earlier result, or raise a DataError."""
    folder = Path(folder)
    with reading(folder, "a folder to write to"):
        for name in _beside(folder.resolve()):  # fails for a link to itself
            name.exists()  # fails for a name that is too long
        in_the_way = folder.exists() and not folder.is_dir()
    if in_the_way:
        raise broken(folder, "a file", "a folder to write to")
    others = sorted(path.name for path in folder.glob("*") if not _RESULT.fullmatch(path.name))
    if others:
        raise broken(folder, f"there is {others[0]}", "a new folder, or one with an earlier result only")
    return folder


def read_tracking(folder: str | Path) -> TrackedCells:
    """Read the result of `write_tracking` or of another tracker; it may be without any cell."""
    folder = require_folder(folder)
    path = folder / _LINEAGE
    empty = not read_text(path).strip()
    lineage = Lineage.empty() if empty else read_lineage(path)
    masks = ImageFiles(list_series(folder, "mask*.tif"), read_labels)
    check_frames(masks, lineage, path)
    return TrackedCells(masks, lineage)


def _mask_name(frame: int, digits: int) -> str:
    return f"mask{frame:0{digits}d}.tif"


def _with_equal_digits(folder: Path, digits: int) -> None:
    """Rename the masks such that their names sort by frame, the order in which other programs read them."""
    if digits > _DIGITS:
        for path in list(folder.glob("mask*.tif")):
            path.rename(folder / _mask_name(file_number(path), digits))


def _check_image(frame: int, labels: np.ndarray, shape: tuple[int, ...]) -> None:
    name = f"the label image of frame {frame}"
    if labels.ndim != 2 or labels.dtype.kind not in "iu" or labels.shape != shape:
        raise ValueError(
            f"{name} has shape {labels.shape} of {labels.dtype}: expected integers of the shape "
            f"of the first frame"
        )
    if labels.size and not 0 <= labels.min() <= labels.max() <= np.iinfo(np.uint16).max:
        raise ValueError(f"{name} has labels {labels.min()} to {labels.max()}: expected 0 to 65535")


@contextmanager
def _whole(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that replaces ``folder`` on success, and is removed after an error."""
    folder = check_result_folder(folder).resolve()  # a link stays and points to the new folder
    part, old = _beside(folder)
    if old.exists() and not folder.exists():  # a run was stopped between the two renames below
        old.rename(folder)
    _remove(part, old)
    part.mkdir(parents=True)
    try:
        yield part
        if folder.exists():
            folder.rename(old)
        part.rename(folder)
    except BaseException:
        if old.exists() and not folder.exists():
            old.rename(folder)
        _remove(part)
        raise
    _remove(old)


def _beside(folder: Path) -> tuple[Path, Path]:
    """Return the paths of the new folder and of the old one while the files are written."""
    return tuple(folder.with_name(f".{kind}-{folder.name}") for kind in ("part", "old"))


def _remove(*folders: Path) -> None:
    for folder in folders:
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)
        else:
            folder.unlink(missing_ok=True)
