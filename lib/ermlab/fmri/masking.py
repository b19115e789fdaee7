"""Spatial smoothing and brain masks, by nilearn."""

from __future__ import annotations

import numpy as np
from nilearn import image, masking
from scipy import ndimage

from ermlab.fmri.images import ImageLike, SpatialImage, as_series, check_fwhm, voxel_sizes

#: Size of voxels in millimeters above which there are too few for two rounds of opening.
COARSE = 4.0


def smooth(img: ImageLike, fwhm: float) -> SpatialImage:
    """Smooth each volume by a Gaussian.

    Parameters
    ----------
    img : image or str or Path
        A series.
    fwhm : float
        Full width at half maximum in millimeters; 0 for no smoothing.
    """
    img = as_series(img, min_volumes=1)
    fwhm = check_fwhm(fwhm, img.affine)
    return image.smooth_img(img, fwhm) if fwhm else img


def brain_mask(img: ImageLike, *, standard: bool = False) -> SpatialImage:
    """Return the mask of the brain that nilearn computes for echo-planar series.

    Parameters
    ----------
    img : image or str or Path
        A series.
    standard : bool, default=False
        Whether the series is in MNI space: voxels outside nilearn's MNI brain, such as eyes, are removed.
    """
    img = as_series(img, min_volumes=1)
    opening = 2 if voxel_sizes(img.affine).max() <= COARSE else 1
    mean = image.mean_img(img, copy_header=True)
    if np.ptp(mean.get_fdata()) == 0:
        raise ValueError("the mean of the image is the same in all voxels: expected a brain to mask")
    inside = masking.compute_epi_mask(mean, opening=opening).get_fdata() > 0
    if standard:
        inside &= masking.compute_brain_mask(mean, opening=False).get_fdata() > 0
    return check_mask(image.new_img_like(mean, ndimage.binary_fill_holes(inside).astype(np.uint8)))


def check_mask(mask: SpatialImage) -> SpatialImage:
    """Return the mask unless it is empty."""
    if not np.any(mask.get_fdata()):
        raise ValueError("the mask is empty: expected at least one voxel of brain")
    return mask
