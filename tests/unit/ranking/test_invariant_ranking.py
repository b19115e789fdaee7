import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score
from threadpoolctl import threadpool_limits

from ermlab.ranking.invariant_ranking import InvariantRankingRisk, InvariantRankingSVM


def noisy_bags(n=120, T=7, d=5, seed=0):
    """Samples of two classes, each with versions around it."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 4 == 0, 1, -1)
    centers = rng.normal(size=(n, d)) + 0.7 * y[:, None]
    versions = centers[:, None] + 0.4 * rng.normal(size=(n, T, d))
    versions[:, 0] = centers
    return versions, y


def worst_risk(w, bags, y):
    """The definition: every positive at its lowest, every negative at its highest."""
    scores = bags @ w
    low, high = scores[y > 0].min(axis=1), scores[y < 0].max(axis=1)
    return np.maximum(0, 1 - low[:, None] + high).mean()


def test_gap_is_that_of_all_virtual_samples():
    bags, y = noisy_bags()
    svm = InvariantRankingSVM(10.0, tol=1e-4).fit(bags, y)
    assert svm.objective_ == pytest.approx(svm.coef_ @ svm.coef_ / 2 + 10 * worst_risk(svm.coef_, bags, y))
    assert svm.gap_ <= 1e-4
    rng = np.random.default_rng(1)
    for w in svm.coef_ + 0.2 * rng.normal(size=(200, 5)):
        assert w @ w / 2 + 10 * worst_risk(w, bags, y) >= (1 - 1e-4) * svm.objective_


def test_bags_of_one_size_are_rows_with_groups():
    bags, y = noisy_bags()
    one = InvariantRankingSVM(10.0).fit(bags, y)
    other = InvariantRankingSVM(10.0).fit(bags.reshape(-1, 5), y, np.repeat(np.arange(len(y)), 7))
    assert np.array_equal(one.coef_, other.coef_)
    assert np.array_equal(one.used_, other.used_)


def test_used_virtual_samples_are_few_and_enough():
    bags, y = noisy_bags()
    svm = InvariantRankingSVM(10.0, tol=1e-5).fit(bags, y)
    assert svm.n_virtual_ == svm.used_.sum() < bags.shape[0] * bags.shape[1]
    rows, groups = bags.reshape(-1, 5)[svm.used_], np.repeat(np.arange(len(y)), 7)[svm.used_]
    assert len(np.unique(groups)) == len(y)
    again = InvariantRankingSVM(10.0, tol=1e-5).fit(rows, y, groups)
    assert again.objective_ == pytest.approx(svm.objective_, rel=3e-5)


def test_single_precision_is_taken_as_it_is():
    bags, y = noisy_bags()
    half = InvariantRankingSVM(10.0).fit(bags.astype(np.float32), y)
    assert half.objective_ == pytest.approx(InvariantRankingSVM(10.0).fit(bags, y).objective_, rel=2e-3)


def test_the_same_for_any_number_of_threads():
    bags, y = noisy_bags(n=400)
    fits = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            fits.append(InvariantRankingSVM(10.0).fit(bags, y).coef_)
    assert np.array_equal(*fits)


def test_separable_bags_are_ranked_perfectly():
    bags, y = noisy_bags()
    bags = bags + 20 * y[:, None, None]
    svm = InvariantRankingSVM(100.0).fit(bags, y)
    assert svm.decision_function(bags[y > 0].reshape(-1, 5)).min() > (
        svm.decision_function(bags[y < 0].reshape(-1, 5)).max()
    )


def test_a_limit_on_calls_is_reported():
    bags, y = noisy_bags()
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        svm = InvariantRankingSVM(1000.0, max_iter=3).fit(bags, y)
    assert svm.gap_ > svm.tol


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": 0.0}, "C is 0.0"),
        ({"y": np.ones(120)}, "y has one class"),
        ({"y": np.arange(120) % 3}, "y has 3 classes: expected two"),
        ({"y": np.ones(3)}, "expected 120"),
        ({"bags": np.zeros((4, 0, 2))}, r"\(4, 0, 2\)"),
        ({"bags": np.full((120, 2, 2), np.nan)}, "NaN"),
        ({"groups": np.zeros(120, int)}, "groups"),
    ],
)
def test_bad_input(change, message):
    bags, y = noisy_bags()
    given = {"C": 1.0, "bags": bags, "y": y, "groups": None, **change}
    with pytest.raises(ValueError, match=message):
        InvariantRankingSVM(given["C"]).fit(given["bags"], given["y"], given["groups"])


def test_scores_need_a_fit_and_as_many_features():
    bags, y = noisy_bags()
    with pytest.raises(NotFittedError):
        InvariantRankingSVM().decision_function(bags[:, 0])
    with pytest.raises(ValueError, match="is expecting 5 features"):
        InvariantRankingSVM().fit(bags, y).decision_function(bags[:, 0, :4])


def test_any_two_labels_and_the_area_under_the_curve():
    bags, y = noisy_bags()
    signs, named = (InvariantRankingSVM().fit(bags, labels) for labels in (y, np.where(y > 0, 1, 0)))
    np.testing.assert_array_equal(named.coef_, signs.coef_)
    assert named.score(bags, y) == roc_auc_score(y, named.decision_function(bags))
    rows = named.decision_function(bags.reshape(-1, 5)).reshape(len(y), -1)
    np.testing.assert_allclose(named.decision_function(bags), rows.mean(axis=1), rtol=1e-12)
    assert cross_val_score(InvariantRankingSVM(), bags, y, cv=3).min() > 0.8


def test_clone_keeps_the_parameters():
    expected = {"C": 3.0, "tol": 0.1, "max_iter": 1000, "max_time": None, "verbose": False}
    assert clone(InvariantRankingSVM(3.0, tol=0.1)).get_params() == expected


@pytest.mark.parametrize(
    ("groups", "y", "message"),
    [
        ([0, 1, 2], [1, -1], r"labels of shape \(2,\): expected 3"),
        ([0, 1, 1], [1, 1], "y has one class"),
        ([0, 1, -1], [1, -1], "groups has -1"),
        ([0, 1], [1, -1], "expected 3 integers"),
    ],
)
def test_risk_of_groups_that_do_not_fit(groups, y, message):
    with pytest.raises(ValueError, match=message):
        InvariantRankingRisk(np.eye(3), groups, y)


def test_sums_of_features_that_overflow():
    X = np.finfo(np.float64).max * np.array([[1.0], [1.0], [-1.0], [-1.0]])
    with pytest.raises(ValueError, match="overflows: expected smaller features"):
        InvariantRankingSVM().fit(X, [1, 1, -1, -1])
