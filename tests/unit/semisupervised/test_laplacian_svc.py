import warnings

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy.linalg import sqrtm
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from ermlab.semisupervised import LaplacianSVC, graph_laplacian, neighbor_graph
from ermlab.semisupervised._hinge import best_intercept, certified, solve_hinge

#: scikit-learn excepts its own semi-supervised classifiers, by name, from labels of -1 in this check.
MARKER = {"check_classifiers_classes": "-1 marks unlabeled samples, and is one of two labels here"}


@parametrize_with_checks(
    [LaplacianSVC(unlabeled=None), LaplacianSVC(kernel="linear", unlabeled=None), LaplacianSVC()],
    expected_failed_checks=lambda estimator: MARKER if estimator.unlabeled == -1 else {},
)
def test_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def partly_labeled(m=40, n=14, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3)) + 0.5
    y = (X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.5 * rng.normal(size=m) > 1).astype(int)
    y[rng.permutation(m)[n:]] = -1
    return X, y


def optimum_by_cvxpy(K, L, y, C, laplacian_alpha):
    """The objective of the class, in values of h on all samples: |h|^2 = h' K^-1 h."""
    labeled = y != -1
    signs, m = 2.0 * y[labeled] - 1, len(y)
    Z = np.real(sqrtm(K))
    Z = Z - Z[labeled].mean(axis=0)
    v, b = cp.Variable(m), cp.Variable()
    M = Z.T @ L @ Z * laplacian_alpha * labeled.mean()
    values, vectors = np.linalg.eigh(M)
    root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
    hinge = cp.sum(cp.pos(1 - cp.multiply(signs, Z[labeled] @ v + b)))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(v) / 2 + C * (hinge + cp.sum_squares(root @ v))))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    return problem.value, Z @ v.value + b.value


@pytest.mark.parametrize("laplacian", ["normalized", "unnormalized"])
@pytest.mark.parametrize("laplacian_alpha", [0.0, 0.1, 5.0])
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_optimum_of_a_general_solver(laplacian, laplacian_alpha, C):
    X, y = partly_labeled()
    model = LaplacianSVC(C, laplacian_alpha, gamma=0.4, n_neighbors=4, laplacian=laplacian, tol=1e-7).fit(
        X, y
    )
    L = graph_laplacian(neighbor_graph(X, 4), normalized=laplacian == "normalized").toarray()
    value, scores = optimum_by_cvxpy(rbf_kernel(X, gamma=0.4), L, y, C, laplacian_alpha)
    assert model.objective_[0] == pytest.approx(value, rel=1e-6)
    assert model.lower_bound_[0] == pytest.approx(value, rel=1e-6)
    assert model.lower_bound_[0] <= model.objective_[0] * (1 + 1e-12)
    assert model.gap_ <= 1e-7
    decided = np.abs(scores) > 1e-2
    np.testing.assert_array_equal(model.transduction_[decided], (scores > 0)[decided])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_without_laplacian_it_is_a_support_vector_machine(kernel):
    X, y = partly_labeled()
    labeled = y != -1
    model = LaplacianSVC(2.0, 0.0, kernel, gamma=0.4, tol=1e-9).fit(X, y)
    peer = SVC(C=2.0, kernel=kernel, gamma=0.4, tol=1e-9).fit(X[labeled], y[labeled])
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))
    if kernel == "linear":
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-5)
        np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-5)


def test_several_classes_are_one_against_the_rest():
    X, y = make_blobs(90, centers=4, cluster_std=2.0, random_state=0)
    model = LaplacianSVC(1.0, 0.0, gamma=0.1, tol=1e-9).fit(X, y)
    peer = OneVsRestClassifier(SVC(C=1.0, gamma=0.1, tol=1e-9)).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-5)
    assert model.objective_.shape == (4,)
    names = np.array(["a", "b", "c", "d"])
    some = np.where(np.arange(90) % 3 == 0, names[y], "?")
    named = LaplacianSVC(unlabeled="?").fit(X, some)
    np.testing.assert_array_equal(named.classes_, names)
    same = LaplacianSVC().fit(X, np.where(np.arange(90) % 3 == 0, y, -1))
    np.testing.assert_array_equal(named.predict(X), names[same.predict(X)])


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_label_spreading_on_moons(seed):
    """Both follow the moons from two labels, which a support vector machine of the labels alone cannot."""
    X, y = make_moons(200, noise=0.05, random_state=seed)
    few = [int(np.flatnonzero(y == c)[0]) for c in (0, 1)]
    marked = np.full(200, -1)
    marked[few] = y[few]
    model = LaplacianSVC(1e4, gamma=10.0, n_neighbors=7).fit(X, marked)
    spread = LabelSpreading(kernel="rbf", gamma=100, alpha=0.99, max_iter=10_000).fit(X, marked)
    assert np.mean(model.transduction_ == y) >= 0.99
    assert np.mean(spread.transduction_ == model.transduction_) >= 0.95
    assert LaplacianSVC(1e4, 0.0, gamma=10.0).fit(X, marked).score(X, y) < 0.95


def test_best_intercept_has_the_least_loss():
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores, y = rng.normal(size=9), rng.choice([-1.0, 1.0], 9)
        y[:2] = -1, 1

        def loss(b, scores=scores, y=y):
            return np.maximum(0, 1 - y * (scores + b)).sum()

        least = min(loss(b) for b in np.concatenate([y - scores, np.linspace(-5, 5, 101)]))
        assert loss(best_intercept(scores, y)) == pytest.approx(least, abs=1e-12)


def test_certificate_holds_at_any_coefficients():
    rng = np.random.default_rng(1)
    A, y = rng.normal(size=(20, 4)), np.where(np.arange(20) < 8, 1.0, -1.0)
    K = A @ A.T
    solution = solve_hinge(K, y, 3.0, 1e-9, 100_000)
    late = solve_hinge(K, y, 3.0, 0.0, 100_000, deadline=0.0)
    assert late.lower_bound <= solution.value
    assert late.n_iter <= solve_hinge(K, y, 3.0, 0.0, 100_000).n_iter
    assert solution.relative_gap <= 1e-9
    for _ in range(20):
        other = certified(K, y, 3.0, y * rng.uniform(-1, 5, 20))
        assert other.lower_bound <= solution.value
        assert other.value >= solution.lower_bound
        assert abs(other.coef.sum()) < 1e-12


def test_pipeline_and_grid_search_take_unlabeled_samples():
    X, y = partly_labeled(120, 60)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LaplacianSVC()), {"laplaciansvc__laplacian_alpha": [0.0, 1.0]}, cv=3
    ).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    labeled = y != -1
    assert search.score(X, y) == np.mean(search.predict(X)[labeled] == y[labeled])
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    np.testing.assert_array_equal(
        LaplacianSVC().fit(frame, pd.Series(y)).predict(frame), LaplacianSVC().fit(X, y).predict(X)
    )


def test_threads_do_not_matter():
    X, y = partly_labeled(200, 60)
    model = LaplacianSVC().fit(X, y)
    with threadpool_limits(limits=2):
        np.testing.assert_array_equal(clone(model).fit(X, y).decision_function(X), model.decision_function(X))


def test_warns_unless_converged():
    X, y = partly_labeled(100, 80)
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        early = LaplacianSVC(1e3, 0.0, max_iter=3).fit(X, y)
    assert early.gap_ > 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LaplacianSVC(1e3, 0.0).fit(X, y)
    assert early.lower_bound_[0] <= model.objective_[0]
    assert early.objective_[0] >= model.lower_bound_[0]


X, Y = partly_labeled()


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({}, np.full(40, -1), "all labels are -1"),
        ({}, np.where(Y == 0, -1, Y), "y has one class, 1, besides -1"),
        ({"unlabeled": None}, np.ones(40), "one class"),
        ({}, Y[:-1], "inconsistent"),
        ({}, Y + 0.5, "continuous"),
        ({"C": 0}, Y, "C is 0"),
        ({"laplacian_alpha": np.nan}, Y, "laplacian_alpha is nan"),
        ({"tol": 0.0}, Y, "tol is 0.0"),
        ({"max_iter": 0}, Y, "max_iter is 0"),
        ({"laplacian_alpha": 1e308, "C": 1e10}, Y, "infinite"),
        ({"laplacian": lambda X: -np.eye(40), "C": 100.0}, Y, "negative eigenvalues"),
    ],
)
def test_errors(parameters, y, message):
    with pytest.raises(ValueError, match=message):
        LaplacianSVC(**parameters).fit(X, y)
