import numpy as np
import pytest

from ermlab.segmentation import ExactGaussianFilter, GaussianFilter, position_features

NORMALIZATIONS = ("symmetric", "mean", "none")


def image_features(shape=(40, 30), width=6.0, contrast=0.4, seed=0):
    """Position and intensity of an image with two regions."""
    positions = position_features(shape)
    rng = np.random.default_rng(seed)
    intensity = (positions[:, 0] + positions[:, 1] > sum(shape) / 2) + 0.05 * rng.normal(size=len(positions))
    return np.column_stack([positions / width, intensity / contrast])


def relative_error(found, truth):
    return np.linalg.norm(found - truth) / np.linalg.norm(truth)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_exact_filter_is_the_matrix_of_gaussian_weights(normalization):
    features = np.random.default_rng(0).normal(size=(30, 3))
    K = np.exp(-0.5 * np.sum((features[:, None] - features) ** 2, axis=2))
    sums = K.sum(axis=1)
    if normalization == "mean":
        K = K / sums[:, None]
    elif normalization == "symmetric":
        K = K / np.sqrt(np.outer(sums, sums))
    kernel = ExactGaussianFilter(features, normalization)
    np.testing.assert_allclose(kernel.apply(np.eye(30)), K, rtol=1e-12)
    np.testing.assert_allclose(kernel.mass, K.sum(axis=1), rtol=1e-12)
    values = np.random.default_rng(1).normal(size=(30, 2))
    np.testing.assert_allclose(kernel.quadratic_form(values), np.diag(values.T @ K @ values), rtol=1e-10)


@pytest.mark.parametrize(("d", "allowed"), [(1, 0.04), (2, 0.04), (3, 0.06), (4, 0.08)])
def test_lattice_has_the_amplitude_and_width_of_the_gaussian(d, allowed):
    """On points that fill the space, where no vertex is missing, smooth values are nearly exact.

    In one dimension the vertices are ``h = sqrt(3/2)`` apart, and linear interpolation of a function with
    second derivatives up to 1 is off by at most ``h^2 / 8 = 0.19``, on average much less.
    """
    axes = np.meshgrid(*[np.linspace(-2.5, 2.5, (500, 60, 18, 10)[d - 1])] * d, indexing="ij")
    features = np.stack([axis.ravel() for axis in axes], axis=1)
    values = np.cos(features.sum(axis=1) / d)
    inside = (np.abs(features) < 1.2).all(axis=1)
    found = GaussianFilter(features, "none").apply(values)[inside]
    truth = ExactGaussianFilter(features, "none").apply(values)[inside]
    assert relative_error(found, truth) < allowed


@pytest.mark.parametrize("normalization", ["symmetric", "mean"])
def test_lattice_against_direct_summation_on_an_image(normalization):
    features = image_features()
    values = np.random.default_rng(2).random((len(features), 3))
    found = GaussianFilter(features, normalization).apply(values)
    assert relative_error(found, ExactGaussianFilter(features, normalization).apply(values)) < 0.05


@pytest.mark.parametrize("d", [1, 2, 5, 8])
def test_matrix_is_symmetric_non_negative_and_positive_semidefinite(d):
    features = np.random.default_rng(d).normal(size=(120, d))
    for normalization in ("symmetric", "none"):
        kernel = GaussianFilter(features, normalization)
        K = kernel.apply(np.eye(120))
        np.testing.assert_allclose(K, K.T, rtol=1e-12, atol=1e-15)
        assert K.min() >= 0
        assert np.linalg.eigvalsh(K).min() > -1e-12 * np.abs(K).max()
        np.testing.assert_allclose(kernel.mass, K.sum(axis=1), rtol=1e-12)
        values = np.random.default_rng(0).normal(size=(120, 2))
        np.testing.assert_allclose(kernel.quadratic_form(values), np.diag(values.T @ K @ values), rtol=1e-10)


def test_symmetric_normalization_has_the_eigenvector_of_a_stochastic_matrix():
    features = image_features((15, 12))
    K = GaussianFilter(features, "symmetric").apply(np.eye(180))
    assert np.linalg.eigvalsh(K).max() == pytest.approx(1.0, rel=1e-6)


def test_mean_preserves_constants():
    kernel = GaussianFilter(image_features(), "mean")
    np.testing.assert_allclose(kernel.apply(np.full(1200, 3.0)), 3.0, rtol=1e-6)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_linear(normalization):
    kernel = GaussianFilter(image_features(), normalization)
    first, second = np.random.default_rng(0).normal(size=(2, 1200, 2))
    np.testing.assert_allclose(
        kernel.apply(2 * first - 3 * second), 2 * kernel.apply(first) - 3 * kernel.apply(second), atol=1e-9
    )


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_one_channel_is_filtered_as_many_are(normalization):
    kernel = GaussianFilter(image_features(), normalization)
    values = np.random.default_rng(0).normal(size=(1200, 3))
    together = kernel.apply(values)
    for c in range(3):
        np.testing.assert_allclose(kernel.apply(values[:, c]), together[:, c], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("d", [2, 5])
def test_same_bits_with_any_number_of_threads(d):
    rng = np.random.default_rng(d)
    features = np.cumsum(rng.normal(size=(20_000, d)), axis=0) / 20
    values = rng.normal(size=(20_000, 2))
    filters = [GaussianFilter(features, n_jobs=n) for n in (1, 2, 3)]
    results = [kernel.apply(values) for kernel in filters]
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    np.testing.assert_array_equal(filters[0].mass, filters[1].mass)
    small = features[:500]
    exact = [ExactGaussianFilter(small, n_jobs=n).apply(values[:500]) for n in (1, 2)]
    np.testing.assert_array_equal(*exact)


def test_keys_of_several_words():
    """Ten features over a wide range do not fit into one word; far points do not interact."""
    rng = np.random.default_rng(0)
    centers = 1e5 * rng.integers(-20, 20, size=(40, 10))
    features = np.repeat(centers, 3, axis=0).astype(np.float64)
    values = rng.normal(size=120)
    groups = values.reshape(40, 3).mean(axis=1)
    np.testing.assert_allclose(
        GaussianFilter(features, "mean").apply(values), np.repeat(groups, 3), rtol=1e-5
    )


def test_different_vertices_are_not_confused():
    """Number of vertices against the set of all corners, found with exact integers."""
    features = np.random.default_rng(0).normal(size=(300, 3)) * 3
    kernel = GaussianFilter(features, "none")
    assert kernel.n_vertices == len(lattice_corners(features))


def lattice_corners(features):
    """The corners of the simplices around the points, by the definition of the lattice A*_d."""
    d = features.shape[1]
    E = np.zeros((d + 1, d))
    for j in range(1, d + 1):  # the orthogonal basis of the hyperplane that the elevation uses
        E[:j, j - 1] = 1.0
        E[j, j - 1] = -j
        E[:, j - 1] /= np.sqrt(j * (j + 1))
    center = 0.5 * (features.min(axis=0) + features.max(axis=0))
    elevated = np.sqrt(2 / 3) * (d + 1) * (features - center) @ E.T
    corners = set()
    for x in elevated:
        candidates = []
        for r in range(d + 1):
            # The closest point of remainder r: coordinates congruent to r, with sum 0.
            base = np.round((x - r) / (d + 1)) * (d + 1) + r
            excess = round(base.sum() / (d + 1))
            order = np.argsort(x - base)
            if excess > 0:
                base[order[:excess]] -= d + 1
            elif excess < 0:
                base[order[excess:]] += d + 1
            candidates.append(tuple(base.astype(int)))
        corners.update(candidates)
    return corners


def test_one_point_and_constant_features():
    for kernel in (GaussianFilter, ExactGaussianFilter):
        np.testing.assert_allclose(kernel([[3.0, 4.0]]).apply([7.0]), [7.0], rtol=1e-6)
        constant = kernel(np.full((50, 4), 5.0), "mean").apply(np.arange(50.0))
        np.testing.assert_allclose(constant, 24.5, rtol=1e-6)


def test_offsets_do_not_matter():
    features = image_features()
    values = np.random.default_rng(0).random(1200)
    shifted = GaussianFilter(features + 2.0**20).apply(values)
    np.testing.assert_allclose(shifted, GaussianFilter(features).apply(values), rtol=1e-6)


@pytest.mark.parametrize("kernel", [GaussianFilter, ExactGaussianFilter])
@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.zeros((0, 3)), "at least one"),
        (np.zeros((3, 0)), "at least one"),
        (np.zeros(3), "n_points"),
        ([[0.0, np.nan]], r"\(0, 1\)"),
        ([[np.inf, 0.0]], r"\(0, 0\)"),
        ([[0.0], [1e9]], "standard deviations"),
        ([[-1e308], [1e308]], "standard deviations"),
    ],
)
def test_unusable_features_are_refused(kernel, features, message):
    with pytest.raises(ValueError, match=message):
        kernel(features)


def test_unusable_values_are_refused():
    kernel = GaussianFilter(np.zeros((3, 2)))
    for values in (np.zeros(4), np.zeros((3, 1, 1)), [0, np.nan, 0], 5.0):
        with pytest.raises(ValueError, match="values"):
            kernel.apply(values)
    with pytest.raises(ValueError, match="normalization"):
        GaussianFilter(np.zeros((3, 2)), "rows")


def test_memory_is_linear_in_the_points():
    sizes = [GaussianFilter(image_features(shape)).nbytes for shape in ((40, 40), (80, 80))]
    assert sizes[1] < 4.5 * sizes[0]


def test_positions_in_c_order():
    positions = position_features((2, 3), spacing=(10, 1))
    np.testing.assert_array_equal(positions, [[0, 0], [0, 1], [0, 2], [10, 0], [10, 1], [10, 2]])
    assert position_features((2, 3, 4)).shape == (24, 3)
