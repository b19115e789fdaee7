"""Contrast maps of a study of two groups, a map a subject, as SPM makes them (thesis, section 4.2.2)."""

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
    """Maps on one mask, and what is known of each subject."""

    maps: NDArray[np.float32]  #: (subjects, voxels), percent of the mean signal
    mask: NDArray[np.bool_]  #: (x, y, z)
    affine: NDArray[np.float64]  #: voxel to millimetres
    group: NDArray[np.str_]
    region: NDArray[np.bool_]  #: voxels of the region where the simulated groups differ
    motion: NDArray[np.float64]  #: (subjects, 2): largest translation in mm, largest rotation in degrees
    kept: NDArray[np.bool_]  #: subjects who moved by less than 2 mm and 2 degrees


def prepare_contrasts(data: DrugStroop, subjects: Sequence[Subject], fwhm: float) -> ContrastMaps:
    """Put the series of some subjects through preprocessing and general linear model: words against rest.

    The maps lie on the template's grid of like voxels, NaN where a series shows nothing. The six motion
    parameters are in the model.
    """
    resolution = int(np.round(np.min(nib.load(data.subjects[0].bold).header.get_zooms()[:3])))
    mask = load_mni152_brain_mask(resolution=resolution)
    template = load_mni152_template(resolution=resolution)
    done = [_contrast_map(subject, data, template, mask, fwhm) for subject in subjects]
    motions = [motion for _, motion in done]
    inside = np.asarray(mask.dataobj) > 0
    region = resample_to_img(
        data.region, mask, interpolation="nearest", copy_header=True, force_resample=True
    )
    return ContrastMaps(
        np.stack([found for found, _ in done]),
        inside,
        np.asarray(mask.affine),
        np.array([subject.group for subject in subjects]),
        (np.asarray(region.dataobj) > 0)[inside],
        np.array([[np.abs(part).max() for part in (motion[:, :3], motion[:, 3:])] for motion in motions]),
        np.array([not excessive_motion(motion) for motion in motions]),
    )


def join_contrasts(parts: Sequence[ContrastMaps]) -> ContrastMaps:
    """Return the subjects of all parts, in their order, on the voxels that all of them show."""
    first = parts[0]
    for part in parts:
        if not (np.array_equal(part.mask, first.mask) and np.array_equal(part.affine, first.affine)):
            raise ValueError(f"masks of {part.mask.sum()} and {first.mask.sum()} voxels: expected one grid")
    maps = np.concatenate([part.maps for part in parts])
    shown = np.isfinite(maps).all(axis=0)
    if not shown.any():
        raise ValueError(f"no voxel is shown by all of {len(maps)} subjects: expected a brain in common")
    mask = first.mask.copy()
    mask[first.mask] = shown
    return ContrastMaps(
        np.ascontiguousarray(maps[:, shown]),
        mask,
        first.affine,
        np.concatenate([part.group for part in parts]),
        first.region[shown],
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
    """Return one subject's map on the mask, and its motion (volumes, 6)."""
    done = preprocess(
        subject.bold,
        Preprocessing(
            repetition_time=data.repetition_time,
            slice_times=data.slice_times,
            template=template,
            mask=mask,
            fwhm=fwhm,
            # The model scales the whole series by one number and has its own drifts and noise.
            scale=False,
            high_pass=None,
            low_pass=False,
        ),
    )
    shown = np.ptp(done.series, axis=0) > 0
    fitted = new_img_like(mask, _volume(shown, done.mask).astype(np.uint8))
    found = first_level(
        unmask(done.series[:, shown], fitted),
        data.events,
        {"words": WORDS},
        repetition_time=data.repetition_time,
        mask=fitted,
        confounds=_confounds(done.motion),
        reference_time=reference_time(data.slice_times),
    )["words"]
    values = np.asarray(found.dataobj, dtype=np.float32)[done.mask]
    return np.where(shown, values, np.float32(np.nan)), done.motion


def _volume(values: NDArray, mask: NDArray[np.bool_]) -> NDArray:
    """Put the value of each voxel of a mask into a volume that is 0 elsewhere."""
    volume = np.zeros(mask.shape, dtype=values.dtype)
    volume[mask] = values
    return volume


def _confounds(motion: NDArray[np.float64]) -> pd.DataFrame | None:
    """Return the motion parameters that vary, each centred."""
    columns: Mapping[str, Sequence[float]] = {
        name: values - values.mean() for name, values in zip(_MOTION, motion.T, strict=True) if np.ptp(values)
    }
    return pd.DataFrame(columns) if columns else None
