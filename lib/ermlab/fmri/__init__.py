"""Preprocessing of functional scans as SPM does it, and the general linear model (thesis, 4.1.3 and 4.2.2).

Images are NIfTI: nibabel's objects or the names of files. Every step is a function of its own;
`preprocess` is the chain of the thesis.
"""

from ermlab.fmri.filters import high_pass, low_pass, scale_globally
from ermlab.fmri.glm import first_level
from ermlab.fmri.masking import brain_mask, smooth
from ermlab.fmri.normalization import affine_to_template, mean_brain, normalize, tissue_templates
from ermlab.fmri.pipeline import Preprocessed, Preprocessing, preprocess
from ermlab.fmri.realignment import Realignment, excessive_motion, realign
from ermlab.fmri.timing import correct_slice_timing, reference_time

__all__ = [
    "Preprocessed",
    "Preprocessing",
    "Realignment",
    "affine_to_template",
    "brain_mask",
    "correct_slice_timing",
    "excessive_motion",
    "first_level",
    "high_pass",
    "low_pass",
    "mean_brain",
    "normalize",
    "preprocess",
    "realign",
    "reference_time",
    "scale_globally",
    "smooth",
    "tissue_templates",
]
