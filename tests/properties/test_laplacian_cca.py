"""Laplacian KCCA: what holds of eq. 4.12 for any samples and any penalties."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ermlab.cca.laplacian_kcca import LaplacianKCCA
from ermlab.cca.laplacians import normalized_laplacian

seeds = st.integers(0, 2**32 - 1)
# Below 1e-3, two components may lie so close that rounding decides on their order.
penalties = st.floats(1e-3, 1e3)


@st.composite
def samples(draw):
    """Two linear views with unpaired samples, and a model to be fitted."""
    rng = np.random.default_rng(draw(seeds))
    n, (d_x, d_y) = draw(st.integers(6, 15)), (draw(st.integers(1, 20)), draw(st.integers(1, 20)))
    latent = rng.normal(size=(n, 2))
    X, Y = (latent @ rng.normal(size=(2, d)) + rng.normal(size=(n, d)) for d in (d_x, d_y))
    extra = tuple(rng.normal(size=(p, d)) if (p := draw(st.integers(0, 5))) else None for d in (d_x, d_y))
    gammas = [draw(st.just(0.0) | penalties) for _ in range(2)]
    return (X, Y, *extra), LaplacianKCCA(1, draw(penalties), draw(penalties), *gammas), rng


def quotient(w_x, w_y, data, model):
    """Eq. 4.12 at two weight vectors."""
    X, Y, X_extra, Y_extra = data
    values, lengths = [], []
    for A, extra, w, eps, gamma in (
        (X, X_extra, w_x, model.eps_x, model.gamma_x),
        (Y, Y_extra, w_y, model.eps_y, model.gamma_y),
    ):
        every = A if extra is None else np.vstack([A, extra])
        n, f = len(A), (every - A.mean(axis=0)) @ w
        L = normalized_laplacian(np.sum((every[:, None] - every[None]) ** 2, axis=2))
        unit = np.sum((A - A.mean(axis=0)) ** 2) / n
        values.append(f[:n])
        lengths.append(f[:n] @ f[:n] + eps * unit * w @ w + gamma * n / len(every) * f @ L @ f)
    return values[0] @ values[1] / np.sqrt(lengths[0] * lengths[1])


@given(samples(), st.floats(1e-4, 1))
def test_no_other_weights_are_better(problem, step):
    data, model, rng = problem
    model.fit(*data)
    w_x, w_y = model.x_weights_[:, 0], model.y_weights_[:, 0]
    reached = quotient(w_x, w_y, data, model)
    np.testing.assert_allclose(reached, model.canonical_correlations_[0], rtol=1e-7)
    for _ in range(5):
        moved = (w + step * np.linalg.norm(w) * rng.normal(size=w.size) for w in (w_x, w_y))
        assert quotient(*moved, data, model) <= reached * (1 + 1e-9)


@given(samples())
def test_order_of_the_samples_does_not_matter(problem):
    data, model, rng = problem
    X, Y, X_extra, Y_extra = data
    order = rng.permutation(len(X))
    first = model.fit(*data).canonical_correlations_, model.x_weights_
    shuffled = (None if A is None else rng.permutation(A) for A in (X_extra, Y_extra))
    second = model.fit(X[order], Y[order], *shuffled).canonical_correlations_, model.x_weights_
    np.testing.assert_allclose(second[0], first[0], rtol=1e-9)
    np.testing.assert_allclose(second[1], first[1], atol=1e-5 * np.abs(first[1]).max())


@given(samples(), st.floats(1e-3, 1e3), st.floats(-10, 10))
def test_units_and_origin_of_a_view_do_not_matter(problem, scale, shift):
    (X, Y, X_extra, Y_extra), model, _ = problem
    expected = model.fit(X, Y, X_extra, Y_extra).canonical_correlations_
    moved = [None if A is None else scale * (A + shift) for A in (X, X_extra)]
    found = model.fit(moved[0], Y, moved[1], Y_extra).canonical_correlations_
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@given(samples(), st.sampled_from(["eps_x", "eps_y", "gamma_x", "gamma_y"]), st.floats(1.01, 100))
def test_more_penalty_means_less_correlation(problem, name, factor):
    data, model, _ = problem
    before = model.fit(*data).canonical_correlations_[0]
    model.set_params(**{name: factor * getattr(model, name)})
    assert model.fit(*data).canonical_correlations_[0] <= before * (1 + 1e-9)


@given(seeds, st.integers(2, 20), st.integers(1, 4))
def test_laplacian_is_normalised_and_positive_semi_definite(seed, m, d):
    X = np.random.default_rng(seed).normal(size=(m, d))
    L = normalized_laplacian(np.sum((X[:, None] - X[None]) ** 2, axis=2))
    np.testing.assert_array_equal(L, L.T)
    eigenvalues = np.linalg.eigvalsh(L)
    assert abs(eigenvalues[0]) < 1e-12
    assert eigenvalues[-1] < 2
