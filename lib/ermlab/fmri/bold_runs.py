"""Runs of a scan as rows of voxels, from images or arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from nilearn.image import concat_imgs, mean_img, resample_to_img
from numpy.typing import ArrayLike, NDArray

from ermlab.exceptions import DataError
from ermlab.fmri.images import (
    ImageLike,
    SpatialImage,
    as_image,
    as_series,
    check_repetition_time,
    check_rows,
    check_same_grid,
    voxels,
)
from ermlab.fmri.masking import brain_mask, check_mask, smooth

#: Number of volumes of a run at least: two stretches of two volumes.
MIN_VOLUMES = 4
#: Deviation relative to the largest value of a voxel below which it counts as constant.
FLAT = 1e-7


@dataclass(frozen=True)
class BoldRuns:
    """Rows of voxels of several runs.

    Attributes
    ----------
    rows : list of ndarray of shape (n_volumes, n_voxels)
        Volumes of each run.
    mask : image or None
        Which voxels they are; None for arrays.
    """

    rows: list[NDArray[np.floating]]
    mask: SpatialImage | None

    @property
    def lengths(self) -> list[int]:
        """Number of volumes of each run."""
        return [len(rows) for rows in self.rows]


def read_runs(
    runs: ImageLike | ArrayLike | Sequence[ImageLike] | Sequence[ArrayLike],
    *,
    repetition_time: float,
    mask: ImageLike | None = None,
    fwhm: float = 0.0,
    resample: bool = False,
) -> BoldRuns:
    """Read the runs of one person.

    Parameters
    ----------
    runs : image, array, or sequence of them
        One image of four dimensions, or array of shape (n_volumes, n_voxels), for each run.
    repetition_time : float
        Seconds between volumes, compared with the headers of images.
    mask : image or str or Path, optional
        Voxels to use; by default `brain_mask` of the first volumes of all runs.
    fwhm : float, default=0.0
        Spatial smoothing of images in millimeters.
    resample : bool, default=False
        Whether to resample images to the grid of the first; otherwise another grid is an error.
    """
    repetition_time = check_repetition_time(repetition_time)
    listed = list(runs) if isinstance(runs, list | tuple) else [runs]
    if not listed:
        raise ValueError("no runs: expected at least one")
    names = [_name(run, number) for number, run in enumerate(listed)]
    if not _is_image(listed[0]):
        return BoldRuns(_arrays(listed, names), None)
    images = [as_series(run, name, MIN_VOLUMES) for run, name in zip(listed, names, strict=True)]
    for img in images:
        check_repetition_time(repetition_time, img)
    images = on_one_grid(images, names, resample=resample)
    if mask is None:
        means = [mean_img(img, copy_header=True) for img in images]
        mask = brain_mask(concat_imgs(means))
    else:
        mask = check_mask(as_image(mask, 3, "mask"))
        check_same_grid(images[0], mask)
    inside = voxels(mask) > 0
    return BoldRuns([np.ascontiguousarray(voxels(smooth(img, fwhm))[inside].T) for img in images], mask)


def on_one_grid(
    images: Sequence[SpatialImage], names: Sequence[str], *, resample: bool
) -> list[SpatialImage]:
    """Return the images, those on another grid than the first resampled, or refused by name."""
    result = [images[0]]
    for name, img in zip(names[1:], images[1:], strict=True):
        try:
            check_same_grid(images[0], img, name)
        except ValueError as error:
            if not resample:
                raise DataError(f"{error}; to resample it to the grid of {names[0]}, use resample") from None
            img = resample_to_img(
                img, images[0], interpolation="linear", copy_header=True, force_resample=True
            )
        result.append(img)
    return result


def scale_voxels(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    """Scale each voxel of a run to mean 0 and variance 1; voxels that do not vary become 0."""
    rows = np.asarray(rows, dtype=np.float64)
    centered = rows - rows.mean(axis=0)
    deviations = centered.std(axis=0)
    # Rounding gives a constant voxel a deviation that is not quite 0.
    flat = deviations <= FLAT * np.abs(rows).max(axis=0)
    return centered / np.where(flat, np.inf, deviations)


def _is_image(run: object) -> bool:
    return isinstance(run, SpatialImage | str) or hasattr(run, "__fspath__")


def _name(run: object, number: int) -> str:
    return str(run) if isinstance(run, str) or hasattr(run, "__fspath__") else f"run {number}"


def _arrays(runs: Sequence[ArrayLike], names: Sequence[str]) -> list[NDArray[np.floating]]:
    rows = [check_rows(run, name) for run, name in zip(runs, names, strict=True)]
    for name, part in zip(names, rows, strict=True):
        if len(part) < MIN_VOLUMES:
            raise ValueError(f"{name} has {len(part)} volumes: expected at least {MIN_VOLUMES}")
        if part.shape[1] != rows[0].shape[1]:
            raise ValueError(
                f"{name} has {part.shape[1]} voxels: expected {rows[0].shape[1]}, like {names[0]}"
            )
    return rows
