"""Preprocessing of functional scans, the general linear model and maps of weights (thesis, chapter 4).

Images are NIfTI: objects of nibabel or names of files. Each step of the preprocessing, which follows SPM, is
a function; `preprocess` is the whole chain of the thesis.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "clusters": [
            "chance_cluster_size",
            "cluster_sizes",
            "heaviest_slices",
            "largest_weights",
            "mean_cluster_size",
        ],
        "filters": ["high_pass", "low_pass", "scale_globally"],
        "glm": ["first_level", "pooled_autocorrelation"],
        "masking": ["brain_mask", "smooth"],
        "normalization": ["affine_to_template", "mean_brain", "normalize", "tissue_templates"],
        "pipeline": ["Preprocessed", "Preprocessing", "preprocess"],
        "plotting": ["InteractiveMap", "interactive_map", "threshold_image", "to_image", "weight_map_figure"],
        "realignment": ["Realignment", "excessive_motion", "realign"],
        "timing": ["correct_slice_timing", "reference_time"],
        "volumes": ["Volume", "open_image", "read_volume"],
        "voxel_graphs": ["maps_to_graphs", "neighbor_graph", "voxel_coordinates"],
        "weight_maps": ["target_share", "threshold_level", "threshold_weights"],
    },
)
