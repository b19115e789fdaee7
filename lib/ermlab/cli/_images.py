"""Images that commands read: those of a folder, or single files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ermlab.exceptions import DataError

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff")


def image_paths(path: Path) -> list[Path]:
    """Return the images of a folder in the order of their names, or the file itself."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise DataError(f"{path}: no such file or folder; expected images")
    found = sorted(file for file in path.iterdir() if file.suffix.lower() in ENDINGS)
    if not found:
        raise DataError(f"{path}: no images; expected files that end in {', '.join(ENDINGS)}")
    twice = {file.stem for file in found if sum(other.stem == file.stem for other in found) > 1}
    if twice:
        raise DataError(f"{path}: several images {min(twice)}; expected different names before the ending")
    return found


def pairs(images: Sequence[Path], others: Sequence[Path]) -> list[Path]:
    """Return the file of ``others`` that belongs to each image.

    The names are equal up to the ending, or, if they are not for all images, up to the first underscore: as
    in ``21_training.tif`` and ``21_manual1.gif``.
    """
    by_name = {path.stem: path for path in others}
    if all(path.stem in by_name for path in images):
        return [by_name[path.stem] for path in images]
    heads = [path.stem.partition("_")[0] for path in others]
    wanted = [path.stem.partition("_")[0] for path in images]
    if len(set(heads)) == len(heads) and len(set(wanted)) == len(wanted) and set(wanted) <= set(heads):
        by_head = dict(zip(heads, others, strict=True))
        return [by_head[head] for head in wanted]
    missing = next(path for path in images if path.stem not in by_name)
    raise DataError(
        f"{others[0].parent}: no file for the image {missing.name}; expected one of the same name, whatever "
        "its ending"
    )


def read_gray(path: Path) -> np.ndarray:
    """Read an image as gray values."""
    from ermlab._utils.image_files import read_image

    image = read_image(path)
    return image if image.ndim == 2 else image @ [0.299, 0.587, 0.114]  # as ITU-R 601


def read_classes(path: Path) -> np.ndarray:
    """Read a label image: whole numbers of at least 0; other colors than grays count as their numbers."""
    import numpy as np

    from ermlab._utils.files import broken
    from ermlab._utils.image_files import check_image, with_image

    def decode(image: Image) -> np.ndarray:
        check_image(path, image)
        if image.mode == "P":
            red, green, blue = np.reshape(image.getpalette("RGB"), (-1, 3)).T
            if (red == green).all() and (green == blue).all():  # as GIF files store gray images
                return np.array(image.convert("L"))
        return np.array(image)

    labels = with_image(path, decode)
    if labels.ndim != 2 or labels.dtype.kind not in "biu" or labels.min() < 0:
        raise broken(path, f"shape {labels.shape} of {labels.dtype}", "a label image: whole numbers from 0")
    return labels.astype(np.int64)
