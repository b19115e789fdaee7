"""Joint kernel support estimation against a general QP, scikit-learn, and what section 3.1 says of it."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize
from scipy.sparse import csc_array, csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from ermlab.optimize import solve_simplex_qp
from ermlab.structured.jkse import JKSE, LinearJKSE, mirrored_svm, one_class_weights
from ermlab.structured.multiclass import MultiClassTask

seeds = st.integers(0, 2**32 - 1)
nus = st.sampled_from([0.05, 0.1, 0.3, 0.5, 0.75, 0.95, 1.0])


def positive_features(seed, n=12, d=4):
    return np.random.default_rng(seed).uniform(0.1, 1, size=(n, d))


def linear_kernel(pairs, others):
    return np.array([[np.dot(x, z) * (y == t) for z, t in others] for x, y in pairs])


def general_qp(K, nu):
    n = len(K)
    return minimize(
        lambda alpha: alpha @ K @ alpha,
        np.full(n, 1 / n),
        jac=lambda alpha: 2 * K @ alpha,
        bounds=[(0, 1 / (nu * n))] * n,
        constraints=LinearConstraint(np.ones((1, n)), 1, 1),
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-15},
    ).fun


@given(seed=seeds, nu=nus)
def test_minimum_is_that_of_a_general_qp(seed, nu):
    phi = np.random.default_rng(seed).normal(size=(8, 3)) + 0.5
    K = phi @ phi.T
    alpha, _ = one_class_weights(K, nu)
    assert alpha.sum() == pytest.approx(1)
    assert alpha.min() >= 0
    assert alpha.max() <= 1 / (nu * 8) + 1e-9
    assert alpha @ K @ alpha == pytest.approx(general_qp(K, nu), abs=1e-5 * K.max())


@given(seed=seeds)
def test_without_an_upper_bound_it_is_a_qp_on_the_simplex(seed):
    phi = positive_features(seed)
    K = phi @ phi.T
    alpha, _ = one_class_weights(K, 1 / 12)
    assert alpha @ K @ alpha / 2 == pytest.approx(-solve_simplex_qp(K, np.zeros(12)).value, rel=1e-5)


@given(seed=seeds, nu=nus)
def test_primal_and_dual_meet(seed, nu):
    """rho is right: with it the primal objective (3.5) is minus half of (3.7)."""
    phi = positive_features(seed)
    K = phi @ phi.T
    alpha, rho = one_class_weights(K, nu)
    slacks = np.maximum(rho - K @ alpha, 0)
    primal = 0.5 * alpha @ K @ alpha + slacks.sum() / (nu * len(K)) - rho
    assert primal == pytest.approx(-0.5 * alpha @ K @ alpha, abs=1e-5)


@given(seed=seeds, nu=nus)
def test_nu_bounds_outliers_from_above_and_weights_from_below(seed, nu):
    phi = positive_features(seed, n=20)
    K = phi @ phi.T
    alpha, rho = one_class_weights(K, nu)
    assert np.mean(K @ alpha < rho - 1e-4) <= nu + 1e-9
    assert np.mean(alpha > 0) >= nu - 1e-9  # so the expansion (3.4) is not sparse when nu is large


@given(seed=seeds, nu=nus)
def test_kernel_without_negative_values_separates_from_the_origin(seed, nu):
    phi = np.abs(np.random.default_rng(seed).normal(size=(10, 2)))
    alpha, rho = one_class_weights(phi @ phi.T, nu)
    assert rho > 0
    assert alpha @ phi @ phi.T @ alpha > 0


def test_nu_of_one_is_uniform():
    alpha, rho = one_class_weights(np.diag([1.0, 2.0, 3.0]), 1.0)
    assert np.allclose(alpha, 1 / 3)
    assert rho == pytest.approx(1.0)  # all slacks are 0 or more from the largest score on


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_of_the_kernel_does_not_matter(scale):
    phi = positive_features(0)
    alpha, rho = one_class_weights(phi @ phi.T, 0.4)
    scaled_alpha, scaled_rho = one_class_weights(scale * phi @ phi.T, 0.4)
    assert np.allclose(alpha, scaled_alpha, atol=1e-5)
    assert scaled_rho == pytest.approx(scale * rho, rel=1e-5)


def test_kernel_of_zero_leaves_the_weights_equal():
    alpha, rho = one_class_weights(np.zeros((4, 4)), 0.3)
    assert np.allclose(alpha, 0.25)
    assert rho == 0


def labelled(seed, n=30):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=n)
    return np.abs(rng.normal(0.1, 0.05, size=(n, 3)) + 2 * np.eye(3)[y]), y


def test_prediction_among_outputs_by_function_and_by_search():
    X, y = labelled(0)

    def search(x, pairs, weights):
        return max(range(3), key=lambda z: float(linear_kernel([(x, z)], pairs)[0] @ weights))

    expected = y[:10].tolist()
    for options in ({"outputs": range(3)}, {"outputs": lambda x: [0, 1, 2]}, {"search": search}):
        model = JKSE(linear_kernel, nu=0.3, **options).fit(X, y)
        assert clone(model).get_params()["nu"] == 0.3
        assert model.predict(X[:10]) == expected
    assert len(model.pairs_) == len(model.support_) == np.count_nonzero(model.alpha_)
    inside = model.decision_function(X, y)
    assert np.mean(inside < -1e-6) <= 0.3
    assert model.decision_function(X[:1], [(y[0] + 1) % 3])[0] < 0


@given(seed=seeds, C=st.sampled_from([1e-3, 0.1, 1.0, 10.0]))
def test_large_scale_form_is_the_one_class_solution(seed, C):
    """Section 3.1.4 leaves the relation of nu and C open: nu = sum(alpha) / (C n), once either is solved."""
    X, y = labelled(seed, n=9)
    model = LinearJKSE(MultiClassTask(3, 3), C=C, tol=1e-10, max_iter=100_000).fit(X, y)
    assert 0 < model.nu_ <= 1 + 1e-9
    alpha, rho = one_class_weights(
        linear_kernel(*[list(zip(X, y, strict=True))] * 2), min(model.nu_, 1.0), 1e-8
    )
    features = np.array([model.task.joint_feature(*pair) for pair in zip(X, y, strict=True)])
    assert np.allclose(model.coef_, alpha @ features, atol=1e-3)
    if model.nu_ < 1 - 1e-6:
        assert model.rho_ == pytest.approx(rho, abs=1e-3)


@given(seed=seeds, nu=st.sampled_from([0.2, 0.35, 0.55, 0.8]))
def test_every_nu_has_its_price(seed, nu):
    """The other way round: C = 1 / (nu n rho)."""
    phi = positive_features(seed)
    alpha, rho = one_class_weights(phi @ phi.T, nu, 1e-8)
    solution = mirrored_svm(phi, 1 / (nu * len(phi) * rho), tol=1e-10, max_iter=100_000)
    assert np.allclose(rho * solution.v, alpha @ phi, atol=1e-3)


@given(seed=seeds, C=st.sampled_from([0.05, 1.0, 20.0]))
def test_mirrored_copy_has_the_same_weights_at_half_the_price(seed, C):
    phi = positive_features(seed, n=8, d=3)
    mirrored, labels = np.vstack([phi, -phi]), np.repeat([1, -1], len(phi))
    v = mirrored_svm(phi, C, tol=1e-9, max_iter=100_000).v
    with_offset = SVC(kernel="linear", C=C / 2, tol=1e-8).fit(mirrored, labels)
    through_origin = LinearSVC(C=C / 2, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10**6)
    assert np.allclose(with_offset.coef_[0], v, rtol=1e-3, atol=1e-3 * np.abs(v).max())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        through_origin.fit(mirrored, labels)
    assert np.allclose(through_origin.coef_[0], v, rtol=1e-3, atol=1e-3 * np.abs(v).max())


def test_mirrored_copy_at_the_full_price_has_other_weights():
    """Once there are slacks, the same C on both copies counts each of them twice."""
    phi = positive_features(1)
    mirrored, labels = np.vstack([phi, -phi]), np.repeat([1, -1], len(phi))
    v = mirrored_svm(phi, 0.05, tol=1e-9).v
    assert np.linalg.norm(SVC(kernel="linear", C=0.05).fit(mirrored, labels).coef_[0] - v) > 0.1


@given(seed=seeds)
def test_without_slack_one_and_two_classes_agree_in_direction(seed):
    """The result of Schölkopf and others that section 3.1.4 starts from."""
    phi = positive_features(seed, n=6, d=3)
    alpha, rho = one_class_weights(phi @ phi.T, 1 / 6, 1e-8)
    assume(rho > 1e-3)
    v = mirrored_svm(phi, 1e6, tol=1e-9, max_iter=200_000).v
    assert np.allclose(alpha @ phi / rho, v, atol=1e-3 * np.abs(v).max())


def test_sparse_features_and_seeds():
    rng = np.random.default_rng(0)
    phi = rng.poisson(0.2, size=(200, 50)).astype(float)
    dense, sparse = mirrored_svm(phi, 0.1), mirrored_svm(csr_array(phi), 0.1)
    assert np.array_equal(dense.v, sparse.v)
    assert dense.gap <= 1e-4
    other = mirrored_svm(phi, 0.1, tol=1e-8, random_state=7)
    assert np.allclose(other.v, mirrored_svm(phi, 0.1, tol=1e-8).v, atol=1e-3)


def test_features_of_zero_cost_their_slack():
    solution = mirrored_svm(np.zeros((2, 3)), 0.5)
    assert solution.alpha.tolist() == [0.5, 0.5]
    assert not solution.v.any()


def test_linear_prediction():
    X, y = labelled(3)
    model = LinearJKSE(MultiClassTask(3, 3), C=1.0).fit(X, y)
    assert model.predict(X) == y.tolist()
    assert model.decision_function(X, y).max() > 0
    assert model.decision_function(X[:1], [(y[0] + 1) % 3])[0] < 0


def test_too_few_passes_are_told():
    X, y = labelled(4)
    with pytest.warns(ConvergenceWarning, match="after 1 passes with a relative gap"):
        LinearJKSE(MultiClassTask(3, 3), C=100.0, tol=1e-9, max_iter=1).fit(X, y)


@pytest.mark.parametrize(
    ("K", "nu", "message"),
    [
        ([[1, 0.5], [0.4, 1]], 0.5, "not symmetric: 0.5 at \\(0, 1\\), 0.4"),
        ([[1, 2], [2, 1]], 0.5, "eigenvalue of -1: expected a positive semidefinite"),
        ([[0, 1], [1, 0]], 0.5, "eigenvalue of -1"),
        ([[-1.0]], 0.5, "eigenvalue of -1"),
        ([[1, np.nan], [np.nan, 1]], 0.5, "kernel of pairs 0 and 1 is nan"),
        ([[1, 2]], 0.5, r"shape \(1, 2\)"),
        (np.empty((0, 0)), 0.5, r"shape \(0, 0\)"),
        ([[1]], 0.0, "nu is 0.0: expected more than 0 and at most 1"),
        ([[1]], 1.1, "nu is 1.1"),
        ([[1]], np.nan, "nu is nan"),
    ],
)
def test_bad_kernel_matrix_or_nu(K, nu, message):
    with pytest.raises(ValueError, match=message):
        one_class_weights(K, nu)


def test_bad_tol():
    with pytest.raises(ValueError, match="tol is 0"):
        one_class_weights([[1.0]], 0.5, tol=0)


@pytest.mark.parametrize("options", [{}, {"outputs": [0], "search": max}])
def test_predict_must_know_among_what(options):
    X, y = labelled(5)
    with pytest.raises(ValueError, match="outputs and search are both None"):
        JKSE(linear_kernel, **options).fit(X, y).predict(X)


def test_no_output_to_choose():
    X, y = labelled(5)
    with pytest.raises(ValueError, match="outputs is empty"):
        JKSE(linear_kernel, outputs=lambda x: []).fit(X, y).predict(X)


def test_inputs_and_outputs_must_match():
    for model in (JKSE(linear_kernel), LinearJKSE(MultiClassTask(2, 2))):
        with pytest.raises(ValueError, match="1 inputs and 2 outputs"):
            model.fit([[1, 2]], [0, 1])


def test_kernel_that_changes_its_shape():
    X, y = labelled(6)
    model = JKSE(linear_kernel, outputs=range(3)).fit(X, y)
    model.kernel = lambda pairs, others: np.full((1, len(others)), np.nan)
    with pytest.raises(ValueError, match=r"kernel of 3 and \d+ pairs has shape \(1, "):
        model.predict(X[:1])


@pytest.mark.parametrize(
    ("features", "C", "message"),
    [
        ([[1.0]], 0, "C is 0"),
        ([[1.0]], np.nan, "C is nan"),
        ([[np.inf]], 1, "NaN or infinity"),
        (np.empty((0, 2)), 1, r"shape \(0, 2\)"),
    ],
)
def test_bad_features(features, C, message):
    with pytest.raises(ValueError, match=message):
        mirrored_svm(features, C)


def test_level_of_less_than_one_sample_is_the_smallest_score():
    K = np.diag([4.0, 1.0, 2.0])
    alpha, rho = one_class_weights(K, 1e-12)
    assert rho == pytest.approx(np.min(K @ alpha))


def test_tolerance_below_rounding_ends_with_a_warning(monkeypatch):
    monkeypatch.setattr("ermlab.structured.jkse._MAX_STEPS", 10)
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.warns(ConvergenceWarning):
        alpha, _ = one_class_weights(np.exp(X @ X.T / 10), 0.5, tol=1e-300)
    assert alpha.sum() == pytest.approx(1)


def test_kernel_whose_sums_overflow():
    with pytest.raises(ValueError, match=r"kernel entries are up to 1e\+308: expected at most 2.25e\+307"):
        one_class_weights(np.diag([1e308, 1.0]), 0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": np.inf}, "C is inf"),
        ({"features": [[1.0], [-1.0]], "C": 1e308}, r"the objective is inf for C = 1e\+308"),
        ({"tol": np.nan}, "tol is nan"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"features": 1e200 * np.eye(2)}, "the squared norm of row 0 of features is inf"),
    ],
)
def test_options_of_the_mirrored_svm(options, message):
    with pytest.raises(ValueError, match=message):
        mirrored_svm(**{"features": np.eye(2), "C": 1.0} | options)


def test_sparse_features_with_columns_out_of_range():
    features = csr_array(np.eye(3))
    features.indices[1] = 1 << 20
    with pytest.raises(ValueError, match="expected 0 to 2"):
        mirrored_svm(features, 1.0)


def test_weights_too_small_to_be_inverted():
    with pytest.raises(ValueError, match="C is 1e-320"):
        LinearJKSE(MultiClassTask(2, 2), C=1e-320).fit(np.eye(2), [0, 1])


@pytest.mark.parametrize("index", [10**7, -(10**7)])
def test_sparse_features_by_columns_with_rows_out_of_range(index):
    # scipy converts such a matrix by rows, and writes to other memory.
    features = csc_array(np.eye(3))
    features.indices[1] = index
    with pytest.raises(ValueError, match="expected 0 to 2"):
        mirrored_svm(features, 1.0)


@pytest.mark.parametrize("C", [10**400, np.array([1.0, 2.0]), "1", None])
def test_prices_that_are_no_numbers(C):
    with pytest.raises(ValueError, match="C is"):
        mirrored_svm(np.eye(2), C)


def test_price_in_an_array():
    np.testing.assert_array_equal(mirrored_svm(np.eye(2), np.array(1.0)).v, mirrored_svm(np.eye(2), 1.0).v)


@pytest.mark.parametrize("y", [["a", "b"], [0.0, 1.0], [0, 5]])
def test_classes_that_are_none(y):
    with pytest.raises(ValueError, match="expected a whole number from 0 to 1"):
        LinearJKSE(MultiClassTask(2, 2)).fit(np.eye(2), y)
