"""Kernels of graphs, histograms and windows, and feature maps for them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "histogram": [
            "chi2_distances",
            "chi2_kernel",
            "exponential_chi2_kernel",
            "intersection_kernel",
            "median_gamma",
        ],
        "polynomial": ["n_features", "polynomial_features", "polynomial_kernel"],
        "pyramid": ["PyramidQuantizer", "PyramidWL"],
        "slot": ["SlotMap", "score_windows", "sum_of_features", "window_descriptors", "windows_shape"],
        "sparse_histogram": [
            "generalized_gaussian",
            "median_distance",
            "sparse_chi2_distances",
            "sparse_chi2_kernel",
        ],
        "tu_files": ["GraphSet", "read_tu"],
        "weisfeiler_lehman": [
            "SubtreeVocabulary",
            "WeisfeilerLehman",
            "WeisfeilerLehmanKernel",
            "linear_kernel",
            "subtree_features",
        ],
    },
)
