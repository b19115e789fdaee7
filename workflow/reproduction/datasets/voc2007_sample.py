"""A sample of the PASCAL VOC 2007 photographs with boxes around objects of 20 classes, and its simulator."""

from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from ermlab._utils.files import broken, list_files, require_folder
from ermlab._utils.image_files import ImageFiles
from reproduction.datasets.files import image_size, inside, read_xml
from reproduction.datasets.simulators.sizes import check_size

CLASSES = (
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
)
#: Number of simulated images by size.
SIMULATED_IMAGES = {"smoke": 24, "demo": 200, "paper": 2000}


@dataclass(frozen=True)
class VocSample:
    """Images, which are read on access, and the objects of each.

    Boxes are (left, top, right, bottom), inclusive pixels counted from 0 (the files count from 1).
    """

    images: ImageFiles  #: RGB
    boxes: tuple[np.ndarray, ...]  #: (n, 4) for each image
    labels: tuple[np.ndarray, ...]  #: (n,) indices into `CLASSES`
    difficult: tuple[np.ndarray, ...]  #: (n,) flags of objects that the benchmark ignores


def read_voc2007_sample(folder: str | Path) -> VocSample:
    """Read ``Annotations/*.xml`` and find the images they name in ``JPEGImages``."""
    folder = require_folder(folder)
    paths, boxes, labels, difficult = [], [], [], []
    for annotation in list_files(folder / "Annotations", "*.xml"):
        root = read_xml(annotation)
        path = inside(folder / "JPEGImages", _text(root, "filename", annotation), annotation)
        shape = image_size(path)
        stated = _number(root, "size/height", annotation), _number(root, "size/width", annotation)
        if shape != stated:
            raise broken(annotation, f"height and width {stated}", f"{shape} as in {path}")
        objects = root.findall("object")
        paths.append(path)
        boxes.append(np.array([_box(item, shape, annotation) for item in objects], dtype=int).reshape(-1, 4))
        labels.append(np.array([_label(item, annotation) for item in objects], dtype=int))
        difficult.append(np.array([_number(item, "difficult", annotation) for item in objects], dtype=bool))
    return VocSample(ImageFiles(paths), tuple(boxes), tuple(labels), tuple(difficult))


def simulate_voc2007_sample(folder: str | Path, seed: int, size: str) -> None:
    """Write random scenes (`reproduction.datasets.simulators.scenes`) in the layout of the sample.

    A larger set begins with the images of a smaller one.
    """
    # The scenes import `CLASSES` of this module.
    from reproduction.datasets.simulators.scenes.writing import write_scenes

    check_size(size, SIMULATED_IMAGES)
    if seed < 0:
        raise ValueError(f"seed is {seed}: expected at least 0")
    write_scenes(folder, seed, SIMULATED_IMAGES[size])


def _box(item: Element, shape: tuple[int, int], annotation: Path) -> list[int]:
    sides = ("xmin", "ymin", "xmax", "ymax")
    left, top, right, bottom = (_number(item, f"bndbox/{side}", annotation) - 1 for side in sides)
    if not (0 <= left <= right < shape[1] and 0 <= top <= bottom < shape[0]):
        raise broken(
            annotation, f"box {[left, top, right, bottom]}", f"one inside {shape[1]} x {shape[0]} pixels"
        )
    return [left, top, right, bottom]


def _label(item: Element, annotation: Path) -> int:
    name = _text(item, "name", annotation)
    if name not in CLASSES:
        raise broken(annotation, f"class {name!r}", f"one of {', '.join(CLASSES)}")
    return CLASSES.index(name)


def _number(item: Element, tag: str, annotation: Path) -> int:
    text = _text(item, tag, annotation)
    try:
        return round(float(text))
    except (ValueError, OverflowError) as error:
        raise broken(annotation, f"<{tag}> is {text!r}", "a number") from error


def _text(item: Element, tag: str, annotation: Path) -> str:
    text = item.findtext(tag)
    if text is None:
        raise broken(annotation, f"<{item.tag}> has no <{tag}>", "a PASCAL VOC annotation")
    return text.strip()
