"""Normalisation: a brain on the grid of a template (thesis, section 4.1.3).

SPM goes on with a warp of a few hundred cosine functions. It is left out: how stiff it is would be one more
thing to choose, and where twelve parameters leave two brains apart by some millimetres, the smoothing that
follows covers it. Who needs the warp brings series that are normalised already.
"""

from collections.abc import Sequence

import numpy as np
from nibabel.spatialimages import SpatialImage
from nilearn.datasets import load_mni152_brain_mask, load_mni152_gm_template, load_mni152_wm_template
from nilearn.image import mean_img, new_img_like, resample_img
from scipy import ndimage

from ermlab.features.fmri._images import ImageLike, as_image, as_series, sigmas, voxels
from ermlab.features.fmri._registration import (
    AFFINE,
    SIMILARITY,
    Fixed,
    Matrix,
    Motion,
    Moving,
    grid_centre,
    register,
    shifted,
)

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


def normalise(
    img: ImageLike,
    template: ImageLike,
    *,
    source: ImageLike | None = None,
    components: Sequence[ImageLike] | None = None,
) -> SpatialImage:
    """Bring a series onto the grid of a template by an affine motion, resliced by cubic splines.

    SPM's nonlinear part is left out; the module says why.

    Parameters
    ----------
    template
        Image that gives the grid and, without ``components``, the brain to match.
    source
        Image in the space of ``img`` that is matched, such as the anatomy; None: the mean of ``img``.
    components
        Images of which a mixture is matched, for series whose contrast is not the template's; as SPM does
        with several templates. `tissue_templates` gives those of the MNI brain.
    """
    img, template = as_series(img, least=1), as_image(template, 3, "template")
    source = mean_img(img, copy_header=True) if source is None else as_image(source, 3, "source")
    matrix = affine_to_template(source, components or [template])
    moved = new_img_like(img, voxels(img), affine=np.linalg.inv(matrix) @ img.affine, copy_header=True)
    return resample_img(
        moved,
        target_affine=template.affine,
        target_shape=template.shape,
        interpolation="continuous",
        order="C",
    )


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
    for one in templates[1:]:
        if one.shape != templates[0].shape or not np.allclose(one.affine, templates[0].affine):
            raise ValueError(f"templates have shapes {[t.shape for t in templates]}: expected one grid")
    affine, centre = templates[0].affine, grid_centre(templates[0].shape, templates[0].affine)
    starts = [np.eye(4), shifted(_centre_of_mass(source) - _centre_of_mass(*templates))]
    ends = []
    for start in starts:
        matrix = start
        try:
            for motion, fwhm, spacing in STAGES:
                fixed = _fixed(templates, affine, centre, motion, fwhm, spacing)
                moving = Moving(voxels(source), source.affine, centre, fwhm)
                matrix, unlike = register(moving, fixed, matrix, TOLERANCE)
        except ValueError as error:  # brains that do not overlap from this start
            failure = error
            continue
        ends.append((unlike, matrix))
    if not ends:
        raise ValueError(f"source and template do not match: {failure}")
    matrix = min(ends, key=lambda end: end[0])[1]
    return shifted(centre) @ matrix @ shifted(-centre)


def tissue_templates(resolution: int = 4) -> list[SpatialImage]:
    """Return nilearn's maps of grey matter, white matter and the rest of the MNI brain."""
    grey, white = load_mni152_gm_template(resolution), load_mni152_wm_template(resolution)
    mask = load_mni152_brain_mask(resolution)
    rest = np.clip(voxels(mask) - voxels(grey) - voxels(white), 0, 1)
    return [grey, white, new_img_like(grey, rest)]


def _fixed(templates, affine, centre, motion, fwhm, spacing) -> Fixed:
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
