import numpy as np
import pytest
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from ermlab.optimize import L1, L2, BlockRisk, minimize, minimize_blocks


class Hinge:
    """Mean hinge loss of a linear classifier, sample by sample."""

    def __init__(self, X, y):
        self.X, self.y, self.dimension = X, y, X.shape[1]
        self.planes = self.calls = 0

    def __len__(self):
        return len(self.y)

    def plane(self, i, w):
        self.planes += 1
        a = -self.y[i] * self.X[i]
        return (a, 1.0) if np.sum(a * w) + 1 > 0 else (np.zeros(self.dimension), 0.0)

    def __call__(self, w):
        self.calls += 1
        margins = 1 - self.y * np.einsum("ij,j->i", self.X, w)
        slope = -np.einsum("i,ij->j", self.y * (margins > 0), self.X)
        return np.maximum(margins, 0).mean(), slope / len(self.y)


@pytest.fixture
def hinge():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    return Hinge(X, np.sign(X @ rng.normal(size=8) + rng.normal(size=60)))


@pytest.mark.parametrize(("lam", "w"), [(2.0, 0.5), (0.5, 1.0)])
def test_one_sample_closed_form(lam, w):
    # max(1 - w, 0) + lam/2 w^2 is least at min(1, 1 / lam).
    result = minimize_blocks(Hinge(np.ones((1, 1)), np.ones(1)), L2(lam), tol=1e-9)
    assert result.w[0] == pytest.approx(w)
    assert result.value == pytest.approx(1 - w + lam / 2 * w * w)
    assert result.converged


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_linear_svm_against_scikit_learn(hinge, C):
    lam = 1 / (C * len(hinge))
    result = minimize_blocks(hinge, L2(lam), tol=1e-5)
    peer = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-8, max_iter=1_000_000, random_state=0)
    w = peer.fit(hinge.X, hinge.y).coef_.ravel()
    assert result.converged
    assert result.lower_bound <= (hinge(w)[0] + lam / 2 * w @ w) * (1 + 1e-12)
    assert result.value == pytest.approx(hinge(w)[0] + lam / 2 * w @ w, rel=2e-5)
    np.testing.assert_allclose(result.w, w, atol=1e-2)


def test_value_bound_and_planes_belong_together(hinge):
    regularizer = L2(0.01)
    result = minimize_blocks(hinge, regularizer)
    assert result.value == pytest.approx(hinge(result.w)[0] + regularizer(result.w), rel=1e-12)
    assert result.relative_gap <= 1e-3
    assert result.best.risk == pytest.approx(hinge(result.w)[0], rel=1e-12)
    for w in np.random.default_rng(1).normal(size=(20, 8)):
        assert result.planes.value(w) <= hinge(w)[0] + 1e-12
    # The first plane alone carries the lower bound; the bundle method can go on from there.
    a, b = result.planes.A[0], result.planes.b[0]
    assert b - a @ a / (2 * regularizer.alpha) == pytest.approx(result.lower_bound, rel=1e-12)
    more = minimize(hinge, regularizer, planes=result.planes, tol=1e-5)
    assert result.lower_bound <= more.value + 1e-12
    assert more.lower_bound <= result.value + 1e-12


def test_history_tells_of_every_call(hinge):
    result = minimize_blocks(hinge, L2(1e-3), tol=1e-4)
    history = result.history
    assert (
        result.n_iter == hinge.calls + hinge.planes / len(hinge) == history.n_iter[-1] == len(history.value)
    )
    assert (np.diff(history.value) <= 0).all()
    assert (np.diff(history.lower_bound) >= 0).all()
    assert (np.diff(history.seconds) >= 0).all()
    assert (history.value[-1], history.gap[-1]) == (result.value, pytest.approx(result.gap))
    assert history.planes[-1] > len(hinge)


def test_limit_on_calls(hinge):
    for limit in (1, 2, 3):
        result = minimize_blocks(hinge, L2(1e-3), tol=1e-9, max_iter=limit)
        assert not result.converged
        assert result.n_iter == limit


def test_same_bits_in_every_run_and_for_every_number_of_threads(hinge):
    results = []
    for threads in (1, 2, 2):
        with threadpool_limits(threads):
            results.append(minimize_blocks(hinge, L2(1e-2)))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].w, other.w)
        assert results[0].history.lower_bound == other.history.lower_bound


def test_order_of_samples_does_not_matter_for_the_optimum(hinge):
    values = [minimize_blocks(hinge, L2(1e-2), tol=1e-4, seed=seed, passes=3).value for seed in range(3)]
    assert len(set(values)) == 3
    assert values == pytest.approx([values[0]] * 3, rel=1e-4)


def test_no_loss_at_zero_ends_at_once():
    class Nothing(Hinge):
        def plane(self, i, w):
            return np.zeros(2), 0.0

    result = minimize_blocks(Nothing(np.ones((3, 2)), np.ones(3)), L2(1.0))
    assert (result.value, result.n_iter, result.converged) == (0.0, 1, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": -1e-3}, "tol is -0.001"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"passes": 0}, "passes is 0"),
    ],
)
def test_bad_options(hinge, options, message):
    with pytest.raises(ValueError, match=message):
        minimize_blocks(hinge, L2(1.0), **options)


def test_other_regularizers_are_refused(hinge):
    with pytest.raises(ValueError, match=r"L1\(alpha=1.0\): expected an L2"):
        minimize_blocks(hinge, L1(1.0))


def test_risks_without_samples_are_refused(hinge):
    assert isinstance(hinge, BlockRisk)
    with pytest.raises(ValueError, match="expected a mean with"):
        minimize_blocks(lambda w: (0.0, w), L2(1.0))


@pytest.mark.parametrize(
    ("plane", "message"),
    [
        ((np.zeros(3), 1.0), r"shape \(3,\): expected \(8,\)"),
        ((np.full(8, np.nan), 1.0), "finite"),
        ((np.zeros(8), -1.0), "less than risk_lower_bound"),
    ],
)
def test_broken_planes(hinge, plane, message):
    hinge.plane = lambda i, w: plane
    with pytest.raises(ValueError, match=message):
        minimize_blocks(hinge, L2(1.0))
