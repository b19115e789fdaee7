from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from ermlab.segmentation import (
    ExactGaussianFilter,
    GaussianFilter,
    dense_score,
    free_energy,
    labeling_score,
    mean_field,
    position_features,
)
from ermlab.segmentation.mean_field import different_pairs

SHAPE = (14, 11)


class Matrix:
    """A kernel that is given as a matrix."""

    def __init__(self, K):
        self.K, self.n_points, self.mass = K, len(K), K.sum(axis=1)

    def add_to(self, out, values, factor):
        out += factor * self.K @ values

    def quadratic_form(self, values):
        return np.sum(values * (self.K @ values), axis=0)


def filters(kind=GaussianFilter, shape=SHAPE, seed=0):
    positions = position_features(shape)
    intensity = np.random.default_rng(seed).normal(size=(len(positions), 1))
    return [kind(positions / 2.0), kind(np.hstack([positions / 5.0, intensity]))]


def potentials(n_states, seed=0, n=SHAPE[0] * SHAPE[1]):
    return np.random.default_rng(seed).normal(size=(n, n_states))


@pytest.mark.parametrize("n_states", [1, 2, 3, 5])
@pytest.mark.parametrize("potts", [True, False])
def test_fixed_point_equations(n_states, potts):
    unary, kernels, weights = potentials(n_states), filters(), np.array([1.5, 0.7])
    random = np.random.default_rng(3).normal(size=(n_states, n_states))
    compatibility = None if potts else 0.2 * (random + random.T)
    found = mean_field(unary, kernels, weights, compatibility=compatibility, max_iter=500, tol=1e-12)
    assert found.converged
    matrix = np.eye(n_states) - 1 if potts else compatibility
    sums = sum(w * kernel.apply(found.marginals) for w, kernel in zip(weights, kernels, strict=True))
    np.testing.assert_allclose(found.marginals, softmax(unary + sums @ matrix, axis=1), atol=1e-9)
    np.testing.assert_array_equal(found.labels, found.marginals.argmax(axis=1))


@pytest.mark.parametrize("n_states", [2, 4])
def test_iterations_of_the_definition(n_states):
    """Ten parallel updates with the dense matrix of weights."""
    unary, kernels = potentials(n_states), filters(ExactGaussianFilter)
    K = 2.0 * kernels[0].apply(np.eye(154)) + 0.5 * kernels[1].apply(np.eye(154))
    Q = softmax(unary, axis=1)
    for _ in range(10):
        Q = 0.8 * softmax(unary - K @ (1 - Q), axis=1) + 0.2 * Q
    found = mean_field(unary, kernels, [2.0, 0.5], max_iter=10, tol=0.0, damping=0.2)
    np.testing.assert_allclose(found.marginals, Q, atol=1e-12)
    assert found.n_iter == 10
    assert not found.converged


def test_lattice_and_exact_kernels_agree_on_an_image():
    rng = np.random.default_rng(0)
    shape = (40, 40)
    positions = position_features(shape)
    region = (np.hypot(*(positions - 20).T) < 12).astype(float)
    intensity = region + 0.1 * rng.normal(size=1600)
    unary = np.column_stack([0.5 - region, region - 0.5]) + rng.normal(size=(1600, 2))
    features = np.column_stack([positions / 8, intensity / 0.3])
    fast, exact = (
        mean_field(unary, [kind(features)], [4.0]) for kind in (GaussianFilter, ExactGaussianFilter)
    )
    assert np.mean(fast.labels == exact.labels) > 0.995
    assert np.abs(fast.marginals - exact.marginals).mean() < 0.01
    assert np.mean(fast.labels == region) > np.mean(unary.argmax(axis=1) == region) + 0.1


@pytest.mark.parametrize("kind", [GaussianFilter, ExactGaussianFilter])
@pytest.mark.parametrize("n_states", [2, 3])
def test_free_energy_never_increases_for_potts(kind, n_states):
    unary, kernels = potentials(n_states), filters(kind)
    energies = [
        free_energy(
            unary, kernels, mean_field(unary, kernels, [30, 20], max_iter=i, tol=0).marginals, [30, 20]
        )
        for i in range(8)
    ]
    assert (np.diff(energies) <= 1e-9 * abs(energies[0])).all()
    assert energies[-1] < energies[0]


def test_damping_ends_oscillations():
    """Two nodes that must differ: parallel updates without damping swap their labels for ever."""
    repulsive = Matrix(np.array([[0.0, 1.0], [1.0, 0.0]]))
    unary = np.array([[0.0, 0.1], [0.0, 0.1]])
    matrix = np.array([[-6.0, 0.0], [0.0, -6.0]])
    plain = mean_field(unary, [repulsive], compatibility=matrix, max_iter=200, tol=1e-6)
    damped = mean_field(unary, [repulsive], compatibility=matrix, max_iter=200, tol=1e-6, damping=0.7)
    assert not plain.converged
    assert damped.converged


@pytest.mark.parametrize("n_states", [2, 3])
def test_free_energy_bounds_the_partition_function(n_states):
    rng = np.random.default_rng(0)
    K = rng.random((5, 5))
    K = K + K.T
    np.fill_diagonal(K, 0)
    unary, kernel = rng.normal(size=(5, n_states)), Matrix(K)
    scores = [dense_score(unary, [kernel], y) for y in product(range(n_states), repeat=5)]
    found = mean_field(unary, [kernel], max_iter=300, tol=1e-10, damping=0.3)
    assert found.converged
    assert free_energy(unary, [kernel], found.marginals) >= -logsumexp(scores)
    one = np.eye(n_states)[[0, 1, 1, 0, 1]]
    assert free_energy(unary, [kernel], one) == pytest.approx(-dense_score(unary, [kernel], [0, 1, 1, 0, 1]))


@pytest.mark.parametrize("n_states", [2, 4])
def test_score_is_that_of_the_complete_graph(n_states):
    unary, kernels = potentials(n_states, n=20), filters(shape=(4, 5))
    labels = np.random.default_rng(1).integers(n_states, size=20)
    edges = np.column_stack(np.triu_indices(20, 1))
    K = 2.0 * kernels[0].apply(np.eye(20)) + 3.0 * kernels[1].apply(np.eye(20))
    potts = -K[tuple(edges.T)][:, None, None] * (1 - np.eye(n_states))
    truth = labeling_score(unary, edges, potts, labels)
    assert dense_score(unary, kernels, labels, [2.0, 3.0]) == pytest.approx(truth)
    cut = 2 * different_pairs(kernels[0], labels, n_states) + 3 * different_pairs(
        kernels[1], labels, n_states
    )
    assert truth == pytest.approx(unary[np.arange(20), labels].sum() - cut)


def test_same_bits_with_any_number_of_threads():
    shape = (120, 90)
    features = np.column_stack([position_features(shape) / 7, np.random.default_rng(0).normal(size=10_800)])
    unary = potentials(3, n=10_800)
    results = [mean_field(unary, [GaussianFilter(features, n_jobs=n)], n_jobs=n).marginals for n in (1, 2)]
    np.testing.assert_array_equal(*results)


def test_without_kernels_the_marginals_are_those_of_each_node():
    unary = potentials(3)
    for kernels, weights in (([], None), (filters(), [0.0, 0.0])):
        found = mean_field(unary, kernels, weights)
        np.testing.assert_allclose(found.marginals, softmax(unary, axis=1), rtol=1e-12)
        assert found.converged


def test_extreme_scores():
    kernels = filters()
    for scale in (1e-9, 1e9, 1e150):
        unary = np.clip(scale * potentials(2), -1e150, 1e150)
        found = mean_field(unary, kernels, [1e9, 1e-9])
        np.testing.assert_allclose(found.marginals.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"unary": np.zeros((0, 2))}, "unary"),
        ({"unary": np.zeros(154)}, "unary"),
        ({"unary": np.full((154, 2), np.nan)}, r"unary is nan at \(0, 0\)"),
        ({"unary": np.zeros((10, 2))}, "kernel 0 has 154 points"),
        ({"weights": [1.0]}, "weights"),
        ({"weights": [1.0, np.inf]}, "weights"),
        ({"weights": [1.0, 1e149], "compatibility": 1e149 * np.eye(2)}, "weights of the kernels"),
        ({"compatibility": np.zeros((3, 3))}, "compatibility has shape"),
        ({"compatibility": [[0, 1], [2, 0]]}, "not symmetric"),
        ({"max_iter": -1}, "max_iter"),
        ({"tol": np.nan}, "tol"),
        ({"damping": 1.0}, "damping"),
    ],
)
def test_unusable_arguments_are_refused(changes, message):
    arguments = {"unary": potentials(2), "kernels": filters(), "weights": [1.0, 1.0], **changes}
    with pytest.raises(ValueError, match=message):
        mean_field(**arguments)


def test_asymmetric_kernels_are_refused():
    kernel = GaussianFilter(position_features(SHAPE), "mean")
    with pytest.raises(ValueError, match="symmetric"):
        mean_field(potentials(2), [kernel])
