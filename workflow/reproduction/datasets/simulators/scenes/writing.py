"""Writing of scenes as JPEG images and PASCAL VOC annotations."""

from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

import numpy as np
from PIL import Image

from reproduction.datasets.simulators.scenes.composition import Scene, draw_scene
from reproduction.datasets.voc2007_sample import CLASSES

_QUALITY = (82, 97)


def write_scenes(folder: str | Path, seed: int, count: int) -> None:
    """Write ``JPEGImages/<number>.jpg`` and ``Annotations/<number>.xml`` for scenes 1 to ``count``.

    Scene ``k`` depends on the seed and ``k`` alone, so that a larger set begins with a smaller one.
    """
    images, annotations = Path(folder) / "JPEGImages", Path(folder) / "Annotations"
    for subfolder in (images, annotations):
        subfolder.mkdir(parents=True, exist_ok=True)
    for number in range(1, count + 1):
        rng = np.random.default_rng([seed, number])
        scene = draw_scene(rng)
        image = images / f"{number:06d}.jpg"
        Image.fromarray(scene.image).save(image, quality=int(rng.integers(*_QUALITY)))
        document = annotation(scene, image.name)
        document.write(annotations / f"{number:06d}.xml", encoding="utf-8")


def annotation(scene: Scene, filename: str) -> ElementTree:
    """Return the annotation of a scene, with pixels counted from 1."""
    root = Element("annotation")
    _add(root, folder="simulated", filename=filename)
    _add(
        SubElement(root, "source"), database="ermlab scenes", annotation="ermlab scenes", image=scene.setting
    )
    height, width, depth = scene.image.shape
    _add(SubElement(root, "size"), width=width, height=height, depth=depth)
    _add(root, segmented=0)
    for label, box, truncated, difficult in zip(
        scene.labels, scene.boxes, scene.truncated, scene.difficult, strict=True
    ):
        item = SubElement(root, "object")
        _add(
            item, name=CLASSES[label], pose="Unspecified", truncated=int(truncated), difficult=int(difficult)
        )
        sides = dict(zip(("xmin", "ymin", "xmax", "ymax"), (box + 1).tolist(), strict=True))
        _add(SubElement(item, "bndbox"), **sides)
    indent(root, "\t")
    return ElementTree(root)


def _add(parent: Element, **values: object) -> None:
    for tag, value in values.items():
        SubElement(parent, tag).text = str(value)
