"""Files of boxes in images: tables, and the XML files of PASCAL VOC."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.files import broken, list_files, read_text, reading
from ermlab._utils.table_files import TableFile

SIDES = ("x0", "y0", "x1", "y1")
_VOC_SIDES = ("xmin", "ymin", "xmax", "ymax")

Boxes = NDArray[np.int64]


def read_boxes(path: str | Path, label: str | None = None) -> dict[str, Boxes]:
    """Read the boxes of images.

    Parameters
    ----------
    path : str or Path
        A table (``.csv``, ``.tsv`` or ``.parquet``) with the columns ``image``, ``x0``, ``y0``, ``x1`` and
        ``y1``, in pixels from 0, all sides inclusive; or a folder of PASCAL VOC files (``.xml``), whose
        pixels are counted from 1. Fractions are rounded.
    label : str, optional
        Only boxes with this value in the column ``label`` of a table, or of objects of this class.

    Returns
    -------
    dict of str to ndarray of shape (n_boxes, 4)
        Boxes (left, top, right, bottom) of each image, by the name of its file; in the folder of VOC files,
        images without an object have no boxes.
    """
    path = Path(path)
    found = _read_folder(path, label) if path.is_dir() else _read_columns(path, label)
    if not any(len(boxes) for boxes in found.values()):
        raise broken(path, "no box" + (f" of {label!r}" if label else ""), "at least one")
    return found


def _read_columns(path: Path, label: str | None) -> dict[str, Boxes]:
    table = TableFile(path)
    image, sides = table.text("image"), table.numbers(SIDES)
    rows = np.ones(len(image), dtype=bool) if label is None else table.text("label") == label
    return {
        str(name): _boxes(sides[rows & (image == name)], f"{path}, boxes of {name}")
        for name in np.unique(image)
    }


def _read_folder(folder: Path, label: str | None) -> dict[str, Boxes]:
    return dict(_read_voc(path, label) for path in list_files(folder, "*.xml"))


def _read_voc(path: Path, label: str | None) -> tuple[str, Boxes]:
    text = read_text(path)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:  # which could expand to any size
        raise broken(path, "a document type", "an annotation of PASCAL VOC")
    with reading(path, "an annotation of PASCAL VOC"):
        root = ElementTree.fromstring(text)
        name = (root.findtext("filename") or "").strip() or path.stem
        objects = [item for item in root.iter("object") if label in (None, item.findtext("name"))]
        sides = [[float(item.find("bndbox").findtext(side)) - 1 for side in _VOC_SIDES] for item in objects]
    return name, _boxes(np.array(sides).reshape(-1, 4), str(path))


def _boxes(sides: NDArray[np.float64], place: str) -> Boxes:
    if not np.isfinite(sides).all() or np.abs(sides).max(initial=0) > 1e9:
        raise broken(place, "a side that is not finite or too large", "sides in pixels")
    boxes = np.rint(sides).astype(np.int64)
    wrong = np.flatnonzero((boxes[:, :2] > boxes[:, 2:]).any(axis=1))
    if len(wrong):
        raise broken(place, f"the box {boxes[wrong[0]].tolist()}", "x0 <= x1 and y0 <= y1")
    return boxes


def boxes_of(names: list[str], boxes: Mapping[str, Boxes]) -> list[Boxes]:
    """Return the boxes of each named image; names in ``boxes`` may lack the ending.

    Parameters
    ----------
    names : list of str
        Names of files.
    boxes : mapping of str to ndarray
        As `read_boxes` returns them.
    """
    stems = {Path(name).stem: of_image for name, of_image in boxes.items()}
    none = np.empty((0, 4), dtype=np.int64)
    return [boxes.get(name, stems.get(Path(name).stem, none)) for name in names]
