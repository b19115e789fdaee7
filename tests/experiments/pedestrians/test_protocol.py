"""What the pedestrian experiment trains on."""

import numpy as np
import pytest

from ermlab.features.hog_crops import HogLayout, small_hog
from ermlab.metrics.detection import roc_equal_error_rate
from ermlab.ranking.invariant_ranking import InvariantRankingSVM
from ermlab.structured.invariant import InvariantSVM
from reproduction.datasets.daimler_pedestrians import CropSet
from reproduction.experiments.pedestrians.protocol import (
    GROUPED,
    METHODS,
    PreparedSet,
    error,
    group_training,
    grouping_counts,
    layout_of,
    train,
    used_pedestrians,
)

LAYOUT = HogLayout(levels=((4, 2),), blocks=(2, 1), orientations=4)
LABELS = np.repeat([1, -1], [6, 10])


@pytest.fixture
def bags():
    rng = np.random.default_rng(0)
    return (rng.normal(size=(16, 18, 5)) + 0.8 * LABELS[:, None, None]).astype(np.float32)


@pytest.fixture
def crops():
    rng = np.random.default_rng(1)
    return CropSet(*(rng.integers(256, size=(n, 36, 18), dtype=np.uint8) for n in (24, 7)))


def test_a_prepared_set_keeps_base_images_and_others(tmp_path, crops):
    PreparedSet.prepare(tmp_path, crops, LAYOUT, pedestrians=3, others=5)
    prepared = PreparedSet(tmp_path, LAYOUT)
    assert np.array_equal(prepared.pedestrians, crops.pedestrians[[0, 6, 12]])
    assert prepared.labels.tolist() == [1] * 3 + [-1] * 5
    expected = np.concatenate([crops.base[:3], crops.others[:5]])
    assert np.array_equal(prepared.crops, expected)
    assert np.array_equal(prepared.store().features(), small_hog(expected, LAYOUT))
    assert np.array_equal(prepared.store("crop").features(), small_hog(expected[:, 1:-1, 1:-1], LAYOUT))


def test_a_layout_is_that_of_the_configuration():
    values = {"levels": [[4, 2]], "blocks": [2, 1], "orientations": 4, "root": True, "tol": 1}
    assert layout_of(values) == LAYOUT


@pytest.mark.parametrize("name", METHODS)
def test_methods_use_their_versions_their_risk_and_their_choice(name, bags):
    method = METHODS[name]
    n = {"none": 1, "flip": 2, "all": 18}[method.versions]
    model = train(method, bags, LABELS, 2.0, 1e-4)
    if method.kind == "ranking":
        expected = InvariantRankingSVM(2.0, tol=1e-4).fit(bags[:, :n], LABELS)
    else:
        svm = InvariantSVM(2.0, tol=1e-4, fit_intercept=True, choice="mean" if "mean" in name else "worst")
        expected = svm.fit(bags[:, :n], LABELS)
    assert np.array_equal(model.coef_, expected.coef_)


def test_groups_of_pedestrians_become_samples():
    groups = np.array([0, 1, 0, 2, 1, 0])
    natural = group_training(LABELS, groups, natural=True)
    assert natural.crops.tolist() == list(range(16))
    assert natural.groups.tolist() == [0, 1, 0, 2, 1, 0, *range(3, 13)]
    assert natural.y.tolist() == [1] * 3 + [-1] * 10
    alone = group_training(LABELS, groups, natural=False)
    assert alone.crops.tolist() == [0, 1, 3, *range(6, 16)]
    assert alone.groups.tolist() == list(range(13))
    assert np.array_equal(alone.y, natural.y)


@pytest.mark.parametrize("kind", GROUPED)
def test_every_image_alone_is_the_method_without_groups(kind, bags):
    method = METHODS[GROUPED[kind]]
    training = group_training(LABELS, np.arange(6), natural=True)
    grouped = train(method, bags[training.crops], training.y, 2.0, 1e-4, training.groups)
    assert np.array_equal(grouped.coef_, train(method, bags, LABELS, 2.0, 1e-4).coef_)


@pytest.mark.parametrize("kind", GROUPED)
def test_used_pedestrians_are_images_not_versions(kind, bags):
    groups = np.array([0, 0, 0, 1, 1, 1])
    for natural, most in ((False, 2), (True, 6)):
        training = group_training(LABELS, groups, natural=natural)
        model = train(METHODS[GROUPED[kind]], bags[training.crops], training.y, 2.0, 1e-4, training.groups)
        by_hand = {
            training.crops[row // 18] for row in np.flatnonzero(model.used_) if training.crops[row // 18] < 6
        }
        assert used_pedestrians(model, training, 18) == len(by_hand)
        assert 2 <= len(by_hand) <= most


def test_error_is_the_equal_error_rate_in_percent():
    scores = np.random.default_rng(2).normal(size=16) + LABELS
    assert error(LABELS, scores) == 100 * roc_equal_error_rate(LABELS, scores)


def test_counts_of_groups():
    assert grouping_counts(800, [1, 0.5, 0.25, 0.1]) == [800, 400, 200, 80]
    assert grouping_counts(3, [1, 0.1]) == [3, 1]
