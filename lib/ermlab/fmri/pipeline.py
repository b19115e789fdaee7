"""The preprocessing of section 4.1.3 of the thesis, from a raw series to rows of voxels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from nibabel.spatialimages import SpatialImage
from numpy.typing import NDArray

from ermlab.fmri.filters import high_pass, low_pass, scale_globally
from ermlab.fmri.images import (
    ImageLike,
    as_image,
    as_series,
    check_repetition_time,
    check_same_grid,
    voxels,
)
from ermlab.fmri.masking import brain_mask, checked_mask, smooth
from ermlab.fmri.normalization import normalize, tissue_templates
from ermlab.fmri.realignment import realign
from ermlab.fmri.timing import correct_slice_timing


@dataclass(frozen=True)
class Preprocessing:
    """What is done to a series, in this order; the defaults are those of the thesis."""

    repetition_time: float  #: seconds between volumes
    slice_times: Sequence[float] | None = None  #: seconds of each slice in a volume; None: no correction
    realign: bool = True  #: take out the head's motion
    template: ImageLike | None = None  #: image in MNI space onto whose grid the series goes; None: stays
    source: ImageLike | None = None  #: what is matched to the template; None: `mean_brain` of the series
    components: Sequence[ImageLike] | None = None  #: what it is matched to; None: `tissue_templates`
    mask: ImageLike | None = None  #: on the final grid; None: `brain_mask`
    fwhm: float = 6.0  #: of the smoothing, in millimetres
    scale: bool = True  #: every volume has the same mean
    high_pass: float | None = 512.0  #: seconds; None: drifts stay
    low_pass: bool = True  #: smooth in time as the haemodynamic response does


@dataclass(frozen=True)
class Preprocessed:
    """A series ready for learning."""

    series: NDArray[np.float32]  #: (volumes, voxels of the mask)
    mask: NDArray[np.bool_]  #: (x, y, z)
    affine: NDArray[np.float64]  #: voxel to millimetres
    motion: NDArray[np.float64]  #: (volumes, 6), as in `Realignment`; 0 without realignment


def preprocess(img: ImageLike, settings: Preprocessing) -> Preprocessed:
    """Run the chain of section 4.1.3: slices in time, motion, template, smoothing, mask, scale, filters."""
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
        mask = checked_mask(as_image(settings.mask, 3, "mask"))
        check_same_grid(img, mask)
    return voxels(mask) > 0
