"""Kernel canonical correlation analysis with Laplacian regularization (thesis, section 4.1)."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "laplacian_kcca": ["LaplacianKCCA", "column_correlations"],
        "laplacians": ["centering_laplacian", "median_distance", "normalized_laplacian"],
        "selection": ["Holdout", "LaplacianKCCACV", "contiguous_folds", "holdout_correlations"],
    },
)
