"""The k-support norm against its definition, duality, and what makes a point proximal."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ermlab.sparse import dual_norm, norm, prox

# Small integers make ties and zeros; the floats span magnitudes.
entries = st.one_of(
    st.integers(-3, 3).map(float), st.floats(1e-6, 1e6), st.floats(-1e6, -1e-6), st.floats(-2, 2, width=16)
)
prices = st.floats(1e-5, 1e5)


@st.composite
def vectors(draw, count=1):
    d = draw(st.integers(1, 40))
    k = draw(st.integers(1, d))
    drawn = [np.array(draw(st.lists(entries, min_size=d, max_size=d))) for _ in range(count)]
    return (*drawn, k)


def norm_by_formula(w, k):
    """Eq. 4.13 of the thesis as it stands, with the ``r`` that eq. 4.14 asks for."""
    a = np.sort(np.abs(w))[::-1]
    for r in range(k):
        tail = a[k - r - 1 :].sum()
        if (r == k - 1 or a[k - r - 2] > tail / (r + 1)) and tail / (r + 1) >= a[k - r - 1]:
            return math.sqrt(np.sum(a[: k - r - 1] ** 2) + tail**2 / (r + 1))
    raise AssertionError(f"no r for {w} and {k}")


@given(vectors())
def test_formula(case):
    w, k = case
    assert math.isclose(norm(w, k), norm_by_formula(w, k), rel_tol=1e-9)


@given(vectors())
def test_dual_norm_by_sorting(case):
    w, k = case
    assert math.isclose(dual_norm(w, k), np.linalg.norm(np.sort(np.abs(w))[::-1][:k]), rel_tol=1e-12)


@given(vectors())
def test_ends_are_l1_and_l2(case):
    w, _ = case
    assert math.isclose(norm(w, 1), np.abs(w).sum(), rel_tol=1e-12)
    assert math.isclose(norm(w, w.size), np.linalg.norm(w), rel_tol=1e-12)
    assert math.isclose(dual_norm(w, 1), np.abs(w).max(), rel_tol=1e-12)
    assert math.isclose(dual_norm(w, w.size), np.linalg.norm(w), rel_tol=1e-12)


@given(vectors(2), st.integers(-50, 50).map(lambda tenths: tenths / 10))
def test_both_are_norms_and_each_bounds_the_other(case, factor):
    u, v, k = case
    for length in (norm, dual_norm):
        assert length(u + v, k) <= (length(u, k) + length(v, k)) * (1 + 1e-9)
        assert math.isclose(length(factor * u, k), abs(factor) * length(u, k), rel_tol=1e-9)
    assert abs(u @ v) <= norm(u, k) * dual_norm(v, k) * (1 + 1e-9)


@given(vectors())
def test_norm_falls_with_k_and_is_euclidean_for_sparse_vectors(case):
    w, k = case
    assert norm(w, k) <= norm(w, max(k - 1, 1)) * (1 + 1e-9)
    w[k:] = 0
    assert math.isclose(norm(w, k), np.linalg.norm(w), rel_tol=1e-12)


@given(vectors(), prices)
def test_proximal_point_meets_the_optimality_condition(case, alpha):
    # u is optimal if and only if v = (w - u) / alpha is a subgradient of norm^2 / 2 at u, that is, if
    # <u, v> = norm(u)^2 = dual_norm(v)^2. This also says that the duality bound is attained.
    w, k = case
    u = prox(w, k, alpha)
    v = (w - u) / alpha
    # Rounding in the middle set: u is a difference of numbers as large as w.
    slack = 1e-13 * max(1.0, 1 / alpha) * (w @ w) + 1e-9 * norm(u, k) ** 2
    assert abs(u @ v - norm(u, k) ** 2) <= slack
    assert abs(u @ v - dual_norm(v, k) ** 2) <= slack + 1e-9 * dual_norm(v, k) ** 2


@given(vectors(2), prices)
def test_prox_keeps_signs_order_and_ties_and_brings_points_closer(case, alpha):
    w, other, k = case
    u = prox(w, k, alpha)
    assert (u * w >= 0).all()
    assert (np.abs(u) <= np.abs(w)).all()
    order = np.argsort(np.abs(w), kind="stable")
    assert (np.diff(np.abs(u)[order]) >= -1e-12 * np.abs(w).max(initial=0)).all()
    assert np.unique(np.abs(u)).size <= np.unique(np.abs(w)).size
    distance = np.linalg.norm(w - other)
    assert np.linalg.norm(u - prox(other, k, alpha)) <= distance * (1 + 1e-9) + 1e-9
