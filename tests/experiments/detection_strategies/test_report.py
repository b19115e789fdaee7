"""Sentences about strategies, on results counted by hand."""

import pandas as pd

from reproduction.experiments.detection_strategies.report import area_text, sample_text, searches_text

STRATEGIES = pd.DataFrame(
    {
        "gamma": [0.25] * 3 + [0.5] * 3,
        "class": ["cat", "bus", "cow"] * 2,
        "box_area": [0.1, 0.2, 0.3] * 2,
        "all_reset": [3.0, 2.0, 1.0, 1.5, 2.5, 3.5],
        "no_reset": [1.0, 1.0, 1.0, 1.1, 1.3, 1.2],
    }
)


def test_sizes_of_boxes():
    text = area_text(STRATEGIES)
    assert r"always resetting is -1.00 for $\gamma = 0.25$, +1.00 for $\gamma = 0.5$." in text
    assert (
        r"never resetting is +0.50 for $\gamma = 0.5$." in text
    )  # for the first gamma all costs are the same
    assert "cow, bus, cat: always resetting costs 1.50 to 3.50 times" in text
    assert "medians are 2.50 and 1.20." in text


def test_searches():
    ratios = {"no_reset_ratio": {"median": [1.0, 1.02]}}
    values = {
        "splits_without_reset": [1000, 2000],
        "tight": {"splits_without_reset": [10, 10], **ratios},
        "places": {"splits_without_reset": [500, 500], **ratios},
    }
    text = searches_text(values)
    assert "With the tight bound ten detections need 1, 0.5 % of the splits" in text
    assert "whole places ten detections need 50, 25 % of the splits" in text
    assert "up to 2.0 % more" in text


def test_sample():
    values = {"pairs_present": 30, "classes": 20, "test_images": 32, "found_share": 0.25}
    text = sample_text(values, 0.0123)
    assert "in 1.5 of 32 test images" in text
    assert "cover 25 % of the objects" in text
    assert "takes 12.3 ms" in text
