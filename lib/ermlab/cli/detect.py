"""The command `ermlab detect`: learn to detect objects from images with boxes."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ermlab.cli._console import PATH, bar, examples, force_option, json_option, show, working
from ermlab.cli._images import image_paths, read_gray
from ermlab.cli._outputs import check_file, check_folder, writing, writing_folder
from ermlab.exceptions import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Boxes of an image with their scores.
Found = list[tuple[list[int], float]]
#: Overlap from which a detection counts as right.
RIGHT = 0.5


@click.group(
    epilog=examples(
        "ermlab detect train images boxes.csv model.detector",
        "ermlab detect predict model.detector new_images found.csv",
    )
)
def detect() -> None:
    """Detect objects: learn from images with boxes, and find boxes in others.

    BOXES is a table with the columns image, x0, y0, x1 and y1, in pixels from 0, and label if there are
    several classes of objects; or a folder of XML files as those of PASCAL VOC.
    """


label_option = click.option("--label", help="Only boxes of this class.")


@detect.command(epilog=examples("ermlab detect train images boxes.csv model.detector --cells 24"))
@click.argument("images", type=PATH)
@click.argument("boxes", type=PATH)
@click.argument("model", type=PATH)
@label_option
@click.option("--cells", default=48, show_default=True, help="Number of HOG cells in a window.")
@click.option("--cell", default=8, show_default=True, help="Side of a cell in pixels.")
@click.option("--C", "C", default=1000.0, show_default=True, help="Inverse regularization strength.")
@click.option("--max-time", default=300.0, show_default=True, help="Limit in seconds on the optimization.")
@force_option
@json_option
def train(
    images: Path,
    boxes: Path,
    model: Path,
    label: str | None,
    cells: int,
    cell: int,
    C: float,
    max_time: float,
    force: bool,
    as_json: bool,
) -> None:
    """Learn from the folder IMAGES and BOXES, and write the file MODEL.

    `ermlab.detection.BoxDetector.load` reads the model in Python.
    """
    check_file(model, force)
    with working("reading images"):
        import numpy as np

        from ermlab.detection import BoxDetector

        paths = image_paths(images)
        loaded = [read_gray(path) for path in paths]
        truth = _truth(paths, loaded, boxes, label)
    with working("training"):
        detector = BoxDetector(n_cells=cells, cell=cell, C=C, max_time=max_time)
        detector.fit(loaded, truth)
    with writing(model) as part:
        detector.save(part)
    areas = [(box[2:] - box[:2] + 1).prod() for of_image in truth for box in of_image]
    summary = {
        "model": str(model),
        "images": len(loaded),
        "boxes": len(areas),
        "median_side": float(np.sqrt(np.median(areas))),
        "gap": detector.result_.relative_gap,
    }
    text = f"{model}: learned from {len(areas)} boxes in {sum(map(bool, map(len, truth)))} images"
    show(summary, text, as_json)


@detect.command(
    epilog=examples(
        "ermlab detect predict model.detector new_images found.csv --overlay pictures",
        "ermlab detect predict model.detector new_images found.json --boxes new_boxes.csv",
    )
)
@click.argument("model", type=PATH)
@click.argument("images", type=PATH)
@click.argument("found", type=PATH)
@click.option("--count", default=10, show_default=True, help="Largest number of boxes in an image.")
@click.option("--overlap", default=0.3, show_default=True, help="Boxes overlap less than this.")
@click.option("--min-score", default=0.0, show_default=True, help="Boxes have a higher score.")
@click.option("--boxes", type=PATH, help="True boxes, to compare with.")
@label_option
@click.option("--overlay", type=PATH, help="Folder for pictures of the images with the boxes.")
@force_option
@json_option
def predict(
    model: Path,
    images: Path,
    found: Path,
    count: int,
    overlap: float,
    min_score: float,
    boxes: Path | None,
    label: str | None,
    overlay: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Find boxes in IMAGES, a folder or a file, and write them to FOUND.

    FOUND is a .csv file with the columns image, x0, y0, x1, y1 and score, or a .json file with the boxes of
    each image. With --boxes, the average precision is printed; a detection is right if it overlaps a box by
    half.
    """
    if found.suffix.lower() not in (".csv", ".json"):
        raise click.BadParameter(f"{found}: expected a name that ends in .csv or .json", param_hint="FOUND")
    check_file(found, force)
    if overlay is not None:
        check_folder(overlay, force)
    with working("reading images"):
        from ermlab.detection import BoxDetector

        detector = BoxDetector.load(model)
        if not hasattr(detector, "coef_"):
            raise DataError(f"{model}: a model without weights; expected one that was trained")
        paths = image_paths(images)
        loaded = [read_gray(path) for path in paths]
        truth = None if boxes is None else _truth(paths, loaded, boxes, label)
    detections: list[Found] = []
    with bar(len(paths), "detecting") as progress:
        for image in loaded:
            (of_image,), (scores,) = detector.predict([image], count, overlap, min_score)
            detections.append(list(zip(of_image.tolist(), scores.tolist(), strict=True)))
            progress.update(1)
    _write(found, {path.name: of_image for path, of_image in zip(paths, detections, strict=True)})
    if overlay is not None:
        with writing_folder(overlay) as folder:
            for number, (path, image) in enumerate(zip(paths, loaded, strict=True)):
                given = [] if truth is None else truth[number]
                _draw(folder / f"{path.stem}.png", image, detections[number], given)
    n_found = sum(map(len, detections))
    summary: dict[str, Any] = {"found": str(found), "images": len(paths), "boxes": n_found}
    text = f"{found}: {n_found} boxes in {len(paths)} images"
    if not n_found:
        text += f"\nno window has a score above {min_score:g}: lower --min-score, or train with more images"
    if truth is not None:
        summary |= evaluate(detections, truth)
        text += (
            f"\naverage precision {summary['average_precision']:.3f}, "
            f"{summary['right']} of {summary['true_boxes']} boxes were found"
        )
    show(summary, text, as_json)


def evaluate(detections: Sequence[Found], truth: Sequence[NDArray[np.int64]]) -> dict[str, Any]:
    """Return the average precision, and how many of the true boxes were found."""
    import numpy as np

    from ermlab.metrics import average_precision, detection_curve

    boxes = [np.array([box for box, _ in of_image], dtype=int).reshape(-1, 4) for of_image in detections]
    scores = [[score for _, score in of_image] for of_image in detections]
    curve = detection_curve(boxes, scores, truth, min_overlap=RIGHT)
    n_truth = sum(map(len, truth))
    recall = float(curve.recall[-1]) if len(curve.recall) else 0.0
    return {
        "average_precision": average_precision(curve.precision, curve.recall),
        "right": round(recall * n_truth),
        "true_boxes": n_truth,
    }


def _truth(
    paths: Sequence[Path], images: Sequence[NDArray], boxes: Path, label: str | None
) -> list[NDArray[np.int64]]:
    """Return the boxes of each image, without what is outside of it."""
    import numpy as np

    from ermlab.detection import boxes_of, read_boxes

    read = read_boxes(boxes, label)
    known = {path.stem for path in paths}
    missing = [name for name in read if Path(name).stem not in known]
    if missing:
        raise DataError(f"{boxes}: boxes of {missing[0]}; expected images of {paths[0].parent}")
    truth = []
    for path, image, given in zip(paths, images, boxes_of([p.name for p in paths], read), strict=True):
        height, width = image.shape
        outside = (given[:, 2:] < 0).any(axis=1) | (given[:, :2] >= (width, height)).any(axis=1)
        if outside.any():
            raise DataError(
                f"{boxes}: the box {given[outside][0].tolist()} of {path.name}; expected boxes inside "
                f"{width} x {height} pixels"
            )
        truth.append(np.clip(given, 0, [width - 1, height - 1, width - 1, height - 1]))
    return truth


def _write(path: Path, detections: Mapping[str, Found]) -> None:
    with writing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        if path.suffix.lower() == ".json":
            rows = {
                name: [{"box": box, "score": score} for box, score in of_image]
                for name, of_image in detections.items()
            }
            json.dump(rows, file, indent=1, ensure_ascii=False)
            return
        writer = csv.writer(file)
        writer.writerow(["image", "x0", "y0", "x1", "y1", "score"])
        for name, of_image in detections.items():
            writer.writerows([name, *box, repr(score)] for box, score in of_image)


def _draw(path: Path, image: NDArray, detections: Found, truth: Sequence[NDArray[np.int64]]) -> None:
    """Draw an image with true boxes in blue, and detections in orange with their scores."""
    import numpy as np
    from PIL import Image, ImageDraw

    low, high = np.percentile(image, [0.5, 99.5])
    gray = np.clip((image - low) / max(float(high - low), 1e-12), 0, 1) * 255
    picture = Image.fromarray(gray.astype(np.uint8)).convert("RGB")
    pen = ImageDraw.Draw(picture)
    for box in truth:
        pen.rectangle(box.tolist(), outline=(86, 180, 233))
    for box, score in reversed(detections):
        pen.rectangle(box, outline=(213, 94, 0), width=2)
        pen.text((box[0] + 3, box[1] + 2), f"{score:.2f}", fill=(240, 228, 66))
    picture.save(path)
