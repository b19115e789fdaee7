import numpy as np
import pytest
from scipy.linalg import block_diag

from ermlab.optimize import L2, minimize
from ermlab.semisupervised import LaplacianRegularizer, LaplacianRidge, graph_laplacian, neighbor_graph
from ermlab.structured import MultiClassTask, StructuredRisk


def samples(m=30, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    return X, graph_laplacian(neighbor_graph(X, 4))


def matrix_of(X, L, alpha, laplacian_alpha, n_outputs, n_others):
    block = alpha * np.eye(X.shape[1]) + laplacian_alpha / len(X) * X.T @ L.toarray() @ X
    return block_diag(*[block] * n_outputs, alpha * np.eye(n_others))


@pytest.mark.parametrize("laplacian_alpha", [0.0, 0.7, 1e12])
@pytest.mark.parametrize(("n_outputs", "n_others"), [(1, 0), (3, 0), (2, 5)])
def test_quadratic_form(laplacian_alpha, n_outputs, n_others):
    X, L = samples()
    regularizer = LaplacianRegularizer(X, L, 0.3, laplacian_alpha, n_outputs)
    P = matrix_of(X, L, 0.3, laplacian_alpha, n_outputs, n_others)
    for seed in range(5):
        w = np.random.default_rng(seed).normal(size=len(P))
        assert regularizer(w) == pytest.approx(0.5 * w @ P @ w, rel=1e-9)
        u = regularizer.coordinates(w)
        np.testing.assert_allclose(regularizer.weights(u), w, atol=1e-6)
        a = np.random.default_rng(seed + 9).normal(size=len(P))
        assert regularizer.slopes(a) @ u == pytest.approx(a @ w, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(regularizer._slopes_of_w(regularizer.slopes(a)), a, atol=1e-6)


def test_squared_risk_has_the_closed_form():
    X, L = samples()
    y = X @ [1.0, -1.0, 0.0, 2.0]

    def risk(w):
        residual = X[:10] @ w - y[:10]
        return residual @ residual / 20, X[:10].T @ residual / 10

    regularizer = LaplacianRegularizer(X, L, 0.1, 0.8)
    result = regularizer.minimize(risk, w0=np.zeros(4), tol=1e-8)
    P = matrix_of(X, L, 0.1, 0.8, 1, 0)
    w = np.linalg.solve(X[:10].T @ X[:10] / 10 + P, X[:10].T @ y[:10] / 10)
    assert result.converged
    np.testing.assert_allclose(result.w, w, atol=1e-3)
    assert result.value == pytest.approx(risk(w)[0] + 0.5 * w @ P @ w, rel=1e-7)
    # The estimator, in its units: twice the mean loss times 10 samples.
    targets = np.concatenate([y[:10], np.full(20, np.nan)])
    ridge = LaplacianRidge(1.0, 0.8, "linear", laplacian=lambda X: L, fit_intercept=False).fit(X, targets)
    np.testing.assert_allclose(ridge.coef_, w, atol=1e-9)


@pytest.mark.parametrize("solver", ["bundle", "blocks"])
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_structured_risk(solver, rescaling):
    """The quadratic form as a generic optimizer sees it: a smooth part added to the risk."""
    X, L = samples(40, 3)
    Y = (X @ np.random.default_rng(1).normal(size=(3, 3))).argmax(axis=1)
    risk = StructuredRisk(MultiClassTask(3, 3), X[:25], Y[:25], rescaling)
    regularizer = LaplacianRegularizer(X, L, 0.05, 2.0, n_outputs=3)
    result = regularizer.minimize(risk, solver=solver, tol=1e-5)
    P = matrix_of(X, L, 0.0, 2.0, 3, 0)

    def whole(w):
        value, slope = risk(w)
        return value + 0.5 * w @ P @ w, slope + P @ w

    expected = minimize(whole, L2(0.05), w0=np.zeros(9), tol=1e-5)
    assert result.converged
    assert result.lower_bound <= expected.value
    assert expected.lower_bound <= result.value
    assert result.value == pytest.approx(regularizer(result.w) + risk(result.w)[0], rel=1e-9)
    # What the result says of the risk is in the units of the weights.
    assert result.best.risk == pytest.approx(risk(result.w)[0], rel=1e-9)
    assert result.planes.value(result.w) <= risk(result.w)[0] + 1e-9
    assert result.planes.value(result.w) == pytest.approx(risk(result.w)[0], rel=1e-6)


def test_warm_start_and_linear_term():
    X, L = samples(40, 3)
    Y = (X[:, 0] > 0).astype(int)
    risk = StructuredRisk(MultiClassTask(2, 3), X, Y)
    regularizer = LaplacianRegularizer(X, L, 0.05, 2.0, n_outputs=2)
    first = regularizer.minimize(risk, tol=1e-6)
    again = regularizer.minimize(risk, tol=1e-6, w0=first.w, planes=first.planes)
    assert again.n_iter <= 3
    v = np.linspace(-1, 1, 6) / 100
    shifted = regularizer.minimize(risk, tol=1e-6, linear=v)
    assert shifted.value == pytest.approx(
        regularizer(shifted.w) + risk(shifted.w)[0] + v @ shifted.w, rel=1e-6
    )
    assert shifted.value <= first.value + v @ first.w + 1e-9


def test_without_laplacian_it_is_l2():
    X, L = samples()
    risk = StructuredRisk(MultiClassTask(2, 4), X, (X[:, 0] > 0).astype(int))
    plain = minimize(risk, L2(0.1), tol=1e-6)
    same = LaplacianRegularizer(X, L, 0.1, 0.0, n_outputs=2).minimize(risk, tol=1e-6)
    np.testing.assert_allclose(same.w, plain.w, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, L: LaplacianRegularizer(X, L, 0.0), "alpha is 0.0"),
        (lambda X, L: LaplacianRegularizer(X, L, 1.0, -1.0), "laplacian_alpha is -1.0"),
        (lambda X, L: LaplacianRegularizer(X, L, n_outputs=0), "n_outputs is 0"),
        (lambda X, L: LaplacianRegularizer(X[:-1], L), r"L has shape \(30, 30\): expected \(29, 29\)"),
        (lambda X, L: LaplacianRegularizer(X, -L, 1e-3), "negative eigenvalues"),
        (lambda X, L: LaplacianRegularizer(1e200 * X, L), "overflow"),
        (lambda X, L: LaplacianRegularizer(X[:, :0], L), "at least one"),
        (lambda X, L: LaplacianRegularizer(X, L)(np.ones(3)), "at least 4"),
        (lambda X, L: LaplacianRegularizer(X, L).minimize(None, solver="newton"), "solver is 'newton'"),
        (lambda X, L: LaplacianRegularizer(X, L).minimize(None, bounds=(0, 1)), "bounds is given"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(*samples())


class GuessingTask(MultiClassTask):
    """Classes whose most violated one is drawn at random: an approximate search."""

    exact = False

    def __init__(self, n_classes, n_features):
        super().__init__(n_classes, n_features)
        self._rng = np.random.default_rng(0)

    def most_violated(self, w, x, y, rescaling):
        return int(self._rng.integers(self.n_classes))


@pytest.mark.parametrize("solver", ["bundle", "blocks"])
def test_a_risk_that_grows_says_so(solver):
    X, L = samples()
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    exact = LaplacianRegularizer(X, L, 0.1, 0.5, 3).minimize(
        StructuredRisk(MultiClassTask(3, 4), X, y), solver=solver, tol=1e-4
    )
    guessed = LaplacianRegularizer(X, L, 0.1, 0.5, 3).minimize(
        StructuredRisk(GuessingTask(3, 4), X, y), solver=solver, tol=1e-2
    )
    assert exact.exact
    assert not guessed.exact
    assert guessed.lower_bound <= exact.value
