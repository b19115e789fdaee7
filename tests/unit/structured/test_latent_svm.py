"""Latent structured SVMs against enumeration, cvxpy and the SVM without latent variables."""

import itertools

import cvxpy
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from ermlab.optimize import L2
from ermlab.structured import (
    Identity,
    LatentBatchTask,
    LatentRisk,
    LatentSVM,
    LatentTask,
    LatentTransformationTask,
    MultiClassTask,
    Rotation,
    StructuredSVM,
)

LOSSES = np.array([[0, 1, 2], [1, 0, 1], [2, 0.5, 0]])


class ViewTask:
    """Classes of objects with several views, one of which shows the class; by enumeration.

    An input has one row of features per view, and the latent variable is the view.
    """

    max_loss = 2.0

    def __init__(self, n_classes=3, n_features=2):
        self.n_classes, self.n_features = n_classes, n_features
        self.dimension = n_classes * n_features

    def joint_feature(self, x, y, h):
        feature = np.zeros((self.n_classes, self.n_features))
        feature[y] = x[h]
        return feature.ravel()

    def loss(self, y, z):
        return float(LOSSES[y, z])

    def scores(self, w, x):
        return x @ w.reshape(self.n_classes, -1).T  # (views, classes)

    def complete(self, w, x, y):
        return int(np.argmax(self.scores(w, x)[:, y]))

    def predict(self, w, x):
        return int(np.argmax(self.scores(w, x).max(axis=0)))

    def most_violated(self, w, x, y, rescaling):
        scores, losses = self.scores(w, x), LOSSES[y, : self.n_classes]
        values = losses * (1 + scores - scores[:, y].max()) if rescaling == "slack" else losses + scores
        h, z = np.unravel_index(np.argmax(values), values.shape)
        return int(z), int(h)


class BatchViewTask(ViewTask):
    """The same with all samples at once."""

    def prepare_batch(self, X, Y):
        return np.array(X), np.array(Y)

    def batch_violated(self, w, X, Y, rescaling):
        pairs = [self.most_violated(w, x, y, rescaling) for x, y in zip(X, Y, strict=True)]
        features = [self.joint_feature(x, *pair) for x, pair in zip(X, pairs, strict=True)]
        return np.array(features), LOSSES[Y, [z for z, _ in pairs]]

    def batch_complete(self, w, X, Y):
        latent = [self.complete(w, x, y) for x, y in zip(X, Y, strict=True)]
        samples = zip(X, Y, latent, strict=True)
        return latent, np.array([self.joint_feature(x, y, h) for x, y, h in samples])


def views(n, n_views=2, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    Y = rng.integers(0, 3, n)
    angles = 2 * np.pi * Y / 3
    X = noise * rng.normal(size=(n, n_views, 2))
    X[np.arange(n), rng.integers(0, n_views, n)] += np.column_stack([np.cos(angles), np.sin(angles)])
    return list(X), Y.tolist()


def objective(task, w, X, Y, C, rescaling="margin"):
    """Return the objective of the definition, by enumeration of outputs and latent values."""
    total = 0.5 * w @ w
    for x, y in zip(X, Y, strict=True):
        reward = max(w @ task.joint_feature(x, y, h) for h in range(len(x)))
        values = []
        for z, h in itertools.product(range(task.n_classes), range(len(x))):
            score, loss = w @ task.joint_feature(x, z, h), task.loss(y, z)
            values.append(loss * (1 + score - reward) if rescaling == "slack" else loss + score - reward)
        total += C * max(values)
    return total


def solve_completed(task, X, Y, latent, C, rescaling="margin", lower=-np.inf):
    """Return minimum and minimizer for given latent values of the true outputs, by cvxpy."""
    w = cvxpy.Variable(task.dimension)
    slacks = []
    for x, y, h in zip(X, Y, latent, strict=True):
        violations = []
        for z, k in itertools.product(range(task.n_classes), range(len(x))):
            margin = (task.joint_feature(x, z, k) - task.joint_feature(x, y, h)) @ w
            loss = task.loss(y, z)
            violations.append(loss * (1 + margin) if rescaling == "slack" else loss + margin)
        slacks.append(cvxpy.max(cvxpy.hstack(violations)))
    bounds = [w >= lower] if np.isfinite(lower) else []
    problem = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.sum_squares(w) + C * cvxpy.sum(slacks)), bounds)
    problem.solve(solver=cvxpy.CLARABEL)
    return problem.value, w.value


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("seed", range(5))
def test_the_result_is_a_fixed_point_of_alternation(seed, rescaling):
    task, (X, Y) = ViewTask(), views(8, seed=seed)
    model = LatentSVM(task, C=2.0, rescaling=rescaling, tol=1e-6).fit(X, Y)
    assert model.latent_ == [task.complete(model.coef_, x, y) for x, y in zip(X, Y, strict=True)]
    expected, w = solve_completed(task, X, Y, model.latent_, 2.0, rescaling)
    assert model.objective_[-1] == pytest.approx(expected, rel=1e-4)
    np.testing.assert_allclose(model.coef_, w, atol=1e-2)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_is_that_of_the_definition_and_never_increases(seed, penalty, rescaling):
    task, (X, Y) = ViewTask(), views(12, n_views=3, seed=seed, noise=1.0)
    model = LatentSVM(task, C=3.0, rescaling=rescaling, penalty=penalty, tol=1e-4).fit(X, Y)
    w = model.coef_
    recomputed = objective(task, w, X, Y, 3.0, rescaling)
    recomputed += np.abs(w).sum() - 0.5 * w @ w if penalty == "l1" else 0.0
    assert model.objective_[-1] == pytest.approx(recomputed, rel=1e-9)
    assert (np.diff(model.objective_) <= 1e-9 * model.objective_[0]).all()
    assert len(model.objective_) == model.n_iter_ + 1
    assert model.converged_


@pytest.mark.parametrize("seed", range(3))
def test_many_descents_find_the_global_minimum_of_all_completions(seed):
    task, (X, Y) = ViewTask(), views(5, seed=seed, noise=1.0)
    completions = itertools.product(range(2), repeat=5)
    best = min(solve_completed(task, X, Y, latent, 2.0)[0] for latent in completions)
    model = LatentSVM(task, C=2.0, tol=1e-5, n_init=30, random_state=0).fit(X, Y)
    assert len(model.objectives_) == 30
    assert model.objective_[-1] == model.objectives_.min()
    assert model.objective_[-1] == pytest.approx(best, rel=1e-3)


def test_descents_end_in_different_minima():
    X, Y = views(12, n_views=3, noise=1.0)
    model = LatentSVM(ViewTask(), C=5.0, tol=1e-5, n_init=10, random_state=0).fit(X, Y)
    assert model.objectives_.max() > 1.01 * model.objectives_.min()


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_with_a_single_latent_value_it_is_the_structured_svm(C):
    X, Y = views(20, n_views=1)
    task = ViewTask()
    plain = StructuredSVM(MultiClassTask(3, 2, losses=LOSSES), C=C, tol=1e-6)
    plain.fit(np.array([x[0] for x in X]), Y)
    model = LatentSVM(task, C=C, tol=1e-6).fit(X, Y)
    assert model.objective_[-1] == pytest.approx(plain.result_.value * C * len(X), rel=1e-5)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-2 * np.abs(plain.coef_).max())
    assert model.predict(X) == plain.predict(np.array([x[0] for x in X])).tolist()


def test_all_samples_at_once():
    X, Y = views(15)
    single, batch = (LatentSVM(task, C=2.0).fit(X, Y) for task in (ViewTask(), BatchViewTask()))
    assert isinstance(BatchViewTask(), LatentBatchTask)
    assert not isinstance(ViewTask(), LatentBatchTask)
    np.testing.assert_array_equal(single.coef_, batch.coef_)
    assert single.latent_ == batch.latent_


def test_it_learns_which_view_shows_the_class():
    X, Y = views(60, noise=0.2)
    model = LatentSVM(ViewTask(), C=10.0, n_init=3, random_state=0).fit(X, Y)
    shown = [int(np.argmax(np.linalg.norm(x, axis=1))) for x in X]
    assert np.mean(np.equal(model.latent_, shown)) > 0.95
    new_X, new_Y = views(200, seed=1, noise=0.2)
    assert model.score(new_X, new_Y) > 0.95
    assert model.complete(X, Y) == model.latent_


def test_first_latent_values_are_those_of_the_task():
    X, Y = views(10)
    task = ViewTask()
    task.initial_latent = lambda x, y: 1
    risk = LatentRisk(task, X, Y, n_parts=3)
    slope = risk.reward(np.zeros(6))[1].sum(axis=0)
    expected = np.mean([task.joint_feature(x, y, 1) for x, y in zip(X, Y, strict=True)], axis=0)
    np.testing.assert_allclose(slope, expected)
    expected = solve_completed(task, X, Y, [1] * 10, 1.0)[0]
    model = LatentSVM(task, tol=1e-6, max_iter=100).fit(X, Y)
    assert model.objective_[-1] <= expected * (1 + 1e-4)


def test_first_weights():
    X, Y = views(10)
    first = LatentSVM(ViewTask(), C=2.0, tol=1e-5).fit(X, Y)
    again = LatentSVM(ViewTask(), C=2.0, tol=1e-5).fit(X, Y, coef_init=first.coef_)
    assert again.objective_[0] == pytest.approx(first.objective_[-1])
    assert again.objective_[-1] <= first.objective_[-1] * (1 + 1e-9)
    with pytest.raises(ValueError, match="w0"):
        LatentSVM(ViewTask()).fit(X, Y, coef_init=[1.0])


def test_the_parts_sum_to_the_definition():
    X, Y = views(7)
    task, w = ViewTask(), np.random.default_rng(0).normal(size=6)
    for rescaling in ("margin", "slack"):
        for n_parts in (1, 3, 100):
            risk = LatentRisk(task, X, Y, rescaling, n_parts)
            value = objective(task, w, X, Y, 1.0, rescaling) - 0.5 * w @ w
            assert len(risk) * risk(w) == pytest.approx(value)


def test_rotations_as_a_latent_variable():
    base = MultiClassTask(3, 2)
    quarters = [Identity(), *(Rotation(k * np.pi / 2) for k in (1, 2, 3))]
    task = LatentTransformationTask(base, quarters)
    assert isinstance(task, LatentTask)
    rng = np.random.default_rng(0)
    for _ in range(20):
        w, x, y = rng.normal(size=6), rng.normal(size=2), int(rng.integers(3))
        turned = [t.input(x) for t in quarters]
        scores = np.array([w.reshape(3, 2) @ tx for tx in turned])
        assert task.complete(w, x, y) == scores[:, y].argmax()
        assert task.predict(w, x) == scores.max(axis=0).argmax()
        z, h = task.most_violated(w, x, y, "margin")
        assert base.loss(y, z) + w @ task.joint_feature(x, z, h) == pytest.approx(
            (scores + base.losses[y]).max()
        )


def test_the_identity_alone_is_the_structured_svm():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 3, 30)
    model = LatentSVM(LatentTransformationTask(MultiClassTask(3, 2), [Identity()]), tol=1e-6).fit(X, y)
    plain = StructuredSVM(MultiClassTask(3, 2), tol=1e-6).fit(X, y)
    assert model.objective_[-1] == pytest.approx(plain.result_.value * 30, rel=1e-5)
    assert model.latent_ == [0] * 30


class Relabel:
    """Turn a point by a third, and its class with it."""

    def input(self, x):
        return Rotation(2 * np.pi / 3).input(x)

    def output(self, y):
        return (y + 1) % 3


class InvertibleRelabel(Relabel):
    def inverse_output(self, y):
        return (y - 1) % 3


def test_outputs_are_returned_in_the_frame_of_the_input():
    rng = np.random.default_rng(0)
    base = MultiClassTask(3, 2)
    task = LatentTransformationTask(base, [Identity(), InvertibleRelabel()])
    for _ in range(20):
        w, x = rng.normal(size=6), rng.normal(size=2)
        best = max(itertools.product(range(3), range(2)), key=lambda zh: w @ task.joint_feature(x, *zh))
        assert task.predict(w, x) == best[0]
    task = LatentTransformationTask(base, [Relabel()])
    with pytest.raises(ValueError, match=r"transformation 0 changes the output .* `inverse_output`"):
        task.predict(w, x)


def test_an_approximate_search_is_consistent():
    class Sampled(ViewTask):
        exact = False

        def __init__(self):
            super().__init__()
            self.rng = np.random.default_rng(0)

        def most_violated(self, w, x, y, rescaling):
            pairs = [(int(self.rng.integers(3)), int(self.rng.integers(2))) for _ in range(2)]
            return max([*pairs, (y, self.complete(w, x, y))], key=lambda zh: self.value(w, x, y, *zh))

        def value(self, w, x, y, z, h):
            return self.loss(y, z) + w @ self.joint_feature(x, z, h)

    X, Y = views(10)
    model = LatentSVM(Sampled(), C=2.0).fit(X, Y)
    assert not model.exact_
    assert model.objective_[-1] <= objective(ViewTask(), model.coef_, X, Y, 2.0) * (1 + 1e-9)


def test_the_same_result_in_every_run():
    X, Y = views(20)
    first, second = (LatentSVM(ViewTask(), n_init=3, random_state=1).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, second.coef_)


def test_estimator_conventions():
    X, Y = views(5)
    model = LatentSVM(ViewTask(), C=2.0)
    assert clone(model).get_params()["C"] == 2.0
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(NotFittedError):
        model.complete(X, Y)


def test_limits_warn():
    X, Y = views(30, n_views=3, noise=1.0)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 of at most 1 outer iterations"):
        LatentSVM(ViewTask(), C=10.0, max_iter=1).fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = LatentSVM(ViewTask(), C=10.0, n_init=50, random_state=0, max_time=1e-9).fit(X, Y)
    assert len(model.objectives_) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0}, "C is 0"),
        ({"C": np.nan}, "C is nan"),
        ({"tol": 0}, "tol is 0"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"n_init": 1.5}, "n_init is 1.5"),
        ({"penalty": "l0"}, "penalty is 'l0'"),
        ({"rescaling": "angle"}, "rescaling is 'angle'"),
        ({"max_time": -1}, "max_time is -1"),
        ({"task": MultiClassTask(2, 1)}, "expected a `LatentTask`"),
    ],
)
def test_impossible_options(options, message):
    X, Y = views(3)
    with pytest.raises(ValueError, match=message):
        LatentSVM(**{"task": ViewTask(), **options}).fit(X, Y)


def test_impossible_samples():
    X, Y = views(4)
    with pytest.raises(ValueError, match="4 inputs and 3 outputs"):
        LatentSVM(ViewTask()).fit(X, Y[:3])
    with pytest.raises(ValueError, match="0 inputs"):
        LatentSVM(ViewTask()).fit([], [])
    X[2] = np.full((2, 2), np.nan)
    with pytest.raises(ValueError, match=r"joint feature of sample 2 .* finite numbers"):
        LatentSVM(ViewTask()).fit(X, Y)
    task = ViewTask()
    task.max_loss = 1.0
    with pytest.raises(ValueError, match=r"a loss is 2\.0: expected at most 1\.0"):
        LatentSVM(task, rescaling="slack").fit(*views(20))
    with pytest.raises(ValueError, match="rescaling is 'slack': expected 'margin'"):
        LatentSVM(LatentTransformationTask(MultiClassTask(3, 2), [Identity()]), rescaling="slack").fit(
            np.zeros((2, 2)), [0, 1]
        )
    with pytest.raises(ValueError, match="expected a `Task`"):
        LatentTransformationTask(None, [Identity()])


def test_the_objective_bounds_the_loss_of_training():
    X, Y = views(15, noise=1.0)
    model = LatentSVM(ViewTask(), C=1.0).fit(X, Y)
    losses = [LOSSES[y, z] for y, z in zip(Y, model.predict(X), strict=True)]
    assert sum(losses) <= model.objective_[-1] - L2(1.0)(model.coef_) + 1e-9


@pytest.mark.parametrize("lower", [-0.1, 0.0, 0.2])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_weights_stay_within_the_bounds_of_the_task(lower, penalty):
    X, Y = views(10)
    task = ViewTask()
    task.bounds = (np.full(6, lower), np.full(6, np.inf))
    model = LatentSVM(task, C=2.0, tol=1e-5, penalty=penalty).fit(X, Y)
    assert model.coef_.min() >= lower
    assert (np.diff(model.objective_) <= 1e-9 * model.objective_[0]).all()
    if penalty == "l2":
        expected, _ = solve_completed(task, X, Y, model.latent_, 2.0, lower=lower)
        assert model.objective_[-1] == pytest.approx(expected, rel=1e-3)
        assert model.objective_[-1] == pytest.approx(objective(task, model.coef_, X, Y, 2.0), rel=1e-9)
