"""Invariant SVM: peers, bit-identity with the plain SVM, what is recorded, and bad input."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import LinearSVC

from ermlab._utils.parallel import over_ranges
from ermlab.structured import _hinge_bags
from ermlab.structured.invariant import InvariantSVM


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1, -1)


@pytest.fixture
def bags(sample):
    X, y = sample
    rng = np.random.default_rng(1)
    shifts = 0.5 * rng.normal(size=(60, 7, 5))
    shifts[:, 0] = 0
    return X[:, None] + shifts, y


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [0.01, 1, 30])
def test_plain_svm_agrees_with_liblinear(sample, C, intercept):
    X, y = sample
    ours = InvariantSVM(C=C, tol=1e-8, fit_intercept=intercept).fit(X, y)
    peer = LinearSVC(C=C, loss="hinge", tol=1e-10, max_iter=10**6, fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_[0], atol=1e-5)
    assert ours.intercept_ == pytest.approx(np.ravel(peer.intercept_)[0], abs=1e-5)


def test_mean_agrees_with_liblinear_on_all_virtual_samples(bags):
    X, y = bags
    ours = InvariantSVM(C=2.0, tol=1e-8, choice="mean").fit(X, y)
    peer = LinearSVC(C=2.0 / 7, loss="hinge", tol=1e-10, max_iter=10**6, fit_intercept=False)
    peer.fit(X.reshape(-1, 5), np.repeat(y, 7))
    np.testing.assert_allclose(ours.coef_, peer.coef_[0], atol=1e-5)


@pytest.mark.parametrize("choice", ["worst", "mean"])
def test_identity_alone_gives_the_bits_of_the_plain_svm(sample, choice):
    X, y = sample
    plain = InvariantSVM(C=3.0, fit_intercept=True).fit(X, y)
    one = InvariantSVM(C=3.0, fit_intercept=True, choice=choice).fit(X[:, None], y)
    np.testing.assert_array_equal(one.coef_, plain.coef_)
    assert one.intercept_ == plain.intercept_
    assert one.result_.value == plain.result_.value


def test_copies_of_the_identity_give_the_bits_of_the_plain_svm_and_are_not_chosen(sample):
    X, y = sample
    plain = InvariantSVM(C=3.0).fit(X, y)
    copies = InvariantSVM(C=3.0).fit(np.repeat(X[:, None], 6, axis=1), y)
    np.testing.assert_array_equal(copies.coef_, plain.coef_)
    assert copies.n_virtual_ == plain.n_virtual_ == 60
    assert (copies.support_[:, 1] == 0).all()


def test_rows_in_any_order_with_groups_are_the_same_bags(bags):
    X, y = bags
    shuffled = np.random.default_rng(2).permutation(60 * 7)
    groups = np.repeat(np.arange(60), 7)[shuffled]
    in_bags = InvariantSVM(tol=1e-7).fit(X, y)
    in_rows = InvariantSVM(tol=1e-7).fit(X.reshape(-1, 5)[shuffled], y, groups=groups)
    np.testing.assert_allclose(in_rows.coef_, in_bags.coef_, atol=1e-3)
    assert in_rows.result_.value == pytest.approx(in_bags.result_.value, rel=1e-6)


def test_weights_are_repetitions(bags):
    X, y = bags
    weights = np.arange(60) % 3
    kept = np.repeat(np.arange(60), weights)
    weighted = InvariantSVM(tol=1e-8).fit(X, y, sample_weight=weights)
    repeated = InvariantSVM(tol=1e-8).fit(X[kept], y[kept])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)


def test_single_precision_is_not_copied_and_as_good(bags, monkeypatch):
    X, y = bags
    kept = []
    monkeypatch.setattr(
        "ermlab.structured.invariant.WorstHingeRisk",
        lambda bags: kept.append(bags.X) or _hinge_bags.WorstHingeRisk(bags),
    )
    X32 = X.astype(np.float32)
    single = InvariantSVM(tol=1e-7).fit(X32, y)
    assert np.shares_memory(kept[0], X32)
    double = InvariantSVM(tol=1e-7).fit(X32.astype(float), y)
    np.testing.assert_array_equal(single.coef_, double.coef_)


def test_threads_change_no_bit(bags, monkeypatch):
    X, y = bags
    one = InvariantSVM().fit(X, y)
    monkeypatch.setattr(_hinge_bags, "over_ranges", lambda work, n, grain: over_ranges(work, n, 2, 16))
    two = InvariantSVM().fit(X, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_support_holds_the_weights(bags):
    """The weights are a combination of the support alone, each of which lies on or inside its margin."""
    X, y = bags
    svm = InvariantSVM(C=0.5, tol=1e-9).fit(X, y)
    sample, which = svm.support_.T
    directions = y[sample, None] * X[sample, which]
    residual = np.linalg.lstsq(directions.T, svm.coef_, rcond=None)[1]
    assert residual.size == 0 or residual[0] < 1e-12
    assert (directions @ svm.coef_ <= 1 + 1e-3).all()
    assert len(sample) <= svm.n_virtual_ < X.shape[0] * X.shape[1]


def test_the_worst_virtual_samples_are_right_when_they_can_be():
    """Points on a circle around (3, 0) and (-3, 0), turned by any angle around their center."""
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    ring = np.column_stack([np.cos(angles), np.sin(angles)])
    bags = np.stack([ring + np.array([3, 0]), ring - np.array([3, 0])])
    plain = InvariantSVM(C=1e3).fit(bags[:, 5], [1, -1])
    invariant = InvariantSVM(C=1e3, tol=1e-9).fit(bags, [1, -1])
    rows = invariant.decision_function(bags.reshape(-1, 2)).reshape(2, -1)
    assert (np.sign(rows) == [[1], [-1]]).all()
    np.testing.assert_allclose(invariant.decision_function(bags), rows.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(invariant.coef_, [0.5, 0], atol=1e-4)  # the margin touches both circles
    assert plain.coef_[1] != pytest.approx(0)
    np.testing.assert_array_equal(invariant.predict([[4.0, 0], [-4, 0]]), [1, -1])


def test_l1_drops_features_that_do_not_help(sample):
    X, y = sample
    svm = InvariantSVM(C=0.1, penalty="l1").fit(X, y)
    assert svm.coef_[0] > 0
    assert (svm.coef_[1:] == 0).all()
    assert not hasattr(svm, "support_")


def test_estimator_manners(bags):
    X, y = bags
    with pytest.raises(NotFittedError):
        InvariantSVM().predict(X)
    assert clone(InvariantSVM(C=7)).C == 7
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        InvariantSVM(C=100, tol=1e-9, max_iter=2).fit(X, y)
    for wrong in (np.zeros((2, 3)), np.zeros((2, 4, 3))):
        with pytest.raises(ValueError, match="X has 3 features, but InvariantSVM is expecting 5 features"):
            InvariantSVM().fit(X, y).decision_function(wrong)


@pytest.mark.parametrize("labels", [(0, 1), (False, True), ("car", "none"), (2.0, 7.0)])
def test_any_two_labels(bags, labels):
    X, y = bags
    signs, named = InvariantSVM().fit(X, y), InvariantSVM().fit(X, np.where(y > 0, labels[1], labels[0]))
    np.testing.assert_array_equal(named.coef_, signs.coef_)
    assert named.classes_.tolist() == list(labels)
    assert (named.predict(X) == np.where(signs.predict(X) > 0, *reversed(named.classes_))).all()


def test_bags_in_cross_validation(bags):
    X, y = bags
    scores = cross_val_score(InvariantSVM(), X, np.where(y > 0, "yes", "no"), cv=3)
    assert (scores > 0.7).all()
    search = GridSearchCV(InvariantSVM(), {"C": [1e-3, 1.0]}, scoring="roc_auc", cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    assert len(search.predict(X)) == len(y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ones(60), "y has one class, "),
        (np.arange(60) % 3, "Only binary classification is supported. y has 3 classes: expected two"),
        (np.ones(3), r"labels of shape \(3,\): expected 60"),
        (np.linspace(0, 1, 60), "Unknown label type"),
    ],
)
def test_labels_that_are_not_two(bags, y, message):
    with pytest.raises(ValueError, match=message):
        InvariantSVM().fit(bags[0], y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0}, "C is 0"),
        ({"C": np.nan}, "C is nan"),
        ({"penalty": "l3"}, "penalty is 'l3'"),
        ({"choice": "best"}, "choice is 'best'"),
        ({"tol": -1}, "tol is -1"),
        ({"intercept_scaling": 0}, "intercept_scaling is 0"),
    ],
)
def test_bad_options(bags, options, message):
    with pytest.raises(ValueError, match=message):
        InvariantSVM(**options).fit(*bags)


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (np.ones(3), [1, 1, 1], {}, "Expected 2D array, got 1D array"),
        (np.ones((2, 0, 3)), [1, 1], {}, r"bags of shape \(2, 0, 3\)"),
        (np.ones((2, 2, 3)), [1, 1, 1], {}, r"labels of shape \(3,\): expected 2"),
        (np.ones((2, 2, 3)), [1, -1], {"groups": [0, 0, 1, 1]}, "groups given for bags"),
        (np.ones((3, 3)), [1, -1], {"groups": [0, 1]}, "expected 3 integers"),
        (np.ones((3, 3)), [1, -1], {"groups": [0.0, 1, 1]}, "groups of type float64"),
        (np.ones((3, 3)), [1, -1], {"groups": [0, -1, 1]}, "groups has -1"),
        (np.ones((3, 3)), [1, -1, 1], {"groups": [0, 0, 2]}, "no row belongs to sample 1"),
        (np.ones((2, 2)), [1, -1], {"sample_weight": [1, -1]}, "sample_weight"),
        (np.ones((2, 2)), [1, -1], {"sample_weight": [1]}, "expected 2 finite"),
        (np.array([[1.0], [np.nan]]), [1, -1], {}, "virtual sample 1 has NaN"),
        (np.array([[1.0], [np.inf]], dtype=np.float32), [1, -1], {}, "virtual sample 1 has NaN"),
    ],
)
def test_bad_input(X, y, options, message):
    with pytest.raises(ValueError, match=message):
        InvariantSVM().fit(X, y, **options)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([0, 1, 10**15], "groups has 1000000000000000: expected less than 3, the number of rows"),
        (np.array([0, 1, 3], dtype=np.uint64), "groups has 3: expected less than 3"),
    ],
)
def test_groups_beyond_the_rows(groups, message):
    with pytest.raises(ValueError, match=message):
        InvariantSVM().fit(np.eye(3), [1, -1], groups)


def test_groups_of_any_type_of_integer(bags):
    X, y = bags
    X, groups = X.reshape(-1, X.shape[2]), np.repeat(np.arange(X.shape[0]), X.shape[1])
    expected = InvariantSVM().fit(X, y, groups).coef_
    np.testing.assert_array_equal(InvariantSVM().fit(X, y, groups.astype(np.uint64)).coef_, expected)


@pytest.mark.parametrize(
    ("scale", "options", "message"),
    [
        (1e200, {}, "virtual sample 0 has the squared norm inf"),
        (1.0, {"fit_intercept": True, "intercept_scaling": 1e200}, r"its constant feature 1e\+200"),
        (1.0, {"C": 1e308}, r"C is 1e\+308 for 2 samples"),
        (1.0, {"C": 1e307, "weights": [100.0, 1.0]}, "bag 0 has weight 50.0, alpha is "),
    ],
)
def test_numbers_that_overflow(scale, options, message):
    options = options.copy()
    weights = options.pop("weights", None)
    with pytest.raises(ValueError, match=message):
        InvariantSVM(**options).fit(scale * np.eye(2), [1, -1], sample_weight=weights)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e308])
def test_scores_that_are_not_finite(bad):
    model = InvariantSVM(C=100.0).fit(np.array([[0.1], [-0.1]]), [1, -1])
    with pytest.raises(ValueError, match=r"features of shape \(2, 1\) have scores with NaN or infinity"):
        model.decision_function([[1.0], [bad]])


def test_weights_too_large_for_single_precision():
    X = np.array([[1.0], [-1.0]]) * 1e-40
    model = InvariantSVM(C=1e300).fit(X, [1, -1])
    assert model.coef_[0] > np.finfo(np.float32).max
    scores = model.decision_function(X.astype(np.float32))
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-3)


def test_complex_features_are_refused():
    with pytest.raises(ValueError, match="Complex data not supported"):
        InvariantSVM().fit(1j * np.eye(2), [1, -1])
    with pytest.raises(ValueError, match="Complex data not supported"):
        InvariantSVM().fit(np.eye(2), [1, -1]).decision_function(1j * np.eye(2))


def test_masked_features_are_refused():
    X = np.ma.masked_equal(np.eye(2), 1)
    with pytest.raises(ValueError, match="X has masked entries"):
        InvariantSVM().fit(X, [1, -1])


@pytest.mark.parametrize("C", [10**400, "1", None, np.array([1.0, 2.0])])
def test_prices_that_are_no_numbers(C):
    with pytest.raises(ValueError, match="C is"):
        InvariantSVM(C=C).fit(np.eye(2), [1, -1])
