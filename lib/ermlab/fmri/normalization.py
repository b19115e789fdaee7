"""Spatial normalization: affine registration to a template (thesis, section 4.1.3).

SPM continues with a warp of a few hundred cosine functions. It is left out: its stiffness would be a further
parameter, and differences of a few millimeters are covered by the smoothing that follows. Series that need
the warp should be normalized by other software.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from nilearn import image
from scipy import ndimage

from ermlab.fmri._registration import (
    AFFINE,
    SIMILARITY,
    Fixed,
    Matrix,
    Motion,
    Moving,
    NoOverlapError,
    grid_center,
    register,
    shifted,
    spline_coefficients,
)
from ermlab.fmri._splines_numba import reslice
from ermlab.fmri.images import (
    ImageLike,
    SpatialImage,
    as_image,
    as_series,
    check_same_grid,
    sigmas,
    volumes_first,
    voxels,
)
from ermlab.fmri.masking import brain_mask

#: Coarse to fine: family of motions, smoothing and distance of points in millimeters.
STAGES = ((SIMILARITY, 16.0, 8.0), (AFFINE, 16.0, 8.0), (AFFINE, 8.0, 4.0))
#: Share of the maximum of a smoothed template above which points are used: the brain and a rim around it.
RIM = 0.05
#: Largest movement of a point by the last step, in millimeters.
_TOL = 0.02


def normalize(
    img: ImageLike,
    template: ImageLike,
    *,
    source: ImageLike | None = None,
    components: Sequence[ImageLike] | None = None,
) -> SpatialImage:
    """Transform a series to the grid of a template by an affine motion and cubic splines.

    Voxels outside the series are 0. SPM's nonlinear warp is left out.

    Parameters
    ----------
    img : image or str or Path
        A series.
    template : image or str or Path
        Image that defines the grid and, without ``components``, the brain to match.
    source : image or str or Path, optional
        Image in the space of ``img`` that is registered, such as a skull-stripped anatomy; by default
        `mean_brain`.
    components : sequence of images, optional
        Images of which a mixture is matched, for series with another contrast than the template, as in SPM
        with several templates. `tissue_templates` returns those of the MNI brain.
    """
    img, template = as_series(img, min_volumes=1), as_image(template, 3, "template")
    source = mean_brain(img) if source is None else as_image(source, 3, "source")
    matrix = affine_to_template(source, components or [template])
    motion = (np.linalg.inv(img.affine) @ matrix @ template.affine)[:3]
    volumes = volumes_first(img)
    resliced = np.empty((len(volumes), *template.shape), dtype=np.float32)
    seen = np.ones(template.shape, dtype=bool)
    for volume, target in zip(volumes, resliced, strict=True):
        reslice(spline_coefficients(volume), motion, target, seen)
    resliced *= seen
    return image.new_img_like(img, np.moveaxis(resliced, 0, 3), affine=template.affine, copy_header=True)


def mean_brain(img: ImageLike) -> SpatialImage:
    """Return the mean volume of a series, 0 outside the brain.

    Templates show the brain only: with a scalp the brain would appear larger. The voxels around the mask are
    kept, since they hold parts of the brain, which would otherwise appear smaller.
    """
    img = as_series(img, min_volumes=1)
    mean = image.mean_img(img, copy_header=True)
    near = ndimage.binary_dilation(voxels(brain_mask(img)) > 0)
    return image.new_img_like(mean, voxels(mean) * near, copy_header=True)


def affine_to_template(source: ImageLike, template: ImageLike | Sequence[ImageLike]) -> Matrix:
    """Return the affine motion from millimeters of the template to those of the source.

    Least squares by Gauss-Newton steps, coarse to fine: a similarity, then twelve parameters on volumes
    smoothed by 16 mm, then by 8 mm. Of two starts, the affines of the images and their centers of mass, the
    better result is returned.

    Parameters
    ----------
    source : image or str or Path
        The image to register.
    template : image or str or Path, or sequence of these
        The target; of several images on one grid a mixture is matched.
    """
    source = as_image(source, 3, "source")
    several = list(template) if isinstance(template, list | tuple) else [template]
    templates = [as_image(component, 3, "template") for component in several]
    if not templates:
        raise ValueError("template is empty: expected an image, or several")
    for component in templates[1:]:
        check_same_grid(templates[0], component, "a further template")
    center = grid_center(templates[0].shape, templates[0].affine)
    starts = [np.eye(4), shifted(_center_of_mass(source) - _center_of_mass(*templates))]
    ends = []
    for start in starts:
        try:
            ends.append(_coarse_to_fine(source, templates, center, start))
        except NoOverlapError:
            continue
    if not ends:
        raise ValueError("source and template do not overlap: expected two whole brains")
    matrix = min(ends, key=lambda end: end[1])[0]
    return shifted(center) @ matrix @ shifted(-center)


def _coarse_to_fine(
    source: SpatialImage, templates: Sequence[SpatialImage], center: np.ndarray, matrix: Matrix
) -> tuple[Matrix, float]:
    """Return the motion found from a start, and the remaining dissimilarity."""
    unlike = np.inf
    for motion, fwhm, spacing in STAGES:
        fixed = _fixed(templates, center, motion, fwhm, spacing)
        moving = Moving(voxels(source), source.affine, center, fwhm)
        matrix, unlike = register(moving, fixed, matrix, _TOL)
    return matrix, unlike


@cache
def tissue_templates(resolution: int = 4) -> tuple[SpatialImage, ...]:
    """Return nilearn's maps of gray matter, white matter and the rest of the MNI brain."""
    from nilearn import datasets  # here, as it takes long to load

    gray, white = datasets.load_mni152_gm_template(resolution), datasets.load_mni152_wm_template(resolution)
    mask = datasets.load_mni152_brain_mask(resolution)
    rest = np.clip(voxels(mask) - voxels(gray) - voxels(white), 0, 1)
    return gray, white, image.new_img_like(gray, rest)


def _fixed(
    templates: Sequence[SpatialImage], center: np.ndarray, motion: Motion, fwhm: float, spacing: float
) -> Fixed:
    affine = templates[0].affine
    width = sigmas(fwhm, affine)
    smoothed = [ndimage.gaussian_filter(voxels(template), width, mode="nearest") for template in templates]
    total = sum(smoothed)
    return Fixed(smoothed, affine, center, motion, spacing, inside=total > RIM * total.max())


def _center_of_mass(*images: SpatialImage) -> np.ndarray:
    weights = np.clip(sum(voxels(img) for img in images), 0, None)
    if not weights.any():
        raise ValueError("an image has no voxel above 0: expected a brain to register")
    place = np.array(ndimage.center_of_mass(weights))
    affine = images[0].affine
    return affine[:3, :3] @ place + affine[:3, 3]
