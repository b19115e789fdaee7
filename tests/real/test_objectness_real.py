"""The windows and cues of the cascade on photographs: they find objects better than chance."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from ermlab.detection.boxes import best_overlap
from reproduction.datasets.voc2007_sample import read_voc2007_sample
from reproduction.experiments.window_cascade.objectness import (
    CUES,
    ImageCues,
    WindowPrior,
    initial_windows,
    superpixels,
)


@pytest.fixture(scope="module")
def scored(acquired):
    """Best overlap of each object with 10,000 windows; cues and overlaps of the windows in each image."""
    data = read_voc2007_sample(acquired("voc2007_sample"))
    shapes = [image.shape[:2] for image in data.images]
    prior = WindowPrior.fit(data.boxes[::2], shapes[::2])
    recalled, cues, overlaps = [], [], []
    for i in range(1, len(shapes), 10):
        image, truth = data.images[i], data.boxes[i]
        labels = superpixels(image)
        windows = initial_windows(image, prior, 10_000, np.random.default_rng(i), labels)
        recalled.extend(best_overlap(truth, windows))
        cues.append(ImageCues(image, labels)(windows))
        overlaps.append(best_overlap(windows, truth))
    return np.array(recalled), cues, overlaps


def test_most_objects_are_among_ten_thousand_windows(scored):
    recalled, _, _ = scored
    assert np.mean(recalled >= 0.5) > 0.85


@pytest.mark.parametrize("cue", CUES)
def test_each_cue_tells_objects_from_the_rest(scored, cue):
    _, cues, overlaps = scored
    k = CUES.index(cue)
    areas = [
        roc_auc_score(o >= 0.5, X[:, k]) for X, o in zip(cues, overlaps, strict=True) if (o >= 0.5).any()
    ]
    assert len(areas) >= 8
    assert np.mean(areas) > 0.55
