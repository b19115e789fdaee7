"""Reading brain images that may be missing or damaged: as :mod:`~ermlab.datasets._files` for other files."""

import zlib
from pathlib import Path
from typing import NamedTuple

import nibabel as nib
import numpy as np
from nibabel.filebasedimages import ImageFileError

from ermlab.datasets._files import broken


class Volume(NamedTuple):
    """A brain image: ``data`` (x, y, z[, time]), voxel-to-world ``affine``, and the step along each axis."""

    data: np.ndarray
    affine: np.ndarray
    steps: tuple[float, ...]


def read_volume(path: Path, ndim: int) -> Volume:
    """Read a NIfTI or Analyze image of ``ndim`` dimensions; further dimensions of length 1 are dropped."""
    expected = f"a NIfTI or Analyze image of {ndim} dimensions"
    if not path.is_file():
        raise broken(path, "no such file", expected)
    try:
        image = nib.load(path)
        data = np.asanyarray(image.dataobj)
    except (ImageFileError, OSError, EOFError, ValueError, KeyError, zlib.error) as error:
        raise broken(path, f"{type(error).__name__}: {error}", expected) from error
    if data.ndim < ndim or data[..., *[0] * (data.ndim - ndim)].size != data.size:
        raise broken(path, f"shape {data.shape}", expected)
    steps = tuple(float(step) for step in image.header.get_zooms()[:ndim])
    return Volume(data.reshape(data.shape[:ndim]), image.affine, steps)
