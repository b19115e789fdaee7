"""Preprocessing of functional scans, the general linear model and maps of weights (thesis, chapter 4).

Images are NIfTI: objects of nibabel or names of files. Each step of the preprocessing, which follows SPM, is
a function; `preprocess` is the whole chain of the thesis.
"""

from ermlab._utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, extra="fmri")
