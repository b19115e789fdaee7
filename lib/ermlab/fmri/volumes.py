"""Reading of brain images, with a `DataError` for those that are missing or damaged."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import nibabel as nib
import numpy as np

from ermlab._utils.files import DEFLATE_RATIO, broken, check_promise, reading, require_file

SpatialImage = nib.spatialimages.SpatialImage

#: Suffixes of compressed files.
_COMPRESSED = (".gz", ".bz2", ".zst", ".mgz")
#: Suffixes of the files of an Analyze image; nibabel opens all that exist.
_PARTNERS = (".hdr", ".img", ".mat")


class Volume(NamedTuple):
    """A brain image: ``data`` (x, y, z[, time]), voxel-to-world ``affine``, and ``steps`` along the axes."""

    data: np.ndarray
    affine: np.ndarray
    steps: tuple[float, ...]


def read_volume(path: str | Path, ndim: int) -> Volume:
    """Read a NIfTI or Analyze image of ``ndim`` dimensions; trailing dimensions of length 1 are dropped."""
    expected = f"a NIfTI or Analyze image of {ndim} dimensions"
    image = open_image(path, expected)
    if len(image.shape) < ndim or any(length != 1 for length in image.shape[ndim:]):
        raise broken(path, f"shape {image.shape}", expected)
    with reading(path, expected):
        data = np.asanyarray(image.dataobj)
        steps = tuple(float(step) for step in image.header.get_zooms()[:ndim])
    return Volume(data.reshape(data.shape[:ndim]), image.affine, steps)


def open_image(path: str | Path, expected: str) -> SpatialImage:
    """Open a brain image without reading its voxels, after a check that the file can hold them.

    Parameters
    ----------
    path : str or Path
        The file.
    expected : str
        Description of a valid file, for error messages.
    """
    path = Path(path)
    if not path.is_file():
        raise broken(path, "no such file", expected)
    for partner in (path.with_suffix(suffix) for suffix in _PARTNERS):
        with reading(partner, expected):
            if partner.exists():
                require_file(partner)
    with reading(path, expected):
        image = nib.load(path)
        if not isinstance(image, SpatialImage):
            raise broken(path, f"a {type(image).__name__}", expected)
        shape, pixels = tuple(int(length) for length in image.shape), image.get_data_dtype()
        stored = Path(image.file_map["image"].filename)
    if min(shape, default=0) < 1:
        raise broken(path, f"shape {shape}", expected)
    if pixels.kind not in "biuf":
        raise broken(path, f"voxels of type {pixels}", "real numbers")
    if image.affine is None or not np.isfinite(image.affine).all():
        raise broken(path, "an affine that is not finite", expected)
    if not np.linalg.norm(image.affine[:3, :3], axis=0).all():  # which could not be written, either
        raise broken(path, "an affine with voxels of size 0", expected)
    ratio = DEFLATE_RATIO if stored.suffix in _COMPRESSED else 1
    check_promise(stored, math.prod(shape) * pixels.itemsize, ratio)
    return image
