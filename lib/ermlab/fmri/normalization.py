"""Normalisation: a brain on the grid of a template (thesis, section 4.1.3).

SPM goes on with a warp of a few hundred cosine functions. It is left out: how stiff it is would be one more
thing to choose, and where twelve parameters leave two brains apart by some millimetres, the smoothing that
follows covers it. Who needs the warp brings series that are normalised already.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
from nibabel.spatialimages import SpatialImage
from nilearn.datasets import load_mni152_brain_mask, load_mni152_gm_template, load_mni152_wm_template
from nilearn.image import mean_img, new_img_like
from scipy import ndimage

from ermlab.fmri._registration import (
    AFFINE,
    SIMILARITY,
    Fixed,
    Matrix,
    Motion,
    Moving,
    NoOverlapError,
    grid_centre,
    register,
    shifted,
    spline_coefficients,
)
from ermlab.fmri._splines_numba import reslice
from ermlab.fmri.images import (
    ImageLike,
    as_image,
    as_series,
    check_same_grid,
    sigmas,
    volumes_first,
    voxels,
)
from ermlab.fmri.masking import brain_mask

#: Coarse to fine: family of motions, smoothing and distance of points in millimetres.
STAGES: tuple[tuple[Motion, float, float], ...] = (
    (SIMILARITY, 16.0, 8.0),
    (AFFINE, 16.0, 8.0),
    (AFFINE, 8.0, 4.0),
)
#: Share of a smoothed template's maximum above which points count: the brain and a rim around it.
RIM = 0.05
#: Millimetres by which the last step moves any point at most.
TOLERANCE = 0.02


def normalize(
    img: ImageLike,
    template: ImageLike,
    *,
    source: ImageLike | None = None,
    components: Sequence[ImageLike] | None = None,
) -> SpatialImage:
    """Bring a series onto the grid of a template by an affine motion, resliced by cubic splines.

    Voxels that the series does not show are 0. SPM's nonlinear part is left out; the module says why.

    Parameters
    ----------
    template
        Image that gives the grid and, without ``components``, the brain to match.
    source
        Image in the space of ``img`` that is matched, such as the anatomy without skull; None: `mean_brain`.
    components
        Images of which a mixture is matched, for series whose contrast is not the template's; as SPM does
        with several templates. `tissue_templates` gives those of the MNI brain.
    """
    img, template = as_series(img, least=1), as_image(template, 3, "template")
    source = mean_brain(img) if source is None else as_image(source, 3, "source")
    matrix = affine_to_template(source, components or [template])
    motion = (np.linalg.inv(img.affine) @ matrix @ template.affine)[:3]
    volumes = volumes_first(img)
    resliced = np.empty((len(volumes), *template.shape), dtype=np.float32)
    seen = np.ones(template.shape, dtype=bool)
    for volume, target in zip(volumes, resliced, strict=True):
        reslice(spline_coefficients(volume), motion, target, seen)
    resliced *= seen
    return new_img_like(img, np.moveaxis(resliced, 0, 3), affine=template.affine, copy_header=True)


def mean_brain(img: ImageLike) -> SpatialImage:
    """Return the mean volume of a series, 0 outside the brain.

    Templates show the brain alone: a scalp around it would be taken for a larger one. The voxels around the
    mask hold a part of the brain, without which it would be taken for a smaller one: they stay.
    """
    img = as_series(img, least=1)
    mean = mean_img(img, copy_header=True)
    near = ndimage.binary_dilation(voxels(brain_mask(img)) > 0)
    return new_img_like(mean, voxels(mean) * near, copy_header=True)


def affine_to_template(source: ImageLike, template: ImageLike | Sequence[ImageLike]) -> Matrix:
    """Return the affine motion from millimetres of the template to those of ``source``.

    Least squares by Gauss-Newton steps, coarse to fine: a similarity, then twelve parameters on volumes
    smoothed by 16 mm, then by 8 mm. Starts from where the files say that the brains lie, or from their
    centres of mass, whichever ends better.

    Parameters
    ----------
    template
        An image, or several on one grid of which a mixture is matched.
    """
    source = as_image(source, 3, "source")
    several = list(template) if isinstance(template, list | tuple) else [template]
    templates = [as_image(one, 3, "template") for one in several]
    if not templates:
        raise ValueError("template is empty: expected an image, or several")
    for one in templates[1:]:
        check_same_grid(templates[0], one, "a further template")
    centre = grid_centre(templates[0].shape, templates[0].affine)
    starts = [np.eye(4), shifted(_centre_of_mass(source) - _centre_of_mass(*templates))]
    ends = []
    for start in starts:
        try:
            ends.append(_coarse_to_fine(source, templates, centre, start))
        except NoOverlapError:
            continue
    if not ends:
        raise ValueError("source and template do not overlap: expected two whole brains")
    matrix = min(ends, key=lambda end: end[1])[0]
    return shifted(centre) @ matrix @ shifted(-centre)


def _coarse_to_fine(
    source: SpatialImage, templates: Sequence[SpatialImage], centre: np.ndarray, matrix: Matrix
) -> tuple[Matrix, float]:
    """Return the motion found from a start, and how unlike the brains stay."""
    unlike = np.inf
    for motion, fwhm, spacing in STAGES:
        fixed = _fixed(templates, centre, motion, fwhm, spacing)
        moving = Moving(voxels(source), source.affine, centre, fwhm)
        matrix, unlike = register(moving, fixed, matrix, TOLERANCE)
    return matrix, unlike


@cache
def tissue_templates(resolution: int = 4) -> tuple[SpatialImage, ...]:
    """Return nilearn's maps of grey matter, white matter and the rest of the MNI brain."""
    grey, white = load_mni152_gm_template(resolution), load_mni152_wm_template(resolution)
    mask = load_mni152_brain_mask(resolution)
    rest = np.clip(voxels(mask) - voxels(grey) - voxels(white), 0, 1)
    return grey, white, new_img_like(grey, rest)


def _fixed(
    templates: Sequence[SpatialImage], centre: np.ndarray, motion: Motion, fwhm: float, spacing: float
) -> Fixed:
    affine = templates[0].affine
    smoothed = [
        ndimage.gaussian_filter(voxels(one), sigmas(fwhm, affine), mode="nearest") for one in templates
    ]
    total = sum(smoothed)
    return Fixed(smoothed, affine, centre, motion, spacing, inside=total > RIM * total.max())


def _centre_of_mass(*images: SpatialImage) -> np.ndarray:
    weights = np.clip(sum(voxels(img) for img in images), 0, None)
    if not weights.any():
        raise ValueError("an image has no voxel above 0: expected a brain to register")
    place = np.array(ndimage.center_of_mass(weights))
    affine = images[0].affine
    return affine[:3, :3] @ place + affine[:3, 3]
