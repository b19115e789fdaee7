"""Validation of images and of parameters of functional series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from pathlib import Path

import numpy as np
from nibabel.spatialimages import SpatialImage
from nilearn import image
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.files import reading
from ermlab._utils.validation import real_array
from ermlab.exceptions import DataError
from ermlab.fmri.volumes import open_image

ImageLike = str | Path | SpatialImage
#: Range of plausible seconds between volumes; larger values are probably milliseconds.
SHORTEST_REPETITION, LONGEST_REPETITION = 1e-3, 60.0
#: Range of the millimeters between voxels.
SMALLEST_VOXEL, LARGEST_VOXEL = 1e-3, 1e6
#: Smallest volume of a voxel relative to a box of its sides: below, the axes are nearly dependent.
FLATTEST_VOXEL = 1e-6
#: Largest full width at half maximum of a Gaussian, in voxels.
WIDEST = 1e4
_SECONDS = {"sec": 1.0, "msec": 1e-3, "usec": 1e-6}


def as_image(img: ImageLike, ndim: int, name: str = "img") -> SpatialImage:
    """Return an image, loaded if a file is named, after a check for ``ndim`` dimensions and finite voxels.

    An invalid file raises a `DataError`, an invalid image in memory a `ValueError`.
    """
    expected = f"a NIfTI image of {ndim} dimensions"
    if isinstance(img, str | Path):
        loaded = open_image(img, expected)
        with reading(img, expected):
            loaded.get_fdata(dtype=np.float32)
        try:
            return as_image(loaded, ndim, str(img))
        except ValueError as error:
            raise DataError(str(error)) from None
    if not isinstance(img, SpatialImage):
        raise ValueError(f"{name} is a {type(img).__name__}: expected {expected}, or the name of a file")
    if len(img.shape) != ndim:
        raise ValueError(f"{name} has shape {img.shape}: expected {expected}")
    if 0 in img.shape:
        raise ValueError(f"{name} has shape {img.shape}: expected at least one voxel and volume")
    _check_affine(img.affine, name)
    bad = np.argwhere(~np.isfinite(voxels(img)))
    if len(bad):
        first = tuple(bad[0].tolist())
        raise ValueError(f"{name} has {len(bad)} NaN or infinite voxels, first {first}: expected finite ones")
    return img


def _check_affine(affine: NDArray, name: str) -> None:
    """Raise a ValueError unless the affine is finite and invertible."""
    affine = real_array(affine, f"the affine of {name}")
    with np.errstate(over="ignore"):
        sizes = voxel_sizes(affine)
    if affine.shape != (4, 4) or not np.isfinite(affine).all():
        raise ValueError(f"{name} has the affine {affine.tolist()}: expected (4, 4) finite numbers")
    if not ((sizes >= SMALLEST_VOXEL) & (sizes <= LARGEST_VOXEL)).all():
        raise ValueError(
            f"{name} has voxels of {sizes.tolist()} mm: expected {SMALLEST_VOXEL:g} to {LARGEST_VOXEL:g} mm"
        )
    if not abs(np.linalg.det(affine[:3, :3] / sizes)) > FLATTEST_VOXEL:
        raise ValueError(f"{name} has the affine {affine.tolist()}: expected one that can be inverted")


def as_series(img: ImageLike, name: str = "img", min_volumes: int = 2) -> SpatialImage:
    """Return a 4-D image of at least ``min_volumes`` volumes."""
    img = as_image(img, 4, name)
    if img.shape[3] < min_volumes:
        raise ValueError(f"{name} has {img.shape[3]} volumes: expected at least {min_volumes}")
    return img


def voxels(img: SpatialImage) -> NDArray[np.float32]:
    """Return the voxels of an image in single precision."""
    return img.get_fdata(dtype=np.float32, caching="unchanged")


def volumes_first(img: SpatialImage) -> NDArray[np.float32]:
    """Return the volumes of a series as an array of shape (n_volumes, x, y, z)."""
    return np.ascontiguousarray(np.moveaxis(voxels(img), 3, 0))


def series_like(img: SpatialImage, volumes: NDArray) -> SpatialImage:
    """Return volumes of shape (n_volumes, x, y, z) as an image with the affine and header of ``img``."""
    data = np.moveaxis(volumes, 0, 3).astype(np.float32, copy=False)
    return image.new_img_like(img, data, affine=img.affine, copy_header=True)


def check_repetition_time(value: float, img: SpatialImage | None = None) -> float:
    """Return the seconds between volumes, after a comparison with the header of ``img``."""
    if not (isinstance(value, int | float | np.number) and value >= SHORTEST_REPETITION):
        raise ValueError(f"repetition_time is {value!r}: expected at least {SHORTEST_REPETITION} s")
    if not value <= LONGEST_REPETITION:
        raise ValueError(f"repetition_time is {value} s: expected seconds, not milliseconds")
    stated = None if img is None else header_repetition_time(img)
    if stated is not None and abs(stated - value) > 0.01 * value:
        raise ValueError(
            f"repetition_time is {value} s, but the header of the image says {stated:g} s: expected the same"
        )
    return float(value)


def header_repetition_time(img: SpatialImage) -> float | None:
    """Return the seconds between volumes if the header has them with their unit, else None."""
    header = img.header
    if not hasattr(header, "get_xyzt_units") or len(header.get_zooms()) < 4:
        return None
    try:
        unit = header.get_xyzt_units()[1]
    except KeyError:  # an unknown code of the unit
        return None
    step = float(header.get_zooms()[3])
    return step * _SECONDS[unit] if unit in _SECONDS and step > 0 else None


def check_slice_times(slice_times: ArrayLike, slices: int, repetition_time: float) -> NDArray[np.float64]:
    """Return the seconds from the start of a volume at which each slice was acquired."""
    times = real_array(slice_times, "slice_times")
    if times.shape != (slices,):
        raise ValueError(f"slice_times has shape {times.shape}: expected one per slice, {slices}")
    wrong = np.flatnonzero(~((times >= 0) & (times < repetition_time)))
    if len(wrong):
        raise ValueError(
            f"slice_times[{wrong[0]}] is {times[wrong[0]]}: expected seconds from 0 to below the "
            f"repetition time, {repetition_time}"
        )
    return times


def check_same_grid(img: SpatialImage, other: SpatialImage, name: str = "mask") -> None:
    """Raise a ValueError unless two images have the same affine and spatial shape."""
    if img.shape[:3] != other.shape[:3]:
        raise ValueError(f"{name} has shape {other.shape[:3]}: expected {img.shape[:3]}, that of the image")
    if not np.allclose(img.affine, other.affine, atol=1e-3):
        raise ValueError(
            f"{name} has the affine {other.affine.tolist()}: "
            f"expected {img.affine.tolist()}, that of the image"
        )


def check_rows(series: ArrayLike, name: str = "series") -> NDArray[np.floating]:
    """Return a series of finite numbers of shape (n_volumes, n_voxels)."""
    rows = np.asarray(series)
    if rows.dtype not in (np.float32, np.float64) or np.ma.is_masked(series):
        rows = real_array(series, name)
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"{name} has shape {rows.shape}: expected (volumes, voxels)")
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        raise ValueError(f"{name}{bad[0].tolist()} is {rows[tuple(bad[0])]}: expected finite values")
    return rows


def voxel_sizes(affine: NDArray) -> NDArray[np.float64]:
    """Return the millimeters between voxels along each axis."""
    return np.sqrt(np.sum(np.asarray(affine)[:3, :3] ** 2, axis=0))


def sigmas(fwhm: float | Sequence[float], affine: NDArray) -> NDArray[np.float64]:
    """Return the standard deviations in voxels of a Gaussian of ``fwhm`` millimeters at half maximum."""
    return np.asarray(fwhm) / (2 * math.sqrt(2 * math.log(2))) / voxel_sizes(affine)


def check_fwhm(fwhm: float, affine: NDArray, name: str = "fwhm") -> float:
    """Return a full width at half maximum in millimeters, or raise a ValueError."""
    largest = WIDEST * float(voxel_sizes(affine).min())
    if not (isinstance(fwhm, Real) and 0 <= fwhm <= largest):
        raise ValueError(f"{name} is {fwhm!r}: expected 0 to {largest:g} millimeters")
    return float(fwhm)
