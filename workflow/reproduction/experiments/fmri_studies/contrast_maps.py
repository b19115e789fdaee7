"""Contrast maps of a study of two groups, one per subject, as SPM computes them (thesis, 4.2.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import nibabel as nib
import numpy as np
import pandas as pd
from nilearn.datasets import load_mni152_brain_mask, load_mni152_template
from nilearn.image import new_img_like, resample_to_img
from nilearn.masking import unmask
from numpy.typing import NDArray

from ermlab._utils.array_files import ArrayFile
from ermlab.fmri import Preprocessing, excessive_motion, first_level, preprocess, reference_time
from reproduction.datasets.drug_stroop import WORDS, DrugStroop, Subject

_MOTION = ("x", "y", "z", "about x", "about y", "about z")


@dataclass(frozen=True)
class ContrastMaps(ArrayFile):
    """Maps on one mask, with group and motion of each subject."""

    maps: NDArray[np.float32]  #: (subjects, voxels), in percent of the mean signal
    mask: NDArray[np.bool_]  #: (x, y, z)
    affine: NDArray[np.float64]  #: voxel to millimeters
    group: NDArray[np.str_]
    region: NDArray[np.bool_]  #: voxels of the region where the simulated groups differ
    motion: NDArray[np.float64]  #: (subjects, 2): largest translation in mm, largest rotation in degrees
    kept: NDArray[np.bool_]  #: subjects who moved by less than 2 mm and 2 degrees


def prepare_contrasts(data: DrugStroop, subjects: Sequence[Subject], fwhm: float) -> ContrastMaps:
    """Preprocess the series of subjects and fit the general linear model: words against rest.

    The maps are on the template's grid at the resolution of the scan, NaN where a series is constant. The
    six motion parameters are confounds of the model.
    """
    resolution = int(np.round(np.min(nib.load(data.subjects[0].bold).header.get_zooms()[:3])))
    mask = load_mni152_brain_mask(resolution=resolution)
    template = load_mni152_template(resolution=resolution)
    maps, motions = zip(
        *(_contrast_map(subject, data, template, mask, fwhm) for subject in subjects), strict=True
    )
    inside = np.asarray(mask.dataobj) > 0
    region = resample_to_img(
        data.region, mask, interpolation="nearest", copy_header=True, force_resample=True
    )
    return ContrastMaps(
        np.stack(maps),
        inside,
        np.asarray(mask.affine),
        np.array([subject.group for subject in subjects]),
        (np.asarray(region.dataobj) > 0)[inside],
        np.array([[np.abs(part).max() for part in (motion[:, :3], motion[:, 3:])] for motion in motions]),
        np.array([not excessive_motion(motion) for motion in motions]),
    )


def join_contrasts(parts: Sequence[ContrastMaps]) -> ContrastMaps:
    """Return the subjects of all parts, in order, on the voxels where every map is finite."""
    first = parts[0]
    for part in parts:
        if not (np.array_equal(part.mask, first.mask) and np.array_equal(part.affine, first.affine)):
            raise ValueError(f"masks of {part.mask.sum()} and {first.mask.sum()} voxels: expected one grid")
    maps = np.concatenate([part.maps for part in parts])
    common = np.isfinite(maps).all(axis=0)
    if not common.any():
        raise ValueError(f"no voxel is common to all {len(maps)} subjects: expected overlapping brains")
    mask = first.mask.copy()
    mask[first.mask] = common
    return ContrastMaps(
        np.ascontiguousarray(maps[:, common]),
        mask,
        first.affine,
        np.concatenate([part.group for part in parts]),
        first.region[common],
        np.concatenate([part.motion for part in parts]),
        np.concatenate([part.kept for part in parts]),
    )


def _contrast_map(
    subject: Subject,
    data: DrugStroop,
    template: nib.Nifti1Image,
    mask: nib.Nifti1Image,
    fwhm: float,
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return the map of a subject on the mask, and its motion (volumes, 6)."""
    scan = preprocess(
        subject.bold,
        Preprocessing(
            repetition_time=data.repetition_time,
            slice_times=data.slice_times,
            template=template,
            mask=mask,
            fwhm=fwhm,
            # The model scales the series itself, and has its own drift and noise terms.
            scale=False,
            high_pass=None,
            low_pass=False,
        ),
    )
    varies = np.ptp(scan.series, axis=0) > 0
    fitted = new_img_like(mask, _volume(varies, scan.mask).astype(np.uint8))
    contrast = first_level(
        unmask(scan.series[:, varies], fitted),
        data.events,
        {"words": WORDS},
        repetition_time=data.repetition_time,
        mask=fitted,
        confounds=_confounds(scan.motion),
        reference_time=reference_time(data.slice_times),
    )["words"]
    values = np.asarray(contrast.dataobj, dtype=np.float32)[scan.mask]
    return np.where(varies, values, np.float32(np.nan)), scan.motion


def _volume(values: NDArray, mask: NDArray[np.bool_]) -> NDArray:
    """Return a volume with the values on the voxels of a mask and 0 elsewhere."""
    volume = np.zeros(mask.shape, dtype=values.dtype)
    volume[mask] = values
    return volume


def _confounds(motion: NDArray[np.float64]) -> pd.DataFrame | None:
    """Return the motion parameters that vary, each centered."""
    columns: Mapping[str, Sequence[float]] = {
        name: values - values.mean() for name, values in zip(_MOTION, motion.T, strict=True) if np.ptp(values)
    }
    return pd.DataFrame(columns) if columns else None
