"""Results in the layout of the Cell Tracking Challenge: ``mask<frame>.tif`` and ``res_track.txt``."""

import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from ermlab._utils.files import (
    ImageFiles,
    broken,
    file_number,
    list_series,
    read_labels,
    read_text,
    reading,
    require_folder,
)
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
#: Digits of a frame's number in the name of its mask, more where there are more frames.
_DIGITS = 3


def write_tracking(folder: str | Path, label_images: Iterable[np.ndarray], lineage: Lineage) -> None:
    """Write label images and lineage, which must agree.

    The folder is complete or not there: after an error it is as it was before. An earlier tracking in it is
    replaced; a folder with other files is left alone.
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


def require_place_for_tracking(folder: str | Path) -> Path:
    """Return a folder that is not there, is empty or has an earlier tracking, or say what is in the way."""
    folder = Path(folder)
    with reading(folder, "a folder to write to"):
        for name in _beside(folder.resolve()):  # not if a link leads to itself
            name.exists()  # not if a name is too long
        in_the_way = folder.exists() and not folder.is_dir()
    if in_the_way:
        raise broken(folder, "a file", "a folder to write to")
    others = sorted(path.name for path in folder.glob("*") if not _RESULT.fullmatch(path.name))
    if others:
        raise broken(folder, f"there is {others[0]}", "no such folder, or one with an earlier tracking alone")
    return folder


def read_tracking(folder: str | Path) -> TrackedCells:
    """Read what `write_tracking` or another tracker wrote; a tracking without a single cell is legal."""
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
    """Rename the masks so that their names are in order, too: other programs read them in that of names."""
    if digits > _DIGITS:
        for path in list(folder.glob("mask*.tif")):
            path.rename(folder / _mask_name(file_number(path), digits))


def _check_image(frame: int, labels: np.ndarray, shape: tuple[int, ...]) -> None:
    name = f"the label image of frame {frame}"
    if labels.ndim != 2 or labels.dtype.kind not in "iu" or labels.shape != shape:
        raise ValueError(
            f"{name} has shape {labels.shape} of {labels.dtype}: expected whole numbers in two axes, "
            f"as long as in the first frame"
        )
    if labels.size and not 0 <= labels.min() <= labels.max() <= np.iinfo(np.uint16).max:
        raise ValueError(f"{name} has labels {labels.min()} to {labels.max()}: expected 0 to 65535")


@contextmanager
def _whole(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the place of ``folder`` when all went well, and vanishes when not."""
    folder = require_place_for_tracking(folder).resolve()  # a link stays, and leads to the new folder
    part, old = _beside(folder)
    if old.exists() and not folder.exists():  # a run was stopped between the two renamings below
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
    """Return where a new folder is made, and where an old one is kept until it is."""
    return tuple(folder.with_name(f".{kind}-{folder.name}") for kind in ("part", "old"))


def _remove(*folders: Path) -> None:
    for folder in folders:
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)
        else:
            folder.unlink(missing_ok=True)
