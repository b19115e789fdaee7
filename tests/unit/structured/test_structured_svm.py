import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from ermlab.optimize import L2, minimize, minimize_blocks
from ermlab.structured.jkse import LinearJKSE
from ermlab.structured.multiclass import MultiClassTask
from ermlab.structured.risk import StructuredRisk
from ermlab.structured.structured_svm import StructuredSVM
from ermlab.structured.task import BatchTask, BlockTask, Task
from ermlab.structured.transfer_svm import TransferSVM


class SequenceTask:
    """Label each of a few positions with 0 or 1; sums of features, equal neighbors; Hamming loss."""

    def __init__(self, n_features, length=4):
        self.dimension = n_features + 1
        self._outputs = list(itertools.product((0, 1), repeat=length))

    def joint_feature(self, x, y):
        return np.append(np.asarray(y) @ x, np.sum(np.equal(y[1:], y[:-1])))

    def loss(self, y, z):
        return float(np.mean(np.not_equal(y, z)))

    def predict(self, w, x):
        return max(self._outputs, key=lambda z: w @ self.joint_feature(x, z))

    def most_violated(self, w, x, y, rescaling):
        def violation(z):
            margin = w @ (self.joint_feature(x, z) - self.joint_feature(x, y))
            return self.loss(y, z) * (1 + margin) if rescaling == "slack" else self.loss(y, z) + margin

        return max((z for z in self._outputs if z != y), key=violation)


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(200, 10)), rng.normal(size=(4, 10))
    return X, np.argmax(X @ W.T + rng.normal(size=(200, 4)), axis=1)


@pytest.fixture(scope="module")
def sequences():
    rng = np.random.default_rng(1)
    task, w = SequenceTask(3), np.array([1.0, -1.0, 0.5, 0.7])
    X = list(rng.normal(size=(40, 4, 3)))
    return task, X, [task.predict(w, x) for x in X]


@pytest.mark.parametrize("solver", ["bundle", "blocks"])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_margin_rescaling_is_crammer_and_singer(classes, C, solver):
    X, y = classes
    model = StructuredSVM(MultiClassTask(4, 10), C=C, tol=1e-6, solver=solver).fit(X, y)
    peer = LinearSVC(
        multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-8, max_iter=1_000_000, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notice of a later release of scikit-learn
        W = peer.fit(X, y).coef_
    objective = StructuredRisk(MultiClassTask(4, 10), X, y)(W.ravel())[0] + np.sum(W**2) / (2 * C * len(y))
    assert model.result_.lower_bound <= objective * (1 + 1e-12)
    assert objective == pytest.approx(model.result_.value, rel=1e-4)
    np.testing.assert_allclose(model.coef_, W.ravel(), atol=5e-3)
    assert model.score(X, y) == pytest.approx(peer.score(X, y), abs=0.011)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_a_task_of_its_own_learns_sequences(sequences, rescaling, penalty):
    task, X, y = sequences
    model = StructuredSVM(task, C=100.0, rescaling=rescaling, penalty=penalty, tol=1e-2).fit(X, y)
    assert model.predict(X[:2]) == [task.predict(model.coef_, x) for x in X[:2]]
    assert model.score(X, y) > 0.97


def test_violation_of_one_sample_by_hand():
    task = MultiClassTask(3, 2, losses=[[0, 1, 4], [1, 0, 1], [1, 1, 0]])
    w = np.array([[1.0, 0.0], [0.0, 2.0], [0.5, 0.5]]).ravel()
    x = np.array([1.0, 1.0])  # scores 1, 2, 1
    margin, slack = StructuredRisk(task, [x], [0], "margin"), StructuredRisk(task, [x], [0], "slack")
    assert task.predict(w, x) == 1
    assert task.most_violated(w, x, 0, "margin") == 2
    assert margin(w)[0] == 4.0  # 4 + 1 - 1
    assert slack(w)[0] == 4.0  # 4 (1 + 0)
    np.testing.assert_array_equal(margin(w)[1], [-1, -1, 0, 0, 1, 1])
    np.testing.assert_array_equal(slack(w)[1], [-4, -4, 0, 0, 4, 4])


def test_protocols():
    assert isinstance(MultiClassTask(2, 1), BlockTask)
    assert isinstance(SequenceTask(3), Task)
    assert not isinstance(SequenceTask(3), BatchTask)


@pytest.mark.parametrize("solver", ["bundle", "blocks"])
def test_same_bits_in_every_run_and_for_every_number_of_threads(solver):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(403, 101)), rng.integers(7, size=403)
    weights = []
    for threads in (1, 2, 2):
        with threadpool_limits(threads):
            weights.append(StructuredSVM(MultiClassTask(7, 101), C=1e-2, solver=solver).fit(X, y).coef_)
    np.testing.assert_array_equal(weights[0], weights[1])
    np.testing.assert_array_equal(weights[1], weights[2])


def test_estimator_conventions(classes):
    model = StructuredSVM(MultiClassTask(4, 10), C=2.0)
    assert model.get_params()["C"] == 2.0
    with pytest.raises(NotFittedError):
        model.predict(classes[0])
    assert clone(StructuredSVM(MultiClassTask(4, 10))).fit(*classes).coef_.shape == (40,)


@pytest.mark.parametrize("solver", ["bundle", "blocks"])
def test_too_few_passes_warn(classes, solver):
    with pytest.warns(ConvergenceWarning, match="stopped after 2 of at most 2 iterations"):
        StructuredSVM(MultiClassTask(4, 10), max_iter=2, solver=solver).fit(*classes)


@pytest.mark.parametrize(("n", "chosen"), [(41, "bundle"), (40, "blocks")])
def test_planes_for_each_sample_by_default_if_w_is_as_long_as_the_sample(classes, n, chosen):
    X, y = classes[0][:n], classes[1][:n]
    auto, explicit = (StructuredSVM(MultiClassTask(4, 10), solver=s).fit(X, y) for s in ("auto", chosen))
    np.testing.assert_array_equal(auto.coef_, explicit.coef_)
    assert auto.result_.n_iter == explicit.result_.n_iter


def test_l1_takes_the_bundle_by_default(classes):
    X, y = classes[0][:30], classes[1][:30]
    auto, bundle = (
        StructuredSVM(MultiClassTask(4, 10), penalty="l1", solver=s).fit(X, y) for s in ("auto", "bundle")
    )
    np.testing.assert_array_equal(auto.coef_, bundle.coef_)


def test_weak_regularization_where_one_plane_for_all_samples_is_too_coarse():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 100))
    y = np.argmax(X @ rng.normal(size=(100, 10)), axis=1)
    risk = StructuredRisk(MultiClassTask(10, 100), X, y)
    blocks, bundle = (solve(risk, L2(1 / 300), max_iter=30) for solve in (minimize_blocks, minimize))
    assert blocks.converged
    assert bundle.relative_gap > 0.05
    assert bundle.lower_bound <= blocks.value * (1 + 1e-12)
    assert blocks.lower_bound <= bundle.value * (1 + 1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.0}, "C is 0.0"),
        ({"penalty": "l3"}, "penalty is 'l3'"),
        ({"rescaling": "loss"}, "rescaling is 'loss'"),
        ({"tol": -1.0}, "tol is -1.0"),
        ({"solver": "blocks", "tol": -1.0}, "tol is -1.0"),
        ({"solver": "simplex"}, "solver is 'simplex'"),
        ({"solver": "blocks", "penalty": "l1"}, "expected 'l2'"),
    ],
)
def test_bad_options(classes, options, message):
    with pytest.raises(ValueError, match=message):
        StructuredSVM(MultiClassTask(4, 10), **options).fit(*classes)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((3, 2)), [0, 1], "3 inputs and 2 outputs"),
        (np.zeros((0, 2)), [], "at least 1"),
        (np.zeros((2, 3)), [0, 1], r"shape \(2, 3\)"),
        (np.full((2, 2), np.nan), [0, 1], "finite"),
        (np.zeros((2, 2)), [0, 3], "classes from 0 to 3"),
        (np.zeros((2, 2)), [-1, 0], "classes from -1"),
        (np.zeros((2, 2)), [0.5, 1.0], "expected 2 integers"),
    ],
)
def test_bad_training_sets(X, y, message):
    with pytest.raises(ValueError, match=message):
        StructuredRisk(MultiClassTask(3, 2), X, y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 2), "1 classes"),
        ((2, 0), "0 features"),
        ((2, 1, np.eye(2)), "0 on the diagonal"),
        ((2, 1, -(1 - np.eye(2))), "non-negative"),
        ((2, 1, np.zeros((3, 3))), r"shape \(3, 3\)"),
    ],
)
def test_bad_tasks(arguments, message):
    with pytest.raises(ValueError, match=message):
        MultiClassTask(*arguments)


def test_scores_that_overflow_are_refused():
    task = MultiClassTask(2, 2)
    with pytest.raises(ValueError, match=r"scores that overflow.*StandardScaler"):
        task.scores(np.full(4, 1e200), np.full((3, 2), 1e200))


class OneByOne:
    """Three classes without the fast ways of `MultiClassTask`."""

    def __init__(self):
        self._task = MultiClassTask(3, 3)
        self.dimension = 9

    def __getattr__(self, name):
        if name in ("joint_feature", "loss", "predict", "most_violated"):
            return getattr(self._task, name)
        raise AttributeError(name)


def test_pandas_is_taken_by_position():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 3)), rng.integers(0, 3, 24)
    labels = rng.permutation(24)
    table, column = pd.DataFrame(X, index=labels, columns=list("abc")), pd.Series(y, index=labels)
    expected = StructuredSVM(OneByOne(), max_iter=60).fit(X, y)
    found = StructuredSVM(OneByOne(), max_iter=60).fit(table, column)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert found.predict(table) == expected.predict(X)


@pytest.mark.parametrize("loss", [np.inf, 1e300])
def test_losses_that_overflow(loss):
    with pytest.raises(ValueError, match="expected at most"):
        MultiClassTask(2, 2, [[0.0, loss], [loss, 0.0]])


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1.0, 2.0], "a", "class 'a': expected a whole number from 0 to 2"),
        ([1.0, 2.0], 1.0, "class 1.0: expected"),
        ([1.0, 2.0], 3, "class 3: expected"),
        ([1.0, 2.0], -1, "class -1: expected"),
        (1.0, 0, r"features of shape \(\): expected \(2,\)"),
        (np.array([1j, 0]), 0, "x has complex entries"),
    ],
)
def test_joint_feature_checks_its_input(x, y, message):
    with pytest.raises(ValueError, match=message):
        MultiClassTask(3, 2).joint_feature(x, y)


@pytest.mark.parametrize("C", [10**400, np.float64(1e308), 1e-320, np.inf])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_prices_without_a_strength(C):
    with pytest.raises(ValueError, match="C is"):
        StructuredSVM(MultiClassTask(2, 2), C=C).fit(np.eye(2), [0, 1])


def test_complex_features_are_refused():
    with pytest.raises(ValueError, match="X has complex entries"):
        StructuredSVM(MultiClassTask(2, 2)).fit(1j * np.eye(2), [0, 1])


@pytest.mark.parametrize("model", [StructuredSVM, LinearJKSE, TransferSVM])
def test_a_sparse_matrix_is_named(model):
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    message = r"a sparse matrix of shape \(4, 4\): expected a sequence of samples or a dense array"
    others = [np.zeros(4)] if model is TransferSVM else []
    fitted = model(MultiClassTask(2, 4)).fit(X, y, *others)
    with pytest.raises(ValueError, match=message):
        fitted.predict(csr_array(X))
    with pytest.raises(ValueError, match=message):
        fitted.fit(csr_array(X), y, *others)
