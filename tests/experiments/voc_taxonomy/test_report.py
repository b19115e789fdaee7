"""Sentences about VOC classes, on results counted by hand."""

from reproduction.claims.results import repeated
from reproduction.experiments.voc_taxonomy.report import area_text, sample_text

VALUES = {
    "classes": ["cat", "dog"],
    "train_images": [30, 31],
    "descriptions": ["whole image", "image and quarters", "whole image"],
    "classes_worse": 1,
    "auc": {
        "learned": [repeated([0.7]), repeated([0.6])],
        "semantic": [repeated([0.6]), repeated([0.9])],
    },
    "mean_auc": {
        "learned": repeated([0.65]),
        "semantic": repeated([0.75]),
        "multiclass": repeated([0.7]),
        "permuted": repeated([0.6]),
        "learned_topology": repeated([0.55]),
    },
    "learned_trees": {"distance": 0.9, "permuted": 1.0},
}


def test_areas():
    text = area_text(VALUES)
    assert "semantic one is -0.100. It is larger for 1 of 2 classes, and significantly smaller for 1." in text
    assert "without a taxonomy it is -0.050, and minus that with shuffled classes +0.050." in text
    assert "minus the learned taxonomy: -0.100." in text


def test_sample():
    text = sample_text(VALUES)
    assert (
        "Of 3 orders, the selection on the scoring images takes the image and quarters in 1 and the whole"
        in text
    )
    assert "trained on 31 images for 2 classes" in text
    assert "mean area is 0.700" in text
    assert "in 90 % of their splits, with shuffled classes in 100 %: the images do not determine" in text
    assert "images do determine" in sample_text(VALUES | {"learned_trees": {"distance": 0.5, "permuted": 1}})
