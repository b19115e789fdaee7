"""Object detection: exact search over all boxes of an image, and models of boxes (thesis, 3.1 and 5.1).

`search` and `detect` take weighted points; `best_box` and `best_boxes` take any `Quality` of boxes; `BoxTask`
learns the weights from annotated boxes with `ermlab.structured.StructuredSVM`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "box_task": ["BagOfWords", "BoxTask"],
        "box_words": [
            "BoxSamples",
            "background_boxes",
            "cross_validate",
            "halve_images",
            "sample_boxes",
            "share_images",
            "train_one_against_rest",
            "words_at_points",
        ],
        "boxes": ["as_boxes", "as_boxes_inside", "best_overlap", "overlap", "suppress"],
        "location": ["EquivariantLocationTask", "LocationTask", "RegionRotation", "rotations"],
        "qualities": ["Quality", "histogram", "linear", "loss_augmented", "pyramid"],
        "strategy": ["Strategy", "best_strategy", "count_splits", "measure_costs", "strategy_cost"],
        "subwindow": [
            "Detection",
            "Detector",
            "best_box",
            "best_box_of_each",
            "best_boxes",
            "detect",
            "search",
            "set_around",
        ],
        "word_grids": ["WordGrid", "learn_words", "load_word_grids", "save_word_grids", "word_grid"],
    },
)
