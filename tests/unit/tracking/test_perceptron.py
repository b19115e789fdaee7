"""The structured perceptron: its steps against enumeration, its mistakes against the theorem of Novikoff."""

import numpy as np
import pytest

from ermlab.tracking.perceptron import annotated_loss, perceptron_pass, perceptron_step, train_perceptron


@pytest.fixture(scope="module")
def samples(few_cells):
    return few_cells(0)


@pytest.fixture(scope="module")
def outputs(samples, all_assignments):
    """All assignments of each sample."""
    return [all_assignments(sample.hypotheses) for sample in samples]


@pytest.fixture
def w(samples):
    return np.random.default_rng(1).normal(size=samples[0].hypotheses.dimension)


@pytest.fixture
def separable(samples, w):
    """Full annotations that the weights explain."""
    return [np.flatnonzero(sample.best(sample.hypotheses.scores(w))) for sample in samples]


@pytest.mark.parametrize("known", [1, 2, None])
def test_a_step_goes_from_the_best_to_the_best_that_agrees(samples, outputs, w, known):
    rng, moved = np.random.default_rng(2), 0
    for sample, every in zip(samples, outputs, strict=True):
        scores = every @ sample.hypotheses.scores(w)
        for truth in rng.choice(every, 10):
            events = np.flatnonzero(truth)[:known]
            agrees = every[:, events].all(axis=1)
            target = every[agrees][np.argmax(scores[agrees])]
            feature = sample.hypotheses.joint_feature
            expected = feature(target) - feature(every[np.argmax(scores)])
            np.testing.assert_allclose(perceptron_step(w, sample, events), expected, atol=1e-12)
            moved += bool(expected.any())
    assert moved > 10


def test_without_weights_cells_come_and_go(samples, separable):
    # Whatever was asked of the assigners before: here, the truth itself.
    for sample, events in zip(samples, separable, strict=True):
        sample.best(np.zeros(len(sample.hypotheses)), including=events)
        step = perceptron_step(np.zeros(sample.hypotheses.dimension), sample, events[:1])
        feature, alone = sample.hypotheses.joint_feature, sample.hypotheses.kind >= 4
        taken = sample.hypotheses.incidence[:, events[:1]].toarray().ravel() > 0
        shares = (sample.hypotheses.incidence[taken].sum(axis=0) > 0) & alone
        known = np.isin(np.arange(len(alone)), events[:1])
        np.testing.assert_allclose(step, feature(known) - feature(shares))


def test_what_agrees_changes_nothing(samples, separable, w):
    for known in (0, 1, 2, None):
        annotations = [events[:known] for events in separable]
        after, total, updates = perceptron_pass(w, samples, annotations)
        np.testing.assert_array_equal(after, w)
        np.testing.assert_allclose(total, len(samples) * w)
        assert updates == 0


@pytest.mark.parametrize("averaged", [False, True])
def test_a_separable_problem_is_learned(samples, separable, averaged):
    found = train_perceptron(samples, separable, averaged=averaged, patience=1000, max_iter=1000)
    assert found.converged
    assert found.loss == 0 == annotated_loss(found.w, samples, separable)
    assert found.history.loss[0] > 0


def test_the_number_of_updates_obeys_the_theorem(samples, outputs, separable, w):
    # At most (R / margin)^2 for any weights that separate with a margin, R the longest step.
    margins, lengths = [], []
    for sample, every, events in zip(samples, outputs, separable, strict=True):
        truth = np.isin(np.arange(every.shape[1]), events)
        steps = [
            sample.hypotheses.joint_feature(truth) - sample.hypotheses.joint_feature(y)
            for y in every
            if not np.array_equal(y, truth)
        ]
        margins.append(np.min(steps @ w) / np.linalg.norm(w))
        lengths.append(np.max(np.linalg.norm(steps, axis=1)))
    assert min(margins) > 0
    found = train_perceptron(samples, separable, patience=10_000, max_iter=10_000)
    assert 0 < sum(found.history.updates) <= (max(lengths) / min(margins)) ** 2


def test_the_best_weights_are_kept_and_training_stops_early(samples, outputs):
    # Annotations at random, which no weights explain.
    rng = np.random.default_rng(3)
    annotations = [np.flatnonzero(rng.choice(every)) for every in outputs]
    found = train_perceptron(samples, annotations, patience=3)
    losses = found.history.loss
    assert found.loss == min(losses) == annotated_loss(found.w, samples, annotations) > 0
    assert not found.converged
    assert found.n_iter == len(found.history.updates) == len(losses) - 1 == np.argmin(losses) + 3


def test_threads_do_not_matter(few_cells, separable):
    annotations = [events[:2] for events in separable]
    one, two = (train_perceptron(few_cells(0), annotations, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.w, two.w)
    assert one.history == two.history


def test_it_starts_from_w0(samples, separable, w):
    found = train_perceptron(samples, separable, w0=w)
    assert found.n_iter == 0
    np.testing.assert_array_equal(found.w, w)


def test_the_average_is_over_all_samples_of_all_passes(samples, outputs):
    rng = np.random.default_rng(3)
    annotations = [np.flatnonzero(rng.choice(every)) for every in outputs]
    found = train_perceptron(samples, annotations, averaged=True, max_iter=2)
    w, weights = np.zeros(len(found.w)), []
    for _ in range(2):
        for sample, events in zip(samples, annotations, strict=True):
            w = w + perceptron_step(w, sample, events)
            weights.append(w)
    means = [np.mean(weights[: len(samples)], axis=0), np.mean(weights, axis=0)]
    expected = [annotated_loss(mean, samples, annotations) for mean in means]
    assert found.history.loss[1:] == pytest.approx(expected)


def test_wrong_input_is_rejected(samples, separable):
    with pytest.raises(ValueError, match="4 samples and 1 annotations"):
        train_perceptron(samples, separable[:1])
    with pytest.raises(ValueError, match="0 samples and 0 annotations"):
        train_perceptron([], [])
    with pytest.raises(ValueError, match="patience is 0"):
        train_perceptron(samples, separable, patience=0)
    with pytest.raises(ValueError, match="expected indices 0 to"):
        perceptron_pass(np.zeros(samples[0].hypotheses.dimension), samples[:1], [[-1]])
