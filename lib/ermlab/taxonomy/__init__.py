"""Taxonomies of classes: trees, their covariances, and SVMs that use them (thesis, section 5.2)."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "learning": [
            "class_covariance",
            "hsic",
            "hsic_cov",
            "learn_edge_lengths",
            "learn_taxonomy",
            "optimal_covariance",
        ],
        "plotting": [
            "colors_by_group",
            "draw_taxonomy",
            "leaf_order",
            "plot_rerooting",
            "plot_taxonomies",
            "rerooting_rows",
        ],
        "taxonomic_svm": ["TaxonomicSVM"],
        "tree": ["Taxonomy", "robinson_foulds", "shuffled"],
        "tree_fitting": ["average_linkage", "nearest_tree", "neighbor_joining"],
        "tree_matrices": ["centered", "four_point_violation", "tree_covariance", "tree_metric", "unit_trace"],
    },
)
