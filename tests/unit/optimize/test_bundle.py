import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.linear_model import Lasso, Ridge
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from ermlab.optimize import L1, L2, Evaluation, Planes, minimize


class InParts:
    """A risk as the sum of others."""

    def __init__(self, parts):
        self.parts, self.n_parts, self.dimension = parts, len(parts), parts[0].dimension

    def __call__(self, w):
        values, slopes = zip(*(part(w) for part in self.parts), strict=True)
        return np.array(values), np.array(slopes)


class Hinge:
    """Mean hinge loss of a linear classifier."""

    def __init__(self, X, y):
        self.X, self.y, self.dimension = X, y, X.shape[1]
        self.calls = 0

    def __call__(self, w):
        self.calls += 1
        margins = 1 - self.y * np.einsum("ij,j->i", self.X, w)
        active = margins > 0
        return margins[active].sum() / len(self.y), -np.einsum("i,ij->j", self.y * active, self.X) / len(
            self.y
        )


@pytest.fixture(scope="module")
def hinge():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    return Hinge(X, np.sign(X @ rng.normal(size=8) + 2 * rng.normal(size=300)))


def squared_error(X, y):
    def risk(w):
        residual = X @ w - y
        return residual @ residual / (2 * len(y)), X.T @ residual / len(y)

    return risk


@pytest.mark.parametrize("method", ["level", "cutting-plane"])
def test_one_plane_closed_form(method):
    # lam/2 |w|^2 + <a, w> + b has its minimum b - |a|^2 / (2 lam) at -a / lam.
    a, b, lam = np.array([1.0, -2.0]), 3.0, 0.5
    result = minimize(
        lambda w: (a @ w + b, a), L2(lam), w0=np.zeros(2), method=method, tol=1e-12, risk_lower_bound=None
    )
    np.testing.assert_allclose(result.w, -a / lam, rtol=1e-5)
    assert result.value == pytest.approx(b - a @ a / (2 * lam), rel=1e-11)
    assert result.relative_gap <= 1e-12
    assert result.converged


@pytest.mark.parametrize("method", ["level", "cutting-plane"])
@pytest.mark.parametrize(
    ("regularizer", "expected"), [(L2(0.5), 2.0), (L2(0.1), 3.0), (L1(0.5), 3.0), (L1(1.5), 0.0)]
)
def test_absolute_value_closed_form(regularizer, expected, method):
    # |w - 3| + lam/2 w^2 is least at min(3, 1 / lam); |w - 3| + lam |w| at 3 or at 0.
    result = minimize(
        lambda w: (abs(w[0] - 3), np.sign(w - 3)), regularizer, w0=[0.0], tol=1e-9, method=method
    )
    assert result.w[0] == pytest.approx(expected, abs=1e-4)
    assert result.value == pytest.approx(abs(expected - 3) + regularizer(np.array([expected])), rel=1e-8)


@pytest.mark.parametrize("linear", [0.0, -1.3, 2.0])
def test_smooth_problem_of_one_variable_against_scipy(linear):
    def softplus(w):
        return np.logaddexp(0, 1 - 2 * w[0]), np.array([-2 / (1 + np.exp(2 * w[0] - 1))])

    result = minimize(softplus, L2(0.3), w0=[5.0], linear=[linear], constant=20.0, tol=1e-10)
    truth = minimize_scalar(lambda w: softplus([w])[0] + 0.15 * w * w + linear * w + 20, tol=1e-12)
    assert result.lower_bound - 1e-9 <= truth.fun <= result.value + 1e-9
    assert result.value == pytest.approx(truth.fun, abs=1e-8)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_linear_svm_against_scikit_learn(hinge, C):
    n = len(hinge.y)
    result = minimize(hinge, L2(1 / (C * n)), tol=1e-6)
    peer = LinearSVC(
        loss="hinge", C=C, fit_intercept=False, tol=1e-8, max_iter=1_000_000, random_state=0
    ).fit(hinge.X, hinge.y)
    w = peer.coef_.ravel()
    assert result.lower_bound <= (hinge(w)[0] + w @ w / (2 * C * n)) * (1 + 1e-12)
    np.testing.assert_allclose(result.w, w, atol=2e-3)


def test_ridge_and_lasso_against_scikit_learn():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 5))
    y = X @ [2.0, 0.0, -1.0, 0.0, 0.5] + rng.normal(size=60)
    ridge = minimize(squared_error(X, y), L2(0.2), w0=np.zeros(5), tol=1e-8)
    np.testing.assert_allclose(ridge.w, Ridge(alpha=0.2 * 60, fit_intercept=False).fit(X, y).coef_, atol=1e-3)
    lasso = minimize(squared_error(X, y), L1(0.2), w0=np.zeros(5), tol=1e-6)
    np.testing.assert_allclose(lasso.w, Lasso(alpha=0.2, fit_intercept=False).fit(X, y).coef_, atol=1e-2)


def test_level_needs_fewer_calls_than_the_textbook_method(hinge):
    level, textbook = (minimize(hinge, L2(1e-3), method=m).n_iter for m in ("level", "cutting-plane"))
    assert level < 0.7 * textbook


def test_history_tells_of_every_call(hinge):
    before = hinge.calls
    result = minimize(hinge, L2(1e-2))
    history = result.history
    assert result.n_iter == hinge.calls - before == history.n_iter[-1] == len(history.value)
    assert (np.diff(history.value) <= 0).all()
    assert (np.diff(history.lower_bound) >= 0).all()
    assert (np.diff(history.seconds) >= 0).all()
    np.testing.assert_allclose(history.gap, np.subtract(history.value, history.lower_bound), atol=1e-15)
    assert history.planes[-1] == len(result.planes)


def test_recycled_planes_save_calls(hinge):
    first = minimize(hinge, L2(1e-2))
    again = minimize(hinge, L2(1.1e-2), planes=first.planes)
    cold = minimize(hinge, L2(1.1e-2))
    assert again.n_iter < cold.n_iter / 2
    assert again.value == pytest.approx(cold.value, rel=2e-3)
    # The constant plane is not added twice.
    assert (~again.planes.A.any(axis=1)).sum() == 1


def test_known_start_costs_no_call(hinge):
    solved = minimize(hinge, L2(1e-2))
    before = hinge.calls
    again = minimize(hinge, L2(1e-2), planes=solved.planes, start=solved.best)
    assert (again.n_iter, hinge.calls) == (0, before)
    assert again.value == solved.value


def test_idle_planes_are_removed(hinge):
    lean, full = (minimize(hinge, L2(1e-4), tol=1e-5, max_idle=idle) for idle in (5, None))
    assert len(full.planes) == full.n_iter + 1
    assert len(lean.planes) < len(full.planes) / 2
    assert lean.value == pytest.approx(full.value, rel=1e-4)


def test_calls_are_limited(hinge):
    result = minimize(hinge, L2(1e-4), max_iter=3)
    assert (result.n_iter, result.converged) == (3, False)
    assert result.lower_bound < result.value


@pytest.mark.parametrize("regularizer", [L1(1e-2), L2(1e-2)])
def test_same_bits_in_every_run_and_for_every_number_of_threads(regularizer):
    rng = np.random.default_rng(5)
    risk = Hinge(rng.normal(size=(200, 101)), rng.choice([-1.0, 1.0], size=200))
    results = []
    for threads in (1, 2, 2):
        with threadpool_limits(threads):
            results.append(minimize(risk, regularizer, tol=1e-4, linear=np.full(101, 1e-3), constant=1.0))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].w, other.w)
        assert results[0].history.lower_bound == other.history.lower_bound


def test_minimum_of_zero_has_no_gap():
    result = minimize(lambda w: (0.0, np.zeros(2)), L2(1.0), w0=np.zeros(2))
    assert (result.value, result.relative_gap, result.converged) == (0.0, 0.0, True)


def test_l1_without_a_lower_bound_says_what_to_do():
    with pytest.raises(ValueError, match="risk_lower_bound"):
        minimize(lambda w: (5 * w[0], np.array([5.0])), L1(1.0), w0=[0.0], risk_lower_bound=None)


def test_l1_with_a_steep_linear_term_says_what_to_do(hinge):
    with pytest.raises(ValueError, match="linear term steeper than the regularizer"):
        minimize(hinge, L1(0.1), linear=np.full(8, -100.0))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((np.nan, np.zeros(2)), "NaN"),
        ((1.0, np.array([0.0, np.inf])), "infinity"),
        ((1.0, np.zeros(3)), r"shape \(3,\): expected \(2,\)"),
        ((-1.0, np.zeros(2)), "less than risk_lower_bound = 0.0"),
    ],
)
def test_broken_risks(answer, message):
    with pytest.raises(ValueError, match=message):
        minimize(lambda w: answer, L2(1.0), w0=np.zeros(2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": -1e-3}, "tol is -0.001"),
        ({"tol": np.nan}, "tol is nan"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"method": "newton"}, "method is 'newton'"),
        ({"level": 1.0}, "level is 1.0"),
        ({"max_idle": 0}, "max_idle is 0"),
        ({"w0": np.zeros(3)}, "dimensions differ"),
        ({"w0": np.full(8, np.nan)}, "w0"),
        ({"linear": np.full(8, np.inf)}, "linear"),
        ({"planes": Planes(2)}, "dimensions differ"),
        ({"start": Evaluation(np.zeros(2), 0.0, np.zeros(2))}, "dimensions differ"),
    ],
)
def test_bad_options(hinge, options, message):
    with pytest.raises(ValueError, match=message):
        minimize(hinge, L2(1.0), **options)


def test_unknown_dimension():
    with pytest.raises(ValueError, match="dimension is unknown"):
        minimize(lambda w: (0.0, w), L2(1.0))


def test_unknown_regularizer(hinge):
    with pytest.raises(ValueError, match="expected an L1 or an L2"):
        minimize(hinge, 0.1)


@pytest.mark.parametrize("kind", [L1, L2])
@pytest.mark.parametrize("lam", [0.0, -1.0, np.nan, np.inf])
def test_bad_regularization(kind, lam):
    with pytest.raises(ValueError, match="alpha is"):
        kind(lam)


def test_regularizer_values():
    w = np.array([3.0, -4.0])
    assert L2(2.0)(w) == 25.0
    assert L1(2.0)(w) == 14.0


@pytest.mark.parametrize("method", ["level", "cutting-plane"])
@pytest.mark.parametrize("n_parts", [1, 2, 5])
def test_parts_with_planes_of_their_own_have_the_optimum_of_the_sum(hinge, method, n_parts):
    cuts = np.array_split(np.arange(300), n_parts)
    parts = InParts([Hinge(hinge.X[cut], hinge.y[cut]) for cut in cuts])
    whole = minimize(
        lambda w: tuple(sum(some) for some in zip(*(part(w) for part in parts.parts), strict=True)),
        L2(0.1),
        w0=np.zeros(8),
        tol=1e-8,
    )
    found = minimize(parts, L2(0.1), tol=1e-8, method=method)
    assert found.converged
    assert found.value == pytest.approx(whole.value, rel=1e-7)
    np.testing.assert_allclose(found.w, whole.w, atol=1e-3)
    assert set(found.planes.part) == set(range(n_parts))
    again = minimize(parts, L2(0.1), tol=1e-8, method=method, planes=found.planes, start=found.best)
    assert again.n_iter == 0


def test_wrong_parts(hinge):
    parts = InParts([hinge, hinge])
    with pytest.raises(ValueError, match="a risk of 2 parts with L1"):
        minimize(parts, L1(0.1))
    with pytest.raises(ValueError, match="planes of 1 parts for a risk of 2"):
        minimize(parts, L2(0.1), planes=Planes(8))
    parts.n_parts = 3
    with pytest.raises(ValueError, match=r"returned a value of shape \(2,\): expected \(3,\)"):
        minimize(parts, L2(0.1))


def _hinges(scale=1.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3)) * rng.choice([-1.0, 1.0], (20, 1))

    def risk(w):
        slack = 1.0 - X @ w
        active = slack > 0
        return scale * float(slack[active].sum()) / 20, -scale * X[active].sum(axis=0) / 20

    return risk


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("regularizer", "options", "message"),
    [
        (L2(0.1), {"w0": [1e200] * 3}, "the objective is inf for weights up to"),
        (L2(0.1), {"constant": np.inf}, "constant is inf"),
        (L1(0.1), {"constant": np.nan}, "constant is nan"),
        (L2(0.1), {"risk_lower_bound": np.nan}, "risk_lower_bound is nan"),
        (L2(0.1), {"linear": [1e300, 0, 0]}, "the linear term has a slope of 1e"),
        (L1(0.1), {"linear": [1e300, 0, 0]}, "the linear term has a slope of 1e"),
        (L2(1e-300), {}, "StandardScaler, or regularize more strongly"),
        (L2(0.1), {"w0": np.array([1j, 0, 0])}, "w0 has complex entries"),
        (L2(0.1), {"max_iter": np.nan}, "max_iter is nan"),
        (L2(0.1), {"max_idle": np.nan}, "max_idle is nan"),
        (L2(0.1), {"tol": 10**400}, "expected a number of at least 0"),
    ],
)
def test_numbers_beyond_the_solver_are_refused(regularizer, options, message):
    with pytest.raises(ValueError, match=message):
        minimize(_hinges(), regularizer, **{"w0": np.zeros(3), **options})


@pytest.mark.parametrize("alpha", [10**400, [[1.0]], np.array(1j)])
def test_strengths_that_are_no_numbers(alpha):
    with pytest.raises(ValueError, match="alpha"):
        L2(alpha)


def test_tolerance_below_rounding_does_no_harm():
    # With 1e-30 a master problem counted as steep that was solved to its last digit: the bound stayed low.
    exact, finer = (
        minimize(_hinges(), L2(0.1), w0=np.zeros(3), tol=tol, max_iter=60) for tol in (0.0, 1e-30)
    )
    assert finer.relative_gap < 1e-9
    assert finer.value == pytest.approx(exact.value, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-14, 1e-8, 1e8, 1e30])
def test_units_of_the_risk_do_not_matter_for_l1(scale):
    # HiGHS has absolute tolerances, and takes 1e20 for infinity.
    expected = minimize(_hinges(), L1(0.1), w0=np.zeros(3))
    result = minimize(_hinges(scale), L1(0.1 * scale), w0=np.zeros(3))
    assert result.converged
    assert result.value / scale == pytest.approx(expected.value, rel=1e-6)
    np.testing.assert_allclose(result.w, expected.w, rtol=1e-6, atol=1e-9)
