"""The command `ermlab segment`: learn to segment images from a few labeled ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ermlab.cli._console import PATH, bar, examples, force_option, json_option, show, working
from ermlab.cli._images import image_paths, pairs, read_classes
from ermlab.cli._outputs import check_file, check_folder, writing, writing_folder
from ermlab.exceptions import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@click.group(
    epilog=examples(
        "ermlab segment train images labels model.segmenter",
        "ermlab segment predict model.segmenter new_images segmented",
    )
)
def segment() -> None:
    """Segment images: learn from a few labeled ones, and label others.

    A label image has the size of its image, and the class of each pixel as its value, such as 0 and 255.
    """


ignore_option = click.option(
    "--ignore", type=int, help="Value of label images that marks pixels of unknown class."
)


@segment.command(
    epilog=examples("ermlab segment train images labels model.segmenter --class-weight balanced")
)
@click.argument("images", type=PATH)
@click.argument("labels", type=PATH)
@click.argument("model", type=PATH)
@click.option(
    "--kind",
    type=click.Choice(["grid", "dense", "unary"]),
    default="grid",
    show_default=True,
    help="grid: neighboring pixels; dense: all pairs of pixels; unary: each pixel alone, which is fastest.",
)
@click.option("--C", "C", default=100.0, show_default=True, help="Inverse regularization strength.")
@click.option(
    "--class-weight",
    type=click.Choice(["none", "balanced"]),
    default="none",
    show_default=True,
    help="balanced: errors in rare classes weigh more.",
)
@ignore_option
@click.option("--max-time", type=float, help="Limit in seconds on the optimization.")
@force_option
@json_option
def train(
    images: Path,
    labels: Path,
    model: Path,
    kind: str,
    C: float,
    class_weight: str,
    ignore: int | None,
    max_time: float | None,
    force: bool,
    as_json: bool,
) -> None:
    """Learn from the folder IMAGES and the folder LABELS, and write the file MODEL.

    A label image has the name of its image, whatever its ending, or the same name up to the first underscore.
    `ermlab.ImageSegmenter.load` reads the model in Python.
    """
    check_file(model, force)
    with working("reading images"):
        from ermlab.segmentation import ImageSegmenter

        paths = image_paths(images)
        loaded = _read_images(paths)
        truth = _read_truth(paths, loaded, labels, ignore)
    with working("training"):
        segmenter = ImageSegmenter(
            model=kind, C=C, class_weight=None if class_weight == "none" else class_weight, max_time=max_time
        ).fit(loaded, truth)
        accuracy = segmenter.score(loaded, truth)
    with writing(model) as part:
        segmenter.save(part)
    summary = {
        "model": str(model),
        "images": len(loaded),
        "classes": segmenter.classes_,
        "training_accuracy": accuracy,
        "gap": segmenter.result_.relative_gap,
    }
    text = (
        f"{model}: learned from {len(loaded)} images, classes {', '.join(map(str, segmenter.classes_))}\n"
        f"{100 * accuracy:.2f} % of the labeled training pixels are right"
    )
    show(summary, text, as_json)


@segment.command(
    epilog=examples(
        "ermlab segment predict model.segmenter new_images segmented",
        "ermlab segment predict model.segmenter new_images compared --labels new_labels",
    )
)
@click.argument("model", type=PATH)
@click.argument("images", type=PATH)
@click.argument("result", type=PATH)
@click.option("--labels", type=PATH, help="True label images, to compare with.")
@ignore_option
@click.option("--overlay/--no-overlay", default=True, show_default=True, help="Draw outlines of the classes.")
@force_option
@json_option
def predict(
    model: Path,
    images: Path,
    result: Path,
    labels: Path | None,
    ignore: int | None,
    overlay: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Label IMAGES, a folder or a file, with a MODEL.

    The folder RESULT gets a label image NAME.png of each image, with the classes of the training, and
    NAME_overlay.jpg, the image with the outlines of the classes.
    """
    check_folder(result, force)
    with working("reading images"):
        import numpy as np

        from ermlab.segmentation import ImageSegmenter

        segmenter = ImageSegmenter.load(model)
        if not hasattr(segmenter, "coef_"):
            raise DataError(f"{model}: a model without weights; expected one that was trained")
        paths = image_paths(images)
        loaded = _read_images(paths)
        truth = None if labels is None else _read_truth(paths, loaded, labels, ignore)
    right = known = 0
    with writing_folder(result) as folder, bar(len(paths), "segmenting") as progress:
        for number, (path, image) in enumerate(zip(paths, loaded, strict=True)):
            found = segmenter.predict([image])[0]
            _write_labels(folder / f"{path.stem}.png", found)
            if overlay:
                _write_overlay(folder / f"{path.stem}_overlay.jpg", image, found)
            if truth is not None:
                labeled = truth[number] >= 0
                right += int(np.count_nonzero(labeled & (truth[number] == found)))
                known += int(np.count_nonzero(labeled))
            progress.update(1)
    accuracy = right / known if known else None
    summary = {"result": str(result), "images": len(paths), "accuracy": accuracy}
    text = f"{result}: {len(paths)} label images"
    if accuracy is not None:
        text += f"\n{100 * accuracy:.2f} % of the labeled pixels are right"
    show(summary, text, as_json)


def _read_images(paths: list[Path]) -> list[NDArray]:
    from ermlab._utils.image_files import read_image

    return [read_image(path) for path in paths]


def _read_truth(
    paths: list[Path], images: list[NDArray], labels: Path, ignore: int | None
) -> list[NDArray[np.int64]]:
    """Return the label images that belong to images, -1 where pixels are of unknown class."""
    import numpy as np

    truth = []
    for image, path in zip(images, pairs(paths, image_paths(labels)), strict=True):
        of_image = read_classes(path)
        if of_image.shape != image.shape[:2]:
            raise DataError(f"{path}: shape {of_image.shape}; expected {image.shape[:2]}, that of the image")
        truth.append(of_image if ignore is None else np.where(of_image == ignore, -1, of_image))
    return truth


def _write_labels(path: Path, labels: NDArray[np.int64]) -> None:
    import numpy as np
    from PIL import Image

    largest = int(labels.max())
    Image.fromarray(labels.astype(np.uint8 if largest < 256 else np.uint16)).save(path)


def _write_overlay(path: Path, image: NDArray, labels: NDArray[np.int64]) -> None:
    """Write an image with the borders of the classes in blue."""
    import numpy as np
    from PIL import Image

    values = image.astype(np.float64)
    low, high = np.percentile(values, [0.5, 99.5])
    gray = np.clip((values - low) / max(high - low, 1e-12), 0, 1) * 255
    pixels = (gray if gray.ndim == 3 else np.repeat(gray[..., None], 3, axis=2)).astype(np.uint8)
    border = np.zeros(labels.shape, dtype=bool)
    border[:, 1:] |= labels[:, 1:] != labels[:, :-1]
    border[1:] |= labels[1:] != labels[:-1]
    pixels[border] = (86, 180, 233)
    Image.fromarray(pixels).save(path, quality=95)
