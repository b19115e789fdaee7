"""The taxonomic SVM against a QP with all constraints written out, and against Crammer and Singer's SVM."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from ermlab.taxonomy.taxonomic_svm import TaxonomicSVM

SOLVERS = ("blocks", "planes")


def problem(seed, n=14, k=3):
    """Return a kernel, labels with each class at least once, a covariance and losses."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    K = np.exp(-np.square(X[:, None] - X[None]).sum(axis=-1))
    y = np.append(np.arange(k), rng.integers(k, size=n - k))
    A = rng.normal(size=(k, k))
    loss = rng.uniform(0.1, 3.0, size=(k, k)) * (1 - np.eye(k))
    return K, y, A @ A.T, loss, 10.0 ** rng.uniform(-2, 2)


def full_qp(K, true, B, loss, C, rescaling):
    """Return the optimum with the joint kernel formed and a constraint for each pair of classes."""
    n, k = true.shape
    values, vectors = np.linalg.eigh(np.kron(K, B))
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    w, xi = cp.Variable(n * k), cp.Variable(n, nonneg=True)
    scores = cp.reshape(features @ w, (n, k), order="C")
    constraints = []
    for i in range(n):
        for a in np.flatnonzero(true[i]):
            for z in np.flatnonzero(~true[i]):
                margin = scores[i, z] - scores[i, a]
                lost = loss[a, z] * (1 + margin) if rescaling == "slack" else loss[a, z] + margin
                constraints.append(xi[i] >= lost)
    qp = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + C * cp.sum(xi)), constraints)
    return qp.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)


def objective(model, K, true, B, loss, C, rescaling):
    """Return the objective of the coefficients by its definition."""
    scores = K @ model.dual_coef_ @ B
    total = 0.5 * np.trace(model.dual_coef_.T @ scores)
    for i in range(len(K)):
        pairs = [(a, z) for a in np.flatnonzero(true[i]) for z in np.flatnonzero(~true[i])]
        margins = [scores[i, z] - scores[i, a] for a, z in pairs]
        losses = [loss[a, z] for a, z in pairs]
        lost = [d * (1 + m) if rescaling == "slack" else d + m for d, m in zip(losses, margins, strict=True)]
        total += C * max([0.0, *lost])
    return total


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_both_solvers_reach_the_optimum_of_the_full_problem(rescaling, seed):
    K, y, B, loss, C = problem(seed)
    true = np.eye(3, dtype=bool)[y]
    optimum = full_qp(K, true, B, loss, C, rescaling)
    for solver in SOLVERS:
        model = TaxonomicSVM(B, loss, C, rescaling, solver=solver, tol=1e-5).fit(K, y)
        assert model.gap_ <= 1e-5
        assert model.objective_ == pytest.approx(objective(model, K, true, B, loss, C, rescaling), rel=1e-9)
        assert optimum * (1 - 1e-6) <= model.objective_ <= optimum * (1 + 2e-5)


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_several_classes_a_sample(seed):
    K, _, B, loss, C = problem(seed, n=12, k=4)
    true = np.random.default_rng(seed).random((12, 4)) < 0.4
    true[np.arange(4), np.arange(4)] = True
    true[-1], true[-2] = True, False  # all classes, and none: no mistake is possible
    model = TaxonomicSVM(B, loss, C, tol=1e-5, multilabel=True).fit(K, true)
    assert model.objective_ == pytest.approx(objective(model, K, true, B, loss, C, "margin"), rel=1e-9)
    optimum = full_qp(K, true, B, loss, C, "margin")
    assert optimum * (1 - 1e-6) <= model.objective_ <= optimum * (1 + 2e-5)
    assert not model.dual_coef_[-2:].any()


def test_one_class_a_sample_is_the_same_with_and_without_multilabel():
    K, y, B, loss, C = problem(1)
    single = TaxonomicSVM(B, loss, C, solver="planes", tol=1e-6).fit(K, y)
    several = TaxonomicSVM(B, loss, C, multilabel=True, tol=1e-6).fit(K, np.eye(3)[y])
    assert np.array_equal(single.dual_coef_, several.dual_coef_)


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    return X, np.argmax(X @ rng.normal(size=(5, 4)) + 0.5 * rng.normal(size=(120, 4)), axis=1)


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("solver", SOLVERS)
def test_without_a_covariance_it_is_crammer_and_singer(points, C, solver):
    X, y = points
    peer = LinearSVC(multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-9, max_iter=1_000_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        peer.fit(X, y)
    model = TaxonomicSVM(C=C, solver=solver, tol=1e-6).fit(X @ X.T, y)
    new = np.random.default_rng(1).normal(size=(50, 5))
    scores = peer.decision_function(new)
    np.testing.assert_allclose(model.decision_function(new @ X.T), scores, atol=2e-3 * np.abs(scores).max())


def test_features_give_the_same_as_their_kernel(points):
    X, y = points
    A = np.random.default_rng(2).normal(size=(4, 4))
    by_kernel = TaxonomicSVM(A @ A.T, solver="planes", tol=1e-7).fit(X @ X.T, y)
    by_features = TaxonomicSVM(A @ A.T, kernel="linear", tol=1e-7).fit(X, y)
    assert by_features.objective_ == pytest.approx(by_kernel.objective_, rel=1e-6)
    new = X[::-1][:30] + 0.1
    np.testing.assert_allclose(
        by_features.decision_function(new), by_kernel.decision_function(new @ X.T), atol=1e-2
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_threads_and_repeats_change_nothing(solver):
    K, y, B, loss, _ = problem(3, n=600, k=5)
    first, *others = (
        TaxonomicSVM(B, loss, C=0.1, solver=solver, n_jobs=threads, tol=0.1).fit(K, y)
        for threads in (1, 2, 2)
    )
    for other in others:
        assert np.array_equal(first.dual_coef_, other.dual_coef_)
        assert np.array_equal(first.decision_function(K), other.decision_function(K))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", [1e-8, 1e-4])
def test_a_small_price_does_not_give_zero_weights(points, C, solver):
    """By the share of the objective alone w = 0 is as good; the classes are told apart all the same."""
    X, y = points
    model = TaxonomicSVM(C=C, solver=solver).fit(X @ X.T, y)
    assert model.dual_coef_.any()
    assert np.mean(model.predict(X @ X.T) == y) > 0.6


def test_labels_are_what_was_given_and_a_clone_forgets_them(points):
    X, y = points
    names = np.array(["ash", "birch", "cedar", "dogwood"])
    model = TaxonomicSVM().fit(X @ X.T, names[y])
    assert list(model.classes_) == list(names)
    assert set(model.predict(X @ X.T)) <= set(names)
    assert len(model.iteration_seconds_) == model.n_iter_
    with pytest.raises(NotFittedError):
        clone(model).predict(X @ X.T)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rescaling": "both"}, "rescaling is 'both'"),
        ({"kernel": "rbf"}, "kernel is 'rbf'"),
        ({"solver": "magic"}, "solver is 'magic'"),
        ({"C": 0.0}, "C is 0.0"),
        ({"tol": 0.0}, "tol is 0.0"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"B": np.eye(4)}, r"B has shape \(4, 4\) and y 3 classes"),
        ({"B": np.diag([1.0, 1.0, -0.5])}, "B has the eigenvalue -0.5"),
        ({"B": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]}, r"B is 0.5 at \(0, 1\)"),
        ({"B": np.diag([1.0, np.nan, 1.0])}, "B is nan for classes 1 and 1"),
        ({"B_loss": np.ones((3, 3))}, "a diagonal up to 1.0"),
        ({"B_loss": np.eye(3) - 1}, "entries down to -1.0"),
        ({"B_loss": np.ones((2, 3))}, r"B_loss has shape \(2, 3\)"),
        ({"multilabel": True, "solver": "blocks"}, "solver is 'blocks'"),
        ({"multilabel": True}, "y of shape"),
    ],
)
def test_wrong_options_are_named(options, message):
    K, y, *_ = problem(0)
    with pytest.raises(ValueError, match=message):
        TaxonomicSVM(**options).fit(K, y)


def test_wrong_data_are_named():
    K, y, B, *_ = problem(0)
    with pytest.raises(ValueError, match=r"kernel matrix has shape \(14, 13\)"):
        TaxonomicSVM().fit(K[:, 1:], y)
    with pytest.raises(ValueError, match="y 2 classes"):
        TaxonomicSVM(B).fit(K, np.minimum(y, 1))
    with pytest.raises(ValueError, match="1 class"):
        TaxonomicSVM().fit(K, np.zeros(14, dtype=int))
    with pytest.raises(ValueError, match="class 1 has no sample"):
        TaxonomicSVM(multilabel=True).fit(K, np.tile([1, 0, 1], (14, 1)))
    broken = K.copy()
    broken[2, 5] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        TaxonomicSVM().fit(broken, y)
    broken[2, 5] = 7.0
    with pytest.raises(ValueError, match=r"not symmetric: 7\.0 for samples 2 and 5"):
        TaxonomicSVM().fit(broken, y)
    with pytest.raises(ValueError, match=r"K is -1\.0 at \(0, 0\): expected a positive semidefinite"):
        TaxonomicSVM().fit(-K, y)
    alike = np.equal.outer(y, y)
    with pytest.raises(ValueError, match="positive semidefinite kernel"):
        TaxonomicSVM(solver="planes").fit(np.eye(14) - alike.astype(float), y)
    with pytest.raises(ValueError, match="14 features"):
        TaxonomicSVM().fit(K, y).predict(K[:, 1:])


def test_an_early_stop_and_weights_of_zero_warn():
    K, y, *_ = problem(0)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations"):
        TaxonomicSVM(C=10.0, tol=1e-9, max_iter=1).fit(K, y)
    with pytest.warns(ConvergenceWarning, match="w is 0"):
        TaxonomicSVM(B=np.zeros((3, 3))).fit(K, y)


SCORES_A_CLASS = "two classes have a column of scores each, as more have"


@parametrize_with_checks(
    [TaxonomicSVM(kernel="linear")],
    expected_failed_checks=lambda _: {
        "check_classifiers_classes": SCORES_A_CLASS,
        "check_classifiers_train": SCORES_A_CLASS,
    },
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_more_classes_than_are_numbered():
    n = 2**15 + 1
    with pytest.raises(ValueError, match="y has 32769 classes: expected at most 32768"):
        TaxonomicSVM(kernel="linear").fit(np.ones((n, 1)), np.arange(n))


@pytest.mark.parametrize("solver", ["blocks", "planes"])
def test_one_feature_whose_scores_cancel(solver):
    """Where the squared length of w is 0 but for rounding, rounding may leave less than 0."""
    X = np.random.default_rng(0).normal(size=(24, 1))
    y = np.random.default_rng(0).permutation(24) % 3
    model = TaxonomicSVM(solver=solver).fit(X @ X.T, y)
    expected = TaxonomicSVM(kernel="linear").fit(X, y)
    assert model.objective_ == pytest.approx(expected.objective_, rel=2e-3)


@pytest.mark.parametrize(
    ("K", "options", "message"),
    [
        (
            1e300 * np.eye(4),
            {},
            r"entries up to 1e\+300, B up to 1, and C is 1.0: expected .* cannot overflow",
        ),
        (np.eye(4), {"C": 1e-320}, "C is 1e-320 for 4 samples: expected a finite C n"),
        (np.eye(4), {"C": 1e308}, r"C is 1e\+308 for 4 samples: expected a finite C n"),
        (np.eye(4), {"B": 1e308 * np.eye(2)}, r"B goes up to 1e\+308: expected at most 4.49e\+307"),
        (1e308 * np.eye(4), {}, r"the kernel has entries up to 1e\+308: expected at most 4.49e\+307"),
    ],
)
def test_numbers_that_overflow(K, options, message):
    with pytest.raises(ValueError, match=message):
        TaxonomicSVM(**options).fit(K, [0, 1, 0, 1])


@pytest.mark.parametrize("options", [{"solver": "planes"}, {"solver": "blocks"}, {"kernel": "linear"}])
def test_certificate_holds_where_rounding_decides(options):
    # The squared length of w is rounding alone; divided by lam it was a lower bound far above the optimum.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 3)), np.arange(24) % 3
    K = X if "kernel" in options else X @ X.T
    for C in (1e12, 1e30):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = TaxonomicSVM(C=C, max_iter=40, **options).fit(K, y)
        assert model.gap_ > 1e-3  # nothing is certain


def test_certificate_of_a_small_optimum():
    # Two far points: the optimum is 1e-14 of the value at w = 0, which a gap must be measured by no more.
    X, y = np.array([[1.0, 0.0], [-1.0, 1e-3], [0.9, 0.3]]), [0, 1, 0]
    for options in ({"solver": "planes"}, {"solver": "blocks"}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            rough = TaxonomicSVM(C=1e14, tol=1e-3, **options).fit(X @ X.T, y)
            exact = TaxonomicSVM(C=1e4, tol=1e-6, solver="blocks").fit(X @ X.T, y)
        if rough.gap_ <= 1e-3:  # beyond the margin, C makes no difference
            assert rough.objective_ == pytest.approx(exact.objective_, rel=2e-3)
