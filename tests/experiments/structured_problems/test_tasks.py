"""The four tasks against the enumeration of all outputs of small samples."""

from itertools import product

import numpy as np
import pytest

from ermlab.structured import StructuredSVM, Task
from reproduction.experiments.structured_problems import parsing, segmentation, sequences, tracking
from reproduction.experiments.structured_problems.parsing import N_TAGS, SYMBOLS, ParsingTask
from reproduction.experiments.structured_problems.segmentation import SegmentationTask
from reproduction.experiments.structured_problems.sequences import SequenceTask
from reproduction.experiments.structured_problems.tracking import TrackingTask


def all_trees(n):
    """Return all labeled binary trees over ``n`` words."""

    def over(start, end):
        if end - start == 1:
            return [{(start, end): tag} for tag in range(N_TAGS)]
        return [
            {(start, end): symbol} | left | right
            for middle in range(start + 1, end)
            for left, right in product(over(start, middle), over(middle, end))
            for symbol in range(N_TAGS, len(SYMBOLS))
        ]

    return over(0, n)


def all_links(n, m):
    links = [np.array(y) for y in product(range(m + 1), repeat=n)]
    return [y for y in links if len(set(y[y < m])) == (y < m).sum()]


def cases(rng, interactions):
    """Yield each task with a small sample, all its outputs, and weights that the task allows."""
    task = ParsingTask(interactions)
    yield task, rng.integers(12, size=3), all_trees(3), rng.normal(size=task.dimension)
    task = SequenceTask(2, 3, interactions)
    labels = [np.array(y) for y in product(range(2), repeat=5)]
    yield task, rng.normal(size=(5, 3)), labels, rng.normal(size=task.dimension)
    task = SegmentationTask(interactions)
    masks = [np.array(y, dtype=bool).reshape(3, 3) for y in product((False, True), repeat=9)]
    yield task, rng.normal(size=(3, 3)), masks, np.clip(rng.normal(size=task.dimension), *task.bounds)
    task = TrackingTask(interactions)
    links = all_links(3, 2) if interactions else [np.array(y) for y in product(range(3), repeat=3)]
    yield task, (rng.random((3, 3)), rng.random((2, 3))), links, rng.normal(size=task.dimension)


@pytest.mark.parametrize("interactions", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_best_and_most_violated_outputs_are_those_of_enumeration(seed, interactions):
    rng = np.random.default_rng(seed)
    for task, x, outputs, w in cases(rng, interactions):
        assert isinstance(task, Task)
        scores = np.array([w @ task.joint_feature(x, z) for z in outputs])
        assert w @ task.joint_feature(x, task.predict(w, x)) == pytest.approx(scores.max())
        y = outputs[rng.integers(len(outputs))]
        losses = np.array([task.loss(y, z) for z in outputs])
        assert losses.min() == task.loss(y, y) == 0
        z = task.most_violated(w, x, y, "margin")
        found = w @ task.joint_feature(x, z) + task.loss(y, z)
        assert found == pytest.approx((scores + losses).max())
        with pytest.raises(ValueError, match="rescaling is 'slack'"):
            task.most_violated(w, x, y, "slack")


def test_trees_of_the_grammar_cover_their_sentences():
    for x, y in zip(*parsing.draw(np.random.default_rng(0), 30), strict=True):
        assert len(y) == 2 * len(x) - 1
        assert SYMBOLS[y[0, len(x)]] == "S"
        assert len(x) <= parsing.MAX_WORDS
        features = ParsingTask().joint_feature(x, y)
        assert features.sum() == 2 * len(y) + len(x) - 1  # two words of each span, a rule of each phrase


def test_sequences_have_a_pair_of_bases_at_each_position_but_the_first():
    (x,), (y,) = sequences.draw(np.random.default_rng(0), 1)
    assert x.shape == (sequences.LENGTH, sequences.N_FEATURES)
    assert x[:, :-1].sum(axis=1).tolist() == [0] + [1] * (len(x) - 1)
    assert set(y) <= {0, 1}


def test_links_lead_back_to_the_cells_that_stayed():
    for (before, after), y in zip(*tracking.draw(np.random.default_rng(0), 5), strict=True):
        stayed = y < len(after)
        assert sorted(y[stayed]) == list(range(len(after)))
        assert np.abs(before[stayed] - after[y[stayed]]).max() < 6 * max(tracking.MOTION, tracking.GROWTH)


def test_the_weight_of_borders_stays_allowed():
    """Checkerboards reward borders, so that the bound is active."""
    board = np.indices((4, 4)).sum(axis=0) % 2 == 1
    svm = StructuredSVM(SegmentationTask(), C=10.0).fit([np.zeros((4, 4))], [board])
    assert svm.coef_[2] == 0


def test_noise_is_added_to_masks():
    images, masks = segmentation.draw(np.random.default_rng(0), 50)
    noise = np.array(images) - np.array(masks)
    assert noise.std() == pytest.approx(segmentation.NOISE, rel=0.05)
    assert all(mask.any() for mask in masks)
