import numpy as np
import pytest
from scipy.stats import ortho_group
from sklearn.base import clone
from sklearn.cross_decomposition import CCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from ermlab.cca.algebra import leading_pairs
from ermlab.cca.centered_kernels import CenteredGram, Rows
from ermlab.cca.laplacian_kcca import LaplacianKCCA, column_correlations
from ermlab.cca.laplacians import (
    centering_laplacian,
    median_distance,
    normalized_laplacian,
)
from ermlab.cca.selection import LaplacianKCCACV


@parametrize_with_checks(
    [
        LaplacianKCCA(),
        LaplacianKCCA(kernel="rbf", gamma_y=1.0),
        LaplacianKCCACV(eps=(0.1, 10.0), gamma=(0.0, 1.0), n_splits=3),
        LaplacianKCCACV(eps=(0.1, 10.0), gamma=(0.0, 1.0), criterion="spectrum"),
    ],
    expected_failed_checks=lambda estimator: {
        "check_n_features_in_after_fitting": "it passes the second view as y, which is named Y",
    },
)
def test_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def two_views(n, d_x=6, d_y=4, seed=0, mean=3.0):
    """Views that share two latent variables, away from the origin."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, 2))
    return tuple(
        latent @ rng.normal(size=(2, d)) + rng.normal(size=(n, d)) + mean * rng.normal(size=d)
        for d in (d_x, d_y)
    )


def squared_distances(X):
    return np.sum((X[:, None] - X[None]) ** 2, axis=2)


def centred_on_first(K, n):
    """The kernel matrix with the mean of the first n samples as origin, by its definition."""
    H = np.eye(len(K))
    H[:, :n] -= 1 / n
    return H @ K @ H.T


def denominator(K, n, eps, gamma, L):
    """K_x̂x K_xx̂ + R_x̂ of eq. 4.12, in the units of the thesis."""
    m = len(K)
    eps_thesis, gamma_thesis = eps * np.trace(K[:n, :n]) / n, gamma * n * m
    return K[:, :n] @ K[:n] + eps_thesis * K + gamma_thesis / m**2 * K @ L @ K


def correlations_by_definition(K_x, K_y, n, A_x, A_y):
    """The stationary values of eq. 4.12, by pseudo-inverses in the space of the coefficients."""
    C = K_x[:, :n] @ K_y[:n]
    M = np.linalg.pinv(A_x, rcond=1e-11) @ C @ np.linalg.pinv(A_y, rcond=1e-11) @ C.T
    return np.sqrt(np.sort(np.linalg.eigvals(M).real.clip(0))[::-1])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("gammas", [(0.0, 0.0), (2.0, 0.0), (3.0, 0.5)])
@pytest.mark.parametrize("unpaired", [0, 7])
def test_solves_the_eigenproblem_of_the_thesis(kernel, gammas, unpaired):
    n = 20
    X, Y = two_views(n + unpaired)
    model = LaplacianKCCA(2, 0.1, 0.3, *gammas, kernel=kernel).fit(
        X[:n], Y[:n], X[n:] if unpaired else None, Y[n:] if unpaired else None
    )
    product = (lambda A: A @ A.T) if kernel == "linear" else rbf_kernel
    Ks = [centred_on_first(product(A), n) for A in (X, Y)]
    As = []
    for K, eps, gamma in zip(Ks, (0.1, 0.3), gammas, strict=True):
        diagonal = np.diag(K)
        L = normalized_laplacian(np.maximum(diagonal[:, None] + diagonal - 2 * K, 0))
        As.append(denominator(K, n, eps, gamma, L))
    expected = correlations_by_definition(*Ks, n, *As)
    np.testing.assert_allclose(model.canonical_correlations_, expected[:2], rtol=1e-6)
    # The functions themselves reach these values, and are of unit length and orthogonal.
    duals = model.x_dual_coef_, model.y_dual_coef_
    for alpha, A in zip(duals, As, strict=True):
        np.testing.assert_allclose(alpha.T @ A @ alpha / n, np.eye(2), atol=1e-6)
    cross = duals[0].T @ Ks[0][:, :n] @ Ks[1][:n] @ duals[1] / n
    np.testing.assert_allclose(cross, np.diag(expected[:2]), atol=1e-6)
    # And the projections are these functions.
    np.testing.assert_allclose(model.transform(X), Ks[0] @ duals[0], atol=1e-7)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_without_laplacian_it_is_kcca_of_cca_zoo(kernel):
    peer = pytest.importorskip("cca_zoo.nonparametric", reason="cca-zoo is not installed")
    n, shrinkage = 30, 0.2
    X, Y = two_views(n + 10)
    # Its denominator is (1 - c) K^2 / (n - 1) + c K.
    units = [CenteredGram.of(Rows("X", kernel, A[:n])).mean_eigenvalue for A in (X, Y)]
    eps = [shrinkage / (1 - shrinkage) * (n - 1) / unit for unit in units]
    model = LaplacianKCCA(2, *eps, 0.0, 0.0, kernel=kernel).fit(X[:n], Y[:n])
    other = peer.KCCA(2, shrinkage=shrinkage, kernel=kernel, center=False).fit([X[:n], Y[:n]])
    for ours, theirs in zip(model.transform(X, Y), other.transform([X, Y]), strict=True):
        np.testing.assert_allclose(np.abs(column_correlations(ours, theirs)), 1, rtol=1e-9)


def test_vanishing_eps_is_linear_cca():
    X, Y = two_views(60)
    peer = CCA(3, scale=False, tol=1e-14, max_iter=100_000).fit(X, Y)
    expected = column_correlations(*peer.transform(X, Y))
    for eps in (0.0, 1e-10):
        model = LaplacianKCCA(3, eps, eps, 0.0, 0.0).fit(X, Y)
        np.testing.assert_allclose(model.canonical_correlations_, expected, rtol=1e-6)
        np.testing.assert_allclose(model.correlations(X, Y), expected, rtol=1e-6)


@pytest.mark.parametrize("d", [5, 80])
def test_one_linear_output_is_ridge_regression(d):
    X, Y = two_views(40, d_x=d, d_y=1)
    model = LaplacianKCCA(eps_x=0.7, gamma_x=0.0).fit(X, Y[:, 0])
    alpha = 0.7 * np.sum((X - X.mean(axis=0)) ** 2) / len(X)
    ridge = Ridge(alpha=alpha, solver="svd").fit(X, Y[:, 0])
    w = model.x_weights_[:, 0]
    np.testing.assert_allclose(w / np.linalg.norm(w), ridge.coef_ / np.linalg.norm(ridge.coef_), atol=1e-9)
    assert model.y_weights_[0, 0] > 0


def test_one_linear_output_with_unpaired_samples_is_laplacian_least_squares():
    X, Y = two_views(45, d_x=9, d_y=1)
    n, eps, gamma = 30, 0.3, 2.0
    model = LaplacianKCCA(eps_x=eps, gamma_x=gamma).fit(X[:n], Y[:n], X[n:])
    centred = X - X[:n].mean(axis=0)
    L = normalized_laplacian(squared_distances(X))
    A = centred[:n].T @ centred[:n] + eps * np.sum(centred[:n] ** 2) / n * np.eye(9)
    w = np.linalg.solve(A + gamma * n / 45 * centred.T @ L @ centred, centred[:n].T @ Y[:n, 0])
    ours = model.x_weights_[:, 0]
    np.testing.assert_allclose(ours / np.linalg.norm(ours), w / np.linalg.norm(w), atol=1e-9)


def test_centering_laplacian_on_pairs_is_another_eps():
    X, Y = two_views(25, d_x=40)
    model = LaplacianKCCA(2, eps_x=0.5, gamma_x=3.0, laplacian="centering").fit(X, Y)
    assert model.equivalent_eps_x_ == pytest.approx(0.5 / 4)
    assert model.equivalent_eps_y_ == model.eps_y
    plain = LaplacianKCCA(2, eps_x=model.equivalent_eps_x_, gamma_x=0.0).fit(X, Y)
    # The factor 1 + gamma that is left in the denominator changes no direction.
    np.testing.assert_allclose(plain.canonical_correlations_, 2 * model.canonical_correlations_, rtol=1e-9)
    np.testing.assert_allclose(plain.transform(X), 2 * model.transform(X), rtol=1e-7, atol=1e-9)


def test_laplacian_on_pairs_of_many_columns_is_nearly_another_eps():
    X, Y = two_views(60, d_x=2000, d_y=1)
    train, test = slice(0, 40), slice(40, None)
    model = LaplacianKCCA(eps_x=1.0, gamma_x=10.0).fit(X[train], Y[train])
    assert model.equivalent_eps_x_ < 0.2
    plain = LaplacianKCCA(eps_x=model.equivalent_eps_x_, gamma_x=0.0).fit(X[train], Y[train])
    assert column_correlations(model.transform(X[test]), plain.transform(X[test]))[0] > 0.99


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_unpaired_samples_without_laplacian_change_nothing(kernel):
    X, Y = two_views(30)
    model = LaplacianKCCA(2, gamma_x=0.0, kernel=kernel)
    alone = clone(model).fit(X[:20], Y[:20])
    with_others = clone(model).fit(X[:20], Y[:20], 5 + 9 * X[20:], Y[20:])
    for a, b in zip(alone.transform(X, Y), with_others.transform(X, Y), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    assert clone(model).set_params(gamma_x=1.0).fit(X[:20], Y[:20], X[20:]).canonical_correlations_[0] != (
        pytest.approx(clone(model).set_params(gamma_x=1.0).fit(X[:20], Y[:20]).canonical_correlations_[0])
    )


def test_kernels_given_as_name_function_and_matrix_agree():
    X, Y = two_views(30)
    n, m = 18, 24
    model = LaplacianKCCA(2, gamma_y=0.5)
    by_name = clone(model).fit(X[:n], Y[:n], X[n:m], Y[n:m])
    by_function = clone(model).set_params(kernel=lambda A, B: A @ B.T).fit(X[:n], Y[:n], X[n:m], Y[n:m])
    K_x, K_y = X @ X[:m].T, Y @ Y[:m].T
    by_matrix = clone(model).set_params(kernel="precomputed")
    by_matrix.fit(K_x[:n], K_y[:n], K_x[n:m], K_y[n:m])
    mixed = clone(model).set_params(kernel=("precomputed", "linear")).fit(K_x[:n], Y[:n], K_x[n:m], Y[n:m])
    expected = by_name.transform(X[m:], Y[m:])
    for other, A, B in ((by_function, X, Y), (by_matrix, K_x, K_y), (mixed, K_x, Y)):
        np.testing.assert_allclose(other.canonical_correlations_, by_name.canonical_correlations_, rtol=1e-9)
        for ours, theirs in zip(other.transform(A[m:], B[m:]), expected, strict=True):
            signs = np.sign(np.sum(ours * theirs, axis=0))  # those of kernels go by values, not by weights
            np.testing.assert_allclose(ours * signs, theirs, atol=1e-7)
    with pytest.raises(AttributeError, match="weights of X exist for a linear kernel only"):
        _ = by_function.x_weights_


def test_weights_make_the_projections():
    X, Y = two_views(30, d_x=50)
    model = LaplacianKCCA(2).fit(X[:15], Y[:15], X[15:20])
    expected = (X - X[:15].mean(axis=0)) @ model.x_weights_
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-9)
    np.testing.assert_allclose(model.transform(X[:15]).mean(axis=0), 0, atol=1e-10)
    assert (np.abs(model.y_weights_).max(axis=0) == model.y_weights_.max(axis=0)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_large_mean_costs_no_digits(dtype):
    rng = np.random.default_rng(0)
    # Whole numbers that are exact in either type.
    X, Y = rng.integers(-50, 50, size=(2, 16, 1500)).astype(dtype)
    near = LaplacianKCCA(gamma_y=1.0).fit(X, Y, X[:4] + 1)
    far = LaplacianKCCA(gamma_y=1.0).fit(X + dtype(2**22), Y, X[:4] + dtype(2**22 + 1))
    np.testing.assert_allclose(far.canonical_correlations_, near.canonical_correlations_, rtol=1e-10)
    np.testing.assert_allclose(far.x_weights_, near.x_weights_, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("shape", [(30, 12), (12, 30), (9, 9)])
@pytest.mark.parametrize("k", [1, 2, 8])
@pytest.mark.parametrize("decay", [0.9, 0.01])
def test_leading_pairs_are_those_of_the_singular_value_decomposition(shape, k, decay):
    r = min(shape)
    U, V = ortho_group.rvs(shape[0], random_state=0), ortho_group.rvs(shape[1], random_state=1)
    values = decay ** np.arange(r)
    M = U[:, :r] * values @ V[:, :r].T
    found, left, right = leading_pairs(M, k)
    np.testing.assert_allclose(found, values[:k], rtol=1e-9, atol=1e-15)
    kept = values[:k] > 1e-8
    np.testing.assert_allclose((left * found) @ right.T, (U[:, :k] * values[:k]) @ V[:, :k].T, atol=1e-9)
    np.testing.assert_allclose((left.T @ left)[kept][:, kept], np.eye(kept.sum()), atol=1e-9)


def test_leading_pairs_of_a_matrix_whose_singular_values_are_nearly_the_same():
    # LAPACK's search for a few eigenvalues finds none for some of these.
    rng = np.random.default_rng(0)
    for _ in range(60):
        M = np.eye(20) + 10.0 ** rng.integers(-17, -10) * rng.normal(size=(20, 20))
        found, left, right = leading_pairs(M, 1)
        np.testing.assert_allclose(found, [1.0], rtol=1e-7)
        np.testing.assert_allclose(M @ right, left * found, atol=1e-9)


def test_normalized_laplacian_by_its_definition():
    X = np.random.default_rng(0).normal(size=(12, 3))
    squares = squared_distances(X)
    median = np.median(np.sqrt(squares)[np.triu_indices(12, k=1)])
    assert median_distance(squares) == pytest.approx(median)
    W = np.exp(-squares / (2 * median**2))
    D = np.diag(W.sum(axis=1))
    root = np.linalg.inv(np.sqrt(D))
    L = normalized_laplacian(squares)
    np.testing.assert_allclose(L, root @ (D - W) @ root, atol=1e-12)
    np.testing.assert_allclose(L @ np.sqrt(np.diag(D)), 0, atol=1e-12)
    eigenvalues = np.linalg.eigvalsh(L)
    assert eigenvalues[0] > -1e-12
    assert eigenvalues[-1] < 2
    np.testing.assert_allclose(normalized_laplacian(squares, median), L)
    np.testing.assert_allclose(centering_laplacian(squares), np.eye(12) - np.ones((12, 12)) / 12)


def test_bandwidth_of_few_labels_is_that_of_labels_that_differ():
    labels = np.array([0.0] * 9 + [2.0])[:, None]
    assert median_distance(squared_distances(labels)) == 2
    with pytest.raises(ValueError, match="all samples coincide"):
        median_distance(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="bandwidth is -1"):
        normalized_laplacian(squared_distances(labels), -1)


def test_correlation_with_a_constant_is_zero():
    A = np.array([[1.0, 0.1], [2.0, 0.1], [3.0, 0.1]])
    B = np.array([[2.0, 1.0], [4.0, 2.0], [6.0, 5.0]])
    np.testing.assert_allclose(column_correlations(A, B), [1, 0])


def test_results_do_not_depend_on_threads_and_repeats():
    X, Y = two_views(60, d_x=3000, d_y=2000)
    models = []
    for threads in (1, 2, 2):
        with threadpool_limits(threads):
            model = LaplacianKCCA(2).fit(X[:50], Y[:50], X[50:])
            models.append((model.canonical_correlations_, model.x_weights_, *model.transform(X, Y)))
    for other in models[1:]:
        for a, b in zip(models[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


X, Y = two_views(12)
K = X @ X.T


@pytest.mark.parametrize(
    ("params", "data", "message"),
    [
        ({"eps_x": -1.0}, (X, Y), "eps_x is -1.0: expected a number of at least 0"),
        ({"gamma_y": np.nan}, (X, Y), "gamma_y is nan"),
        ({"n_components": 0}, (X, Y), "n_components is 0: expected a positive integer"),
        ({"n_components": 5}, (X, Y), "n_components is 5: expected at most 4"),
        ({"laplacian": "random"}, (X, Y), "laplacian is 'random': expected one of"),
        ({"laplacian": lambda D: -np.eye(len(D)), "gamma_x": 9.0}, (X, Y), "Laplacian of X is not positive"),
        ({"laplacian": lambda D: D[:2]}, (X, Y), r"Laplacian of X has shape \(2, 12\): expected \(12, 12\)"),
        ({}, (X[:, :0], Y), r"0 feature\(s\)"),
        ({}, (X[:0], Y[:0]), r"0 sample\(s\)"),
        ({}, (X, Y[:9]), "X has 12 rows and Y has 9: expected pairs"),
        ({}, (X, Y[..., None]), "Y has 3 dimensions: expected 1 or 2"),
        ({}, (X, np.where(Y > 4, np.nan, Y)), "Input Y contains NaN"),
        ({}, (np.where(X < -5, np.inf, X), Y), "Input X contains infinity"),
        ({}, (X, Y, np.full((2, 6), np.nan)), "Input X_extra contains NaN"),
        ({}, (X, Y, X[:2, :5]), "X_extra has 5 columns: expected 6, like X"),
        ({}, (X, Y, None, Y[:0]), r"0 sample\(s\)"),
        ({}, (X, np.full(12, 0.1)), "Y is constant over the 12 pairs"),
        ({"kernel": "rbf"}, (np.full((12, 2), 0.1), Y), "X is constant over the 12 pairs"),
        ({"kernel": lambda A, B: A[:, :2]}, (X, Y), r"kernel of X has shape \(12, 2\)"),
        ({"kernel": lambda A, B: np.full((12, 12), np.nan)}, (X, Y), "kernel of X returned values"),
        ({"kernel": lambda A, B: A @ B[::-1].T}, (X, Y), "kernel matrix of X differs from its transpose"),
        ({"kernel": lambda A, B: -A @ B.T}, (X, Y), "X is constant|kernel matrix of X has the eigenvalue"),
        ({"kernel": ("precomputed", "linear")}, (X, Y), "precomputed kernel of X has 6 columns: expected 12"),
        ({"eps_y": 0.0}, (Y, np.eye(12)), "eps of Y is 0 and its 12 paired samples are linearly independent"),
    ],
)
def test_bad_input_is_named(params, data, message):
    with pytest.raises(ValueError, match=message):
        LaplacianKCCA(**params).fit(*data)


def test_indefinite_kernel_is_named():
    squares = squared_distances(np.arange(6.0)[:, None])
    indefinite = -(squares**2)
    with pytest.raises(ValueError, match="kernel matrix of X has the eigenvalue -"):
        LaplacianKCCA(kernel=("precomputed", "linear")).fit(indefinite, np.arange(6.0))


def test_projection_checks_its_input():
    with pytest.raises(NotFittedError):
        LaplacianKCCA().transform(X)
    model = LaplacianKCCA().fit(X, Y)
    with pytest.raises(ValueError, match="X has 5 features"):
        model.transform(X[:, :5])
    with pytest.raises(ValueError, match="Y has 3 columns: expected 4"):
        model.transform(X, Y[:, :3])


def _two_views():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 5))
    return X, X[:, :2] + 0.1 * rng.normal(size=(20, 2))


@pytest.mark.filterwarnings("error")
def test_penalty_that_overflows_is_refused():
    X, Y = _two_views()
    with pytest.raises(ValueError, match="gamma of X is 1e"):
        LaplacianKCCA(gamma_x=1e300).fit(1e49 * X, Y)


@pytest.mark.parametrize(
    ("laplacian", "message"),
    [(lambda D: np.nan * D, "entries that are not finite"), (lambda D: D + 1j, "complex entries")],
)
def test_laplacian_of_other_numbers_is_refused(laplacian, message):
    with pytest.raises(ValueError, match=f"the Laplacian of X has {message}"):
        LaplacianKCCA(laplacian=laplacian).fit(*_two_views())


def test_complex_kernel_is_refused():
    with pytest.raises(ValueError, match="the kernel of X has complex entries"):
        LaplacianKCCA(kernel=lambda A, B: A @ B.T + 1j).fit(*_two_views())


@pytest.mark.filterwarnings("error")
def test_correlations_in_other_units():
    X, Y = _two_views()
    model = LaplacianKCCA().fit(X, Y)
    assert model.score(1e200 * X, 1e200 * Y) == pytest.approx(model.score(X, Y))


@pytest.mark.filterwarnings("ignore::RuntimeWarning:numpy")  # scikit-learn sums the samples
def test_projections_that_overflow_are_refused():
    X, Y = _two_views()
    model = LaplacianKCCA(eps_x=1e-3).fit(1e-3 * X, Y)
    with pytest.raises(ValueError, match=r"projection of row \d+ of X is not finite"):
        model.transform(np.finfo(np.float64).max * np.sign(X) * np.sign(model.x_weights_[:, 0]))


@pytest.mark.filterwarnings("error")
def test_distances_that_leave_a_sample_alone_are_refused():
    with pytest.raises(ValueError, match="expected 0 from each sample to itself"):
        normalized_laplacian(np.full((3, 3), 4.0), 1e-100)
