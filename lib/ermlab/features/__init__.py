"""Image features: dense SURF, histograms of oriented gradients, rotated patches, visual words."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "hog_cells": ["hog"],
        "hog_crops": ["HogLayout", "small_hog"],
        "patches": ["Region", "RegionGrids", "turned", "turned_patch"],
        "surf": ["dense_surf", "describe", "grid_points"],
        "words": ["Vocabulary", "histogram", "n_cells"],
    },
)
