import pickle
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone

from ermlab import DenseCRF, GridCRF, StructuredSVM, graph_cut
from ermlab.segmentation import ExactGaussianFilter, GaussianFilter, position_features
from ermlab.segmentation._dense_kernels import FilterCache
from ermlab.structured import Task
from ermlab.structured.task import PlanesTask

KERNELS = (1.0, (4.0, 0.5), (4.0, 0.5, [1]))


def sample(shape=(5, 6), n_features=2, n_states=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(*shape, n_features)), rng.normal(size=(*shape, 2))
    return x, rng.integers(n_states, size=shape)


def discs(n, seed=0, side=24, noise=1.0):
    """Noisy pixels with two discs, and a guide image that shows them under uneven light."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:side, :side]
    X, Y = [], []
    for _ in range(n):
        y = np.zeros((side, side), dtype=int)
        for _ in range(2):
            (row, column), radius = rng.uniform(5, side - 5, 2), rng.uniform(3, 6)
            y[np.hypot(rows - row, columns - column) < radius] = 1
        guide = y + 0.3 * np.sin(columns / 7 + rng.random()) + 0.15 * rng.normal(size=y.shape)
        X.append((np.stack([y + noise * rng.normal(size=y.shape), np.ones(y.shape)], axis=-1), guide))
        Y.append(y)
    return X, Y


@pytest.mark.parametrize(("shape", "n_states"), [((5, 6), 2), ((4, 5), 3), ((3, 4, 3), 2)])
def test_joint_features_of_the_definition(shape, n_states):
    (features, guide), y = sample(shape, n_states=n_states)
    task = DenseCRF(n_states, 2, KERNELS)
    phi = task.joint_feature((features, guide), y)
    n, labels, values = y.size, y.ravel(), guide.reshape(y.size, 2)
    for state in range(n_states):
        np.testing.assert_allclose(phi[2 * state : 2 * state + 2], features[y == state].sum(axis=0) / n)
    positions = position_features(shape)
    kernels = (
        positions,
        np.hstack([positions / 4, values / 0.5]),
        np.hstack([positions / 4, values[:, 1:] / 0.5]),
    )
    different = labels[:, None] != labels
    for m, kernel in enumerate(kernels):
        K = GaussianFilter(kernel).apply(np.eye(n))
        assert phi[2 * n_states + m] == pytest.approx(-0.5 * K[different].sum() / n, rel=1e-9)


def test_spacing_is_the_distance_of_pixels():
    (features, guide), y = sample()
    stretched = DenseCRF(2, 2, [3.0], spacing=(3.0, 1.5)).joint_feature((features, guide), y)
    positions = position_features((5, 6), (1.0, 0.5))
    different = y.ravel()[:, None] != y.ravel()
    K = GaussianFilter(positions).apply(np.eye(30))
    assert stretched[-1] == pytest.approx(-0.5 * K[different].sum() / 30)


def test_lattice_features_are_close_to_exact_ones():
    (x,), (y,) = discs(1)
    guide = x[1]
    phi = DenseCRF(2, 2, [2.0, (5.0, 0.3)]).joint_feature(x, y)
    positions, different = position_features(y.shape), y.ravel()[:, None] != y.ravel()
    for m, kernel in enumerate((positions / 2, np.column_stack([positions / 5, guide.ravel() / 0.3]))):
        K = ExactGaussianFilter(kernel).apply(np.eye(y.size))
        assert phi[4 + m] == pytest.approx(-0.5 * K[different].sum() / y.size, rel=0.15)


@pytest.mark.parametrize("n_states", [2, 3])
def test_violation_bound_and_most_violated_against_enumeration(n_states):
    (features, guide), y = sample((2, 3), n_states=n_states)
    task = DenseCRF(n_states, 2, [1.0, (2.0, 1.0)], class_weight=np.arange(1, n_states + 1))
    outputs = [np.reshape(z, (2, 3)) for z in product(range(n_states), repeat=6)]
    x = features, guide
    for seed in range(5):
        rng = np.random.default_rng(seed)
        w = np.concatenate([rng.normal(size=2 * n_states), 2 * rng.random(2)])
        truth = w @ task.joint_feature(x, y)
        best = max(task.loss(y, z) + w @ task.joint_feature(x, z) for z in outputs) - truth
        z = task.most_violated(w, x, y, "margin")
        found = task.loss(y, z) + w @ task.joint_feature(x, z) - truth
        assert found <= best + 1e-12
        assert found >= 0.8 * best
        assert task.violation_bound(w, x, y, "margin") >= best - 1e-12
        w[2 * n_states :] = 0  # without kernels mean field and bound are exact
        z = task.most_violated(w, x, y, "margin")
        found = task.loss(y, z) + w @ (task.joint_feature(x, z) - task.joint_feature(x, y))
        assert task.violation_bound(w, x, y, "margin") == pytest.approx(found)


def test_mean_field_scores_are_close_to_those_of_graph_cuts():
    (x,), (y,) = discs(1, side=18)
    task = DenseCRF(2, 2, [1.5, (4.0, 0.3)])
    edges = np.column_stack(np.triu_indices(y.size, 1))
    sample = task.sample(x)
    for weights in ([0.3, 0.3], [1.0, 2.0], [4.0, 0.0], [0.0, 6.0]):
        w = np.array([-1.0, 0.5, 1.0, -0.5, *weights])
        K = sum(
            c * task._filter(sample, m, None, keep=True).apply(np.eye(y.size)) for m, c in enumerate(weights)
        )
        potts = -K[tuple(edges.T)][:, None, None] * (1 - np.eye(2))
        best = graph_cut(sample.features @ w[:4].reshape(2, 2).T, edges, potts).score / y.size
        found = w @ task.joint_feature(x, task.predict(w, x))
        assert best - 0.03 * np.abs(w).sum() <= found <= best + 1e-9


def test_labels_do_not_depend_on_the_scale_of_the_weights():
    (x,), _ = discs(1)
    task, w = DenseCRF(2, 2, [1.5, (4.0, 0.3)]), np.array([-1.0, 0.5, 1.0, -0.5, 1.0, 2.0])
    np.testing.assert_array_equal(task.predict(w, x), task.predict(2.0**10 * w, x))


def test_planes_are_those_of_single_samples():
    X, Y = discs(3)
    task = DenseCRF(2, 2, [1.0, (5.0, 0.2)])
    w = np.array([-1.0, 0.5, 1.0, -0.5, 1.0, 2.0])
    slopes, offsets = task.batch_planes(w, *task.prepare_batch(X, Y), "margin")
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        z = task.most_violated(w, x, y, "margin")
        np.testing.assert_allclose(slopes[i], task.joint_feature(x, z) - task.joint_feature(x, y), atol=1e-12)
        assert offsets[i] == pytest.approx(task.loss(y, z))
    for x, z in zip(X, task.batch_predict(w, X), strict=True):
        np.testing.assert_array_equal(z, task.predict(w, x))


def test_training_learns_kernels_and_beats_the_grid():
    X, Y = discs(8)
    task = DenseCRF(2, 2, [1.0, 3.0, (5.0, 0.2), (10.0, 0.2)])
    model = StructuredSVM(task, C=100, tol=1e-2).fit(X[:4], Y[:4])
    assert model.result_.converged
    assert (model.coef_[4:] >= 0).all()
    assert model.coef_[6:].sum() > 0.5  # the guide image says where to smooth
    lower, upper = model.objective_bounds_
    assert not model.exact_
    assert lower <= model.result_.value <= upper < np.inf
    unary = StructuredSVM(DenseCRF(2, 2, []), C=100, tol=1e-2).fit(X[:4], Y[:4]).score(X[4:], Y[4:])
    images = [features for features, _ in X]
    grid = StructuredSVM(GridCRF(2, 2), C=100, tol=1e-2).fit(images[:4], Y[:4]).score(images[4:], Y[4:])
    assert model.score(X[4:], Y[4:]) > grid + 0.01 > unary + 0.1


def test_three_labels_in_three_dimensions():
    rng = np.random.default_rng(0)
    y = np.zeros((6, 12, 12), dtype=int)
    y[:, :, 4:], y[:, :, 8:] = 1, 2
    X = [
        np.concatenate([np.eye(3)[y] + rng.normal(size=(*y.shape, 3)), np.ones((*y.shape, 1))], axis=-1)
        for _ in range(3)
    ]
    task = DenseCRF(3, 4, [1.0, 2.0], spacing=(2.0, 1.0, 1.0))
    model = StructuredSVM(task, C=100, tol=1e-2).fit(X[:2], [y, y])
    assert model.score(X[2:], [y]) > np.mean(X[2][..., :3].argmax(axis=-1) == y) + 0.1
    marginals = task.marginals(model.coef_, X[2])
    assert marginals.shape == (6, 12, 12, 3)
    np.testing.assert_allclose(marginals.sum(axis=-1), 1)


def test_pixels_outside_of_the_mask_are_no_part_of_the_field():
    (features, guide), y = sample((6, 7))
    mask = np.zeros((6, 7), dtype=bool)
    mask[1:5, 2:6] = True
    y = np.where(mask, y, 0)
    task, w = DenseCRF(2, 2, KERNELS), np.array([1.0, -1, -1, 1, 0.5, 0.5, 0.5])
    features[~mask], guide[~mask] = np.nan, np.inf
    inside = features[1:5, 2:6], guide[1:5, 2:6]
    z = task.predict(w, (features, guide, mask))
    np.testing.assert_array_equal(z[1:5, 2:6], task.predict(w, inside))
    assert not z[~mask].any()
    np.testing.assert_allclose(
        task.joint_feature((features, guide, mask), y) * 42, task.joint_feature(inside, y[1:5, 2:6]) * 16
    )
    found = task.most_violated(w, (features, guide, mask), y, "margin")
    np.testing.assert_array_equal(found[1:5, 2:6], task.most_violated(w, inside, y[1:5, 2:6], "margin"))
    assert (task.marginals(w, (features, guide, mask))[~mask] == 0).all()


def test_ignored_pixels_do_not_count():
    X, Y = discs(1)
    y = np.where(Y[0] == 1, 1, 0)
    y[:8] = 2
    task = DenseCRF(3, 2, [1.0], ignore_label=2)
    z = np.zeros_like(y)
    assert task.loss(y, z) == pytest.approx(np.mean(y[8:] == 1))
    w = np.array([-1.0, 0.5, 1.0, -0.5, 0.0, 0.0, 1.0])
    z = task.most_violated(w, X[0], y, "margin")
    assert task.loss(y, z) > 0


def test_same_weights_with_any_number_of_threads(monkeypatch):
    X, Y = discs(3)
    found = []
    for n in (1, 2):
        monkeypatch.setattr("numba.get_num_threads", lambda n=n: n)
        found.append(StructuredSVM(DenseCRF(2, 2, [1.0, (5.0, 0.2)]), C=10, tol=1e-2).fit(X, Y).coef_)
    np.testing.assert_array_equal(*found)


def test_models_can_be_saved_and_cloned():
    X, Y = discs(2)
    model = StructuredSVM(DenseCRF(2, 2, [1.0, (5.0, 0.2)]), C=10, tol=1e-2).fit(X, Y)
    stored = pickle.dumps(model)
    assert len(stored) < 200_000  # without the filters
    np.testing.assert_array_equal(pickle.loads(stored).predict(X)[0], model.predict(X)[0])
    assert clone(model).task.dimension == 6


def test_changed_guide_images_are_noticed():
    """Filters are kept by content, not by the array."""
    (features, guide), y = sample()
    task = DenseCRF(2, 2, [(2.0, 1.0)])
    before = task.joint_feature((features, guide), y)
    guide += np.arange(6)[:, None]
    after = task.joint_feature((features, guide), y)
    np.testing.assert_array_equal(after, DenseCRF(2, 2, [(2.0, 1.0)]).joint_feature((features, guide), y))
    assert after[-1] != before[-1]


def test_cache_forgets_the_least_recently_used():
    filters = [GaussianFilter(np.full((10, 2), value)) for value in range(3)]
    cache, built = FilterCache(2 * filters[0].nbytes), []

    def get(key):
        return cache(key, lambda: built.append(key) or filters[key], keep=True)

    for key in (0, 1, 0, 2, 0, 1):
        assert get(key) is filters[key]
    assert built == [0, 1, 2, 1]
    small = FilterCache(1)
    assert small(0, lambda: filters[0], keep=True) is filters[0]


def test_is_a_task_that_works_in_batches():
    task = DenseCRF(2, 3)
    assert isinstance(task, Task)
    assert isinstance(task, PlanesTask)
    lower, upper = task.bounds
    np.testing.assert_array_equal(lower, [-np.inf] * 6 + [0])
    assert (upper == np.inf).all()


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros((5, 6, 3)), r"expected \(height, width, 2\)"),
        (np.zeros((0, 6, 2)), "at least one pixel"),
        ((np.zeros((5, 6, 2)),), "guide_width"),
        ((np.zeros((5, 6, 2)), np.zeros((6, 5))), "guide has shape"),
        ((np.zeros((5, 6, 2)), np.zeros((5, 6))), "channel 1"),
        ((np.zeros((5, 6, 2)), np.full((5, 6, 2), np.nan)), r"guide is nan at pixel \(0, 0\)"),
        ((np.full((5, 6, 2), np.inf), np.zeros((5, 6, 2))), "features is inf"),
        ((np.zeros((5, 6, 2)), np.zeros((5, 6, 2)), np.zeros((5, 6), dtype=bool)), "mask has no true"),
        ((np.zeros((5, 6, 2)), np.zeros((5, 6, 2)), np.ones((5, 6))), "booleans"),
        ((np.zeros((5, 6, 2)), np.zeros((5, 6, 2)), np.ones((5, 7), dtype=bool)), "mask of type"),
        ((np.zeros((5, 6, 2)),) * 4, "4 parts"),
        ((np.zeros((5, 6, 2)), 1e12 * np.arange(60.0).reshape(5, 6, 2)), "standard deviations"),
    ],
)
def test_unusable_samples_are_refused(x, message):
    with pytest.raises(ValueError, match=message):
        DenseCRF(2, 2, KERNELS).predict(np.ones(7), x)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_states": 1}, "n_states"),
        ({"kernels": [0.0]}, "width of kernel 0"),
        ({"kernels": [1.0, (1.0, np.nan)]}, "guide_width of kernel 1"),
        ({"kernels": [(1.0, 1.0, [])]}, "no channels"),
        ({"kernels": [(1.0, 1.0, [0], 2)]}, "kernel 0"),
        ({"spacing": (1.0, -1.0)}, "spacing"),
        ({"temperature": 0.0}, "temperature"),
        ({"max_iter": -1}, "max_iter"),
        ({"class_weight": [1.0]}, "class_weight"),
        ({"cache_size": -1}, "cache_size"),
    ],
)
def test_unusable_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        DenseCRF(**{"n_states": 2, "n_features": 2, "kernels": KERNELS, **options})


def test_unusable_weights_and_labels_are_refused():
    (x, y), task = sample(), DenseCRF(2, 2, KERNELS)
    with pytest.raises(ValueError, match=r"weight -1.0 of kernel 1"):
        task.predict([0, 0, 0, 0, 1, -1, 0], x)
    with pytest.raises(ValueError, match="w has shape"):
        task.predict(np.zeros(3), x)
    with pytest.raises(ValueError, match="overflow"):
        task.predict([1e200, 0, 0, 0, 0, 0, 0], x)
    with pytest.raises(ValueError, match="slack"):
        task.most_violated(np.zeros(7), x, y, "slack")
    with pytest.raises(ValueError, match="labels have shape"):
        task.joint_feature(x, y.T)
    with pytest.raises(ValueError, match="label 2"):
        task.joint_feature(x, np.full(y.shape, 2))
    mask = np.zeros(y.shape, dtype=bool)
    mask[0] = True
    with pytest.raises(ValueError, match=r"label 1 at pixel .* outside of the mask"):
        task.joint_feature((*x, mask), np.ones_like(y))
    with pytest.raises(ValueError, match="sample 1: labels"):
        task.prepare_batch([x, x], [y, y.T])
    with pytest.raises(ValueError, match="2 spacings"):
        DenseCRF(2, 2, [1.0], spacing=(1, 2)).predict(np.zeros(5), np.zeros((2, 2, 2, 2)))
