import itertools

import cvxpy as cp
import numpy as np
import pytest

from ermlab.sparse import dual_norm, norm, prox


def norm_by_groups(w, k):
    """The definition, for cvxpy: the least sum of lengths of vectors of k entries each that add up to w."""
    d = w.size if isinstance(w, np.ndarray) else w.shape[0]
    groups = [list(group) for group in itertools.combinations(range(d), k)]
    parts = [cp.Variable(k) for _ in groups]
    rows = [np.eye(d)[:, group] for group in groups]
    total = sum(row @ part for row, part in zip(rows, parts, strict=True))
    return sum(cp.norm(part, 2) for part in parts), [total == w]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_norm_is_the_definition(k):
    w = np.random.default_rng(k).normal(size=5)
    value, constraints = norm_by_groups(w, k)
    found = cp.Problem(cp.Minimize(value), constraints).solve(solver=cp.CLARABEL)
    assert norm(w, k) == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_dual_norm_is_the_most_that_the_unit_ball_gives(k):
    v = np.random.default_rng(k).normal(size=5)
    w = cp.Variable(5)
    value, constraints = norm_by_groups(w, k)
    found = cp.Problem(cp.Maximize(v @ w), [*constraints, value <= 1]).solve(solver=cp.CLARABEL)
    assert dual_norm(v, k) == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("alpha", [0.05, 1.0, 20.0])
def test_prox_against_a_general_solver(k, alpha):
    w = np.random.default_rng(k).normal(size=5)
    w[1] = -w[0]
    u = cp.Variable(5)
    value, constraints = norm_by_groups(u, k)
    objective = 0.5 * cp.sum_squares(u - w) + alpha / 2 * cp.square(value)
    cp.Problem(cp.Minimize(objective), constraints).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12
    )
    np.testing.assert_allclose(prox(w, k, alpha), u.value, atol=2e-6)


def test_prox_by_hand():
    # theta = clip(|w| / t - 1, 0, 1) sums to k, and u = w theta / (theta + 1).
    # With k = 2: t = 1, theta = 1, 1, 0.
    np.testing.assert_allclose(prox([4.0, -2.0, 1.0], 2, 1.0), [2.0, -1.0, 0.0], rtol=1e-15)
    # With k = 1: t = 2, theta = 1, 0, 0.
    np.testing.assert_allclose(prox([4.0, -2.0, 1.0], 1, 1.0), [2.0, 0.0, 0.0], rtol=1e-15)
    # Equal entries share: theta = 1/3 each.
    np.testing.assert_allclose(prox([3.0, 3.0, -3.0], 1, 1.0), [0.75, 0.75, -0.75], rtol=1e-15)


def test_prox_of_an_odd_gap_between_entries():
    # One entry towers over the others, so that the sum has a flat piece at k.
    np.testing.assert_array_equal(prox([1e9, 1.0, 1.0, -1.0], 1, 1.0), [5e8, 0.0, 0.0, 0.0])


def test_zeros_stay_zeros():
    for w in (np.zeros(4), np.array([0.0, -0.0, 2.0, 0.0])):
        np.testing.assert_allclose(prox(w, 2, 3.0), w / 4)
        assert norm(w, 3) == np.linalg.norm(w)
    assert not np.signbit(prox([-1e-9, 5.0, 5.0], 1, 1.0)).any()


def test_no_price_leaves_a_copy():
    w = np.array([1.0, -2.0])
    u = prox(w, 1, 0.0)
    np.testing.assert_array_equal(u, w)
    assert not np.shares_memory(u, w)


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("k", [1, 80, 4000, 5000])
def test_shares_sum_to_k_at_size(k, alpha):
    w = np.random.default_rng(0).standard_t(2, size=5000)
    u = prox(w, k, alpha)
    theta = alpha * u / (w - u)  # from u = w theta / (theta + alpha)
    assert theta.min() >= 0
    assert theta.max() <= 1 + 1e-9
    assert theta.sum() == pytest.approx(k, rel=1e-8)


def test_magnitudes_far_apart():
    w = np.logspace(-150, 150, 301)
    for k in (1, 7, 300):
        u = prox(w, k, 1.0)
        assert np.isfinite(u).all()
        assert u[-1] == pytest.approx(w[-1] / 2, rel=1e-9)


@pytest.mark.parametrize("k", [1, 2])
def test_entries_that_vanish_beside_the_others(k):
    """The sum of all entries rounds to that of the k largest, which then stand at the threshold."""
    w = np.array([0.034285015056791115, 3.4e-21] + [0.034285015056791115] * (k - 1))
    assert norm(w, k) == pytest.approx(np.sqrt(k) * w[0] if k > 1 else w[0])


def test_other_types_and_strides():
    w = np.arange(12, dtype=np.int32)[::-2]
    assert norm(w, 2) == norm(list(map(float, w)), np.int64(2))
    np.testing.assert_array_equal(prox(w.astype(np.float32), 2, 1), prox(w, 2, 1.0))


@pytest.mark.parametrize(
    ("w", "k", "message"),
    [
        ([1.0, np.nan], 1, r"w\[1\] is nan"),
        ([-np.inf, 1.0], 1, r"w\[0\] is -inf"),
        ([1e308, -1e308], 1, r"entries up to 1e\+308: their sum is infinite"),
        ([[1.0]], 1, r"shape \(1, 1\)"),
        ([], 1, r"shape \(0,\)"),
        ([1.0, 2.0], 0, "k is 0"),
        ([1.0, 2.0], 3, "k is 3: expected an integer from 1 to 2"),
        ([1.0, 2.0], 1.5, "k is 1.5"),
        ([1.0, 2.0], True, "k is True"),
    ],
)
def test_bad_input(w, k, message):
    for call in (norm, dual_norm, lambda w, k: prox(w, k, 1.0)):
        with pytest.raises(ValueError, match=message):
            call(w, k)


@pytest.mark.parametrize("alpha", [-1.0, np.nan, np.inf])
def test_bad_price(alpha):
    with pytest.raises(ValueError, match=f"alpha is {alpha}"):
        prox([1.0, 2.0], 1, alpha)


@pytest.mark.parametrize("exponent", [-1060, -600, 600, 1000])
@pytest.mark.parametrize("k", [1, 3, 8])
def test_norms_of_very_large_and_very_small_weights(exponent, k):
    w, unit = np.random.default_rng(0).normal(size=8), 2.0**exponent
    # So small numbers have few digits: of these the norm is taken.
    few = (unit * w) / unit
    assert norm(unit * w, k) == pytest.approx(unit * norm(few, k), rel=1e-4 if exponent < -1000 else 1e-14)
    assert dual_norm(unit * w, k) == pytest.approx(
        unit * dual_norm(few, k), rel=1e-4 if exponent < -1000 else 1e-14
    )


@pytest.mark.parametrize("function", [norm, dual_norm, lambda w, k: prox(w, k, 1.0)])
@pytest.mark.parametrize("w", [[1 + 1j, 2.0], np.ma.array([1.0, 2.0], mask=[False, True])])
def test_numbers_that_would_lose_a_part_are_refused(function, w):
    with pytest.raises(ValueError, match=r"w has (complex|masked) entries"):
        function(np.asanyarray(w), 1)


@pytest.mark.parametrize("alpha", ["one", None, 1j, [1.0]])
def test_price_that_is_no_number_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha is"):
        prox([1.0, 2.0], 1, alpha)
