"""Learning to track: losses and risks against the enumeration of all assignments of small pairs of frames."""

import numpy as np
import pytest

from ermlab.optimize import L2, cccp
from ermlab.structured.risk import StructuredRisk
from ermlab.structured.structured_svm import StructuredSVM
from ermlab.tracking.task import PartialTrackingRisk, TrackingTask, augmented, missed_share


@pytest.fixture(scope="module")
def samples(few_cells):
    return few_cells(0)


@pytest.fixture(scope="module")
def outputs(samples, all_assignments):
    """All assignments of each sample."""
    return [all_assignments(sample.hypotheses) for sample in samples]


@pytest.fixture(scope="module")
def truths(outputs):
    return [every[len(every) // 2] for every in outputs]


@pytest.fixture
def w(samples):
    return np.random.default_rng(1).normal(size=samples[0].hypotheses.dimension)


def test_the_loss_is_the_share_of_true_events_that_are_missed(samples, outputs, truths):
    task = TrackingTask(samples[0].hypotheses.dimension)
    for every, truth in zip(outputs, truths, strict=True):
        for z in every[::7]:
            assert task.loss(truth, z) == pytest.approx((truth & ~z).sum() / truth.sum())
        assert task.loss(truth, truth) == 0
    assert missed_share(np.array([], dtype=int), np.array([True])) == 0


def test_augmented_scores_add_the_loss(samples, outputs, truths, w):
    scores, events = samples[0].hypotheses.scores(w), np.flatnonzero(truths[0])
    changed, constant = augmented(scores, events)
    for z in outputs[0]:
        assert changed[z].sum() + constant == pytest.approx(scores[z].sum() + missed_share(events, z))


def test_the_risk_is_that_of_the_enumeration(samples, outputs, truths, w):
    task = TrackingTask(len(w))
    value, slope = StructuredRisk(task, samples, truths)(w)
    expected = []
    for sample, every, truth in zip(samples, outputs, truths, strict=True):
        scores = sample.hypotheses.scores(w)
        violations = [task.loss(truth, z) + scores[z].sum() - scores[truth].sum() for z in every]
        expected.append(max(violations))
    assert value == pytest.approx(np.mean(expected))
    step = 1e-6 * np.random.default_rng(2).normal(size=len(w))
    assert StructuredRisk(task, samples, truths)(w + step)[0] >= value + slope @ step - 1e-12


def test_the_bridge_loss_is_that_of_the_enumeration(samples, outputs, truths, w):
    annotations = [np.flatnonzero(truth)[:2] for truth in truths]
    risk = PartialTrackingRisk(samples, annotations)
    expected = []
    for sample, every, events in zip(samples, outputs, annotations, strict=True):
        scores, agrees = sample.hypotheses.scores(w), every[:, events].all(axis=1)
        penalty = max(scores[z].sum() + missed_share(events, z) for z in every[~agrees])
        expected.append(max(penalty - max(scores[z].sum() for z in every[agrees]), 0.0))
    assert risk(w) == pytest.approx(np.mean(expected))
    for part in (risk.convex_part, risk.reward):
        value, slope = part(w)
        step = 1e-4 * np.random.default_rng(3).normal(size=len(w))
        assert part(w + step)[0] >= value + slope @ step - 1e-12


def test_full_annotation_is_the_structured_risk(samples, truths, w):
    # With one agreeing assignment the bridge loss is the hinge loss.
    bridge = PartialTrackingRisk(samples, [np.flatnonzero(truth) for truth in truths])
    hinge = StructuredRisk(TrackingTask(len(w)), samples, truths)
    assert bridge(w) == pytest.approx(hinge(w)[0])


def test_threads_do_not_matter(samples, truths, w):
    annotations = [np.flatnonzero(truth)[:2] for truth in truths]
    one, two = (PartialTrackingRisk(samples, annotations, n_jobs=n).convex_part(w) for n in (1, 2))
    assert one[0] == two[0]
    np.testing.assert_array_equal(one[1], two[1])
    one, two = (TrackingTask(len(w), n).batch_risk(w, samples, truths, "margin") for n in (1, 2))
    assert one[0] == two[0]
    np.testing.assert_array_equal(one[1], two[1])


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_what_was_learned_is_predicted(samples, truths, penalty):
    model = StructuredSVM(
        TrackingTask(samples[0].hypotheses.dimension), C=1e3, penalty=penalty, tol=1e-2
    ).fit(samples, truths)
    assert model.score(samples, truths) > 0.9


def test_learning_from_partial_annotations_descends(samples, truths):
    annotations = [np.flatnonzero(truth)[:2] for truth in truths]
    risk = PartialTrackingRisk(samples, annotations)
    found = cccp(risk.convex_part, risk.reward, L2(1e-3), w0=np.zeros(risk.dimension), eps_min=1e-2)
    assert np.all(np.diff(found.history.objective) <= 1e-12)
    assert risk(found.w) < 0.2 * risk(np.zeros(risk.dimension))


def test_wrong_input_is_rejected(samples, truths, w):
    task = TrackingTask(len(w))
    with pytest.raises(ValueError, match="rescaling is 'slack': expected 'margin'"):
        task.most_violated(w, samples[0], truths[0], "slack")
    with pytest.raises(ValueError, match="output 1 is no assignment"):
        StructuredRisk(task, samples[:2], [truths[0], np.zeros_like(truths[1])])
    with pytest.raises(ValueError, match="2 samples and 1 annotations"):
        PartialTrackingRisk(samples[:2], [[0]])
    with pytest.raises(ValueError, match="sample 1 has no annotated event"):
        PartialTrackingRisk(samples[:2], [[0], []])
