"""Smoothing in space, and which voxels are brain: both by nilearn."""

import numpy as np
from nibabel.spatialimages import SpatialImage
from nilearn.image import mean_img, new_img_like, smooth_img
from nilearn.masking import compute_brain_mask, compute_epi_mask
from scipy import ndimage

from ermlab.fmri.images import ImageLike, as_series, check_fwhm, voxel_sizes

#: Voxels larger than this many millimetres leave too few of them for two rounds of opening.
COARSE = 4.0


def smooth(img: ImageLike, fwhm: float) -> SpatialImage:
    """Smooth each volume by a Gaussian of ``fwhm`` millimetres full width at half maximum; 0 leaves it."""
    img = as_series(img, least=1)
    fwhm = check_fwhm(fwhm, img.affine)
    return smooth_img(img, fwhm) if fwhm else img


def brain_mask(img: ImageLike, *, standard: bool = False) -> SpatialImage:
    """Return which voxels are brain: nilearn's mask of echo-planar series.

    Parameters
    ----------
    standard
        The series is in MNI space: voxels outside nilearn's MNI brain, eyes and skull among them, are taken
        away.
    """
    img = as_series(img, least=1)
    opening = 2 if voxel_sizes(img.affine).max() <= COARSE else 1
    mean = mean_img(img, copy_header=True)
    if np.ptp(mean.get_fdata()) == 0:
        raise ValueError("the mean of the image is the same in all voxels: expected a brain to mask")
    inside = compute_epi_mask(mean, opening=opening).get_fdata() > 0
    if standard:
        inside &= compute_brain_mask(mean, opening=False).get_fdata() > 0
    return checked_mask(new_img_like(mean, ndimage.binary_fill_holes(inside).astype(np.uint8)))


def checked_mask(mask: SpatialImage) -> SpatialImage:
    """Return the mask unless it is empty."""
    if not np.any(mask.get_fdata()):
        raise ValueError("the mask is empty: expected at least one voxel of brain")
    return mask
