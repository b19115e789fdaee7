import numpy as np
import pytest

from ermlab.optimize import L2, Surrogate, minimize


class Hinge:
    """Mean hinge loss of a linear classifier."""

    def __init__(self, X, y):
        self.X, self.y, self.dimension = X, y, X.shape[1]
        self.calls = 0

    def __call__(self, w):
        self.calls += 1
        margins = 1 - self.y * np.einsum("ij,j->i", self.X, w)
        active = margins > 0
        slope = -np.einsum("i,ij->j", self.y * active, self.X) / len(self.y)
        return margins[active].sum() / len(self.y), slope


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 6))
    return X, np.sign(X @ rng.normal(size=6) + 2 * rng.normal(size=len(X)))


@pytest.fixture(scope="module")
def exact(data):
    return {lam: minimize(Hinge(*data), L2(lam), tol=1e-7) for lam in (1.0, 1e-2, 1e-4)}


def test_a_perfect_proposal_ends_the_search(data, exact):
    optimum = exact[1e-2]
    result = minimize(Hinge(*data), L2(1e-2), propose=lambda best, gap: optimum.w)
    assert result.converged
    assert result.n_iter == 2


@pytest.mark.parametrize("lam", [1.0, 1e-2, 1e-4])
def test_nonsense_delays_the_search_but_leaves_its_certificate_right(data, exact, lam):
    rng = np.random.default_rng(1)
    asked = []

    def propose(best, gap):
        asked.append(gap)
        return 100 * rng.normal(size=6)

    result = minimize(Hinge(*data), L2(lam), tol=1e-4, propose=propose)
    assert result.converged
    assert result.lower_bound <= exact[lam].value
    assert result.value >= exact[lam].lower_bound
    # Pauses of 1, 2, 4, ... calls.
    assert 1 <= len(asked) <= 1 + np.log2(result.n_iter)


def test_a_proposer_that_knows_nothing_changes_nothing(data):
    plain = minimize(Hinge(*data), L2(1e-2))
    silent = minimize(Hinge(*data), L2(1e-2), propose=lambda best, gap: None)
    np.testing.assert_array_equal(plain.w, silent.w)
    assert plain.n_iter == silent.n_iter


def test_a_proposal_of_the_wrong_shape(data):
    with pytest.raises(ValueError, match=r"the proposal has shape \(3,\)"):
        minimize(Hinge(*data), L2(1e-2), propose=lambda best, gap: np.zeros(3))


@pytest.mark.parametrize("lam", [1.0, 1e-2, 1e-4])
def test_a_subsample_saves_calls_of_the_whole(data, exact, lam):
    X, y = data
    dear, regularizer = Hinge(X, y), L2(lam)
    surrogate = Surrogate(Hinge(X[:2000], y[:2000]), regularizer)
    result = minimize(dear, regularizer, w0=surrogate.minimizer, propose=surrogate)
    plain = minimize(Hinge(X, y), regularizer)
    assert result.converged
    assert result.n_iter == dear.calls
    assert 1.5 * result.n_iter <= plain.n_iter
    assert result.lower_bound <= exact[lam].value
    assert exact[lam].lower_bound <= result.value <= exact[lam].value * (1 + 1.1e-3)


def test_a_surrogate_that_equals_the_risk_needs_one_call(data):
    risk, regularizer = Hinge(*data), L2(1e-2)
    surrogate = Surrogate(risk, regularizer)
    before = risk.calls
    result = minimize(risk, regularizer, w0=surrogate.minimizer, propose=surrogate, tol=1e-2)
    assert result.converged
    assert risk.calls - before == 1


def test_a_surrogate_has_nothing_to_say_where_it_is_least(data):
    risk, regularizer = Hinge(*data), L2(1.0)
    result = minimize(risk, regularizer, tol=1e-6)
    assert Surrogate(risk, regularizer)(result.best, gap=1.0) is None
