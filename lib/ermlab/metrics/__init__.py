"""Metrics that scikit-learn does not have: detections, rankings, and comparisons on random splits."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "detection": [
            "DetectionCurve",
            "average_precision",
            "best_overlap_at",
            "detection_curve",
            "ellipse_agreement",
            "equal_error_rate",
            "match_detections",
            "recall_area",
            "recall_at_false_positives",
            "recall_overlap",
            "roc_equal_error_rate",
        ],
        "ranking": ["ndcg"],
        "resampling": [
            "TestResult",
            "corrected_t_test",
            "permutation_result",
            "permutation_test",
            "wilcoxon_test",
        ],
        "splits": ["Sampling", "Split"],
    },
)
