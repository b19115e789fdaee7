"""The preprocessing of the thesis (section 4.1.3), from a raw series to a matrix of voxels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ermlab.fmri.filters import high_pass, low_pass, scale_globally
from ermlab.fmri.images import (
    ImageLike,
    SpatialImage,
    as_image,
    as_series,
    check_repetition_time,
    check_same_grid,
    voxels,
)
from ermlab.fmri.masking import brain_mask, check_mask, smooth
from ermlab.fmri.normalization import normalize, tissue_templates
from ermlab.fmri.realignment import realign
from ermlab.fmri.timing import correct_slice_timing


@dataclass(frozen=True)
class Preprocessing:
    """Settings of `preprocess`, in the order of the steps; the defaults are those of the thesis."""

    repetition_time: float  #: seconds between volumes
    slice_times: Sequence[float] | None = None  #: acquisition time of each slice; None: no correction
    realign: bool = True  #: whether to remove head motion
    template: ImageLike | None = None  #: image in MNI space that defines the grid; None: no normalization
    source: ImageLike | None = None  #: image to register to the template; None: `mean_brain` of the series
    components: Sequence[ImageLike] | None = None  #: images that it is matched to; None: `tissue_templates`
    mask: ImageLike | None = None  #: mask on the final grid; None: `brain_mask`
    fwhm: float = 6.0  #: spatial smoothing in millimeters
    scale: bool = True  #: whether to scale every volume to the same mean
    high_pass: float | None = 512.0  #: shortest period of a drift in seconds; None: drifts stay
    low_pass: bool = True  #: whether to smooth in time with the spectrum of the hemodynamic response


@dataclass(frozen=True)
class Preprocessed:
    """A preprocessed series."""

    series: NDArray[np.float32]  #: of shape (n_volumes, n_voxels)
    mask: NDArray[np.bool_]  #: of shape (x, y, z)
    affine: NDArray[np.float64]  #: from voxels to millimeters
    motion: NDArray[np.float64]  #: parameters as in `Realignment`; 0 without realignment


def preprocess(img: ImageLike, settings: Preprocessing) -> Preprocessed:
    """Preprocess a series as in the thesis (section 4.1.3): the steps of `Preprocessing`, in its order."""
    img = as_series(img)
    repetition_time = check_repetition_time(settings.repetition_time, img)
    motion = np.zeros((img.shape[3], 6))
    if settings.slice_times is not None:
        img = correct_slice_timing(img, settings.slice_times, repetition_time)
    if settings.realign:
        realigned = realign(img)
        img, motion = realigned.img, realigned.parameters
    if settings.template is not None:
        components = tissue_templates() if settings.components is None else settings.components
        img = normalize(img, settings.template, source=settings.source, components=components)
    mask = _mask(img, settings)
    img = smooth(img, settings.fwhm)
    series = np.ascontiguousarray(voxels(img)[mask].T)
    if settings.scale:
        series = scale_globally(series)
    if settings.high_pass is not None:
        series = high_pass(series, repetition_time, settings.high_pass)
    if settings.low_pass:
        series = low_pass(series, repetition_time)
    return Preprocessed(series, mask, np.asarray(img.affine), motion)


def _mask(img: SpatialImage, settings: Preprocessing) -> NDArray[np.bool_]:
    if settings.mask is None:
        mask = brain_mask(img, standard=settings.template is not None)
    else:
        mask = check_mask(as_image(settings.mask, 3, "mask"))
        check_same_grid(img, mask)
    return voxels(mask) > 0
