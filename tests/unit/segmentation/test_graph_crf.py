import numba
import numpy as np
import pytest

from ermlab.segmentation import GraphCRF, GridCRF, contrast_features, grid_edges
from ermlab.structured import BatchTask, StructuredRisk, StructuredSVM, Task

EDGES = np.array([[0, 1], [1, 2], [2, 0]])


def noisy_squares(rng, n_images, n_states=2, noise=0.8):
    """Return images of rectangles with a constant feature, and their labels; sizes differ."""
    images, labels = [], []
    for i in range(n_images):
        y = np.zeros((12 + i % 3, 14), dtype=np.int64)
        for state in range(1, n_states):
            top, left = rng.integers(0, 7, 2)
            y[top : top + 6, left : left + 6] = state
        x = np.eye(n_states)[y] + noise * rng.normal(size=(*y.shape, n_states))
        images.append(np.concatenate([x, np.ones((*y.shape, 1))], axis=-1))
        labels.append(y)
    return images, labels


def test_they_are_tasks():
    for task in (GraphCRF(2, 3), GridCRF(3, 2)):
        assert isinstance(task, Task)
        assert isinstance(task, BatchTask)


def test_edges_of_a_grid_by_hand():
    four = [[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]]
    np.testing.assert_array_equal(grid_edges((2, 3)), four)
    np.testing.assert_array_equal(grid_edges((2, 3), 8), [*four, [0, 4], [1, 5], [1, 3], [2, 4]])
    assert len(grid_edges((1, 1), 8)) == 0


def test_a_grid_is_the_graph_of_its_edges():
    rng = np.random.default_rng(0)
    image, y = rng.normal(size=(4, 5, 3)), rng.integers(0, 3, (4, 5))
    grid, graph = GridCRF(3, 3, 2, connectivity=8), GraphCRF(3, 3, 2, submodular=True)
    features = rng.random((len(grid_edges((4, 5), 8)), 2))
    x = image.reshape(-1, 3), grid_edges((4, 5), 8), features
    w = np.clip(rng.normal(size=grid.dimension), *grid.bounds)
    np.testing.assert_array_equal(grid.bounds, graph.bounds)
    np.testing.assert_array_equal(grid.joint_feature((image, features), y), graph.joint_feature(x, y.ravel()))
    np.testing.assert_array_equal(grid.predict(w, (image, features)).ravel(), graph.predict(w, x))


def test_bounds_are_those_of_equal_and_different_states():
    lower, upper = GridCRF(3, 2, 2).bounds
    equal = [True, False, False, True, False, True]  # pairs 00, 01, 02, 11, 12, 22
    np.testing.assert_array_equal(lower[:6], -np.inf)
    np.testing.assert_array_equal(upper[:6], np.inf)
    np.testing.assert_array_equal(lower[6:], np.repeat(np.where(equal, 0, -np.inf), 2))
    np.testing.assert_array_equal(upper[6:], np.repeat(np.where(equal, np.inf, 0), 2))
    lower, upper = GraphCRF(2, 1, directed=True, submodular=True).bounds
    np.testing.assert_array_equal(lower[2:], [0, -np.inf, -np.inf, 0])
    np.testing.assert_array_equal(upper[2:], [np.inf, 0, 0, np.inf])
    assert GraphCRF(2, 1).bounds is None


def test_similarity_across_an_edge_of_the_image():
    image = np.zeros((3, 4))
    image[:, 2:] = 1.0
    features = contrast_features(image, connectivity=8)
    i, j = grid_edges(image.shape, 8).T
    across = image.ravel()[i] != image.ravel()[j]
    diagonal = (i // 4 != j // 4) & (i % 4 != j % 4)
    length = np.where(diagonal, np.sqrt(2), 1.0)
    np.testing.assert_allclose(features[:, 0], 1 / length)
    np.testing.assert_allclose(features[:, 1] * length, np.where(across, np.exp(-0.5 / across.mean()), 1.0))
    np.testing.assert_array_equal(contrast_features(np.ones((2, 2))), 1.0)
    color = np.repeat(image[:, :, None], 3, axis=2)
    np.testing.assert_allclose(contrast_features(color, 8), features)


@pytest.mark.parametrize("n_states", [2, 3])
def test_training_reaches_its_certificate_and_learns_to_smooth(n_states):
    rng = np.random.default_rng(1)
    images, labels = noisy_squares(rng, 12, n_states)
    task = GridCRF(n_states, n_states + 1)
    model = StructuredSVM(task, C=100.0, tol=0.02).fit(images[:6], labels[:6])
    assert model.result_.converged
    assert model.result_.exact == (n_states == 2)
    lower, upper = task.bounds
    assert (model.coef_ >= lower).all()
    assert (model.coef_ <= upper).all()
    pairwise = model.coef_[-(n_states * (n_states + 1)) // 2 :]
    assert np.abs(pairwise).max() > 0
    pixelwise = model.coef_.copy()
    pixelwise[n_states * (n_states + 1) :] = 0.0
    alone = np.mean(
        [1 - task.loss(y, task.predict(pixelwise, x)) for x, y in zip(images[6:], labels[6:], strict=True)]
    )
    assert model.score(images[6:], labels[6:]) > alone


def test_risk_is_the_mean_of_single_violations():
    rng = np.random.default_rng(2)
    images, labels = noisy_squares(rng, 3)
    task = GridCRF(2, 3)
    w = np.clip(rng.normal(size=task.dimension), *task.bounds)
    value, slope = StructuredRisk(task, images, labels)(w)
    violations = [task.violation_bound(w, x, y, "margin") for x, y in zip(images, labels, strict=True)]
    assert value == pytest.approx(np.mean(violations))
    step = 1e-6 * rng.normal(size=task.dimension)
    assert StructuredRisk(task, images, labels)(w + step)[0] >= value + slope @ step - 1e-9


def test_result_does_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(3)
    images, labels = noisy_squares(rng, 7, 3)
    task = GridCRF(3, 4)
    w = np.clip(rng.normal(size=task.dimension), *task.bounds)
    batch = task.prepare_batch(images, labels)
    found = []
    for n_jobs in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(n_jobs)
        found.append((*task.batch_planes(w, *batch, "margin"), *task.batch_predict(w, images)))
    for one, more in zip(*found, strict=True):
        np.testing.assert_array_equal(one, more)


def test_ignored_pixels_do_not_count():
    task = GridCRF(3, 1, ignore_label=2)
    y, z = np.array([[0, 1], [2, 2]]), np.array([[0, 0], [1, 0]])
    assert task.loss(y, z) == 0.5
    assert task.loss(np.full((2, 2), 2), z) == 0.0


@pytest.mark.parametrize("inference", ["expansion", "messages", "lp"])
def test_every_method_labels_an_easy_image(inference):
    images, labels = noisy_squares(np.random.default_rng(4), 1, 3, noise=0.05)
    task = GridCRF(3, 4, inference=inference)
    w = np.concatenate([np.eye(3, 4).ravel(), np.zeros(6)])
    assert not task.exact
    np.testing.assert_array_equal(task.predict(w, images[0]), labels[0])
    assert task.infer(w, images[0]).exact


def test_weights_that_are_not_submodular_are_refused_by_the_cut():
    image = np.zeros((3, 3, 1))
    w = np.array([0.0, 0.0, -1.0, 0.0, 0.0])
    for task in (GridCRF(2, 1), GraphCRF(2, 1, inference="cut")):
        x = image if isinstance(task, GridCRF) else (image.reshape(9, 1), grid_edges((3, 3)))
        with pytest.raises(ValueError, match="edge 0 between nodes 0 and 1 is not submodular"):
            task.predict(w, x)
    assert GridCRF(2, 1, submodular=False).predict(w, image).shape == (3, 3)


def test_slack_rescaling_is_refused_with_the_reason():
    task = GridCRF(2, 1)
    with pytest.raises(ValueError, match="not tractable on graphs with cycles"):
        task.most_violated(
            np.zeros(task.dimension), np.zeros((2, 2, 1)), np.zeros((2, 2), dtype=int), "slack"
        )


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ((np.zeros((3, 2)), [[0, 3]]), "edge 0 joins nodes 0 and 3"),
        ((np.zeros((3, 2)), EDGES, np.zeros((3, 1))), "edge features are given"),
        ((np.zeros((3, 1)), EDGES), r"shape \(3, 1\): expected \(n_nodes, 2\)"),
        ((np.full((3, 2), np.nan), EDGES), r"features is nan at \(0, 0\)"),
        ((np.zeros((0, 2)), []), "at least one node"),
        (np.zeros((3, 2)), "sample of type ndarray"),
        ((np.zeros((3, 2)),), "sample of type tuple"),
    ],
)
def test_bad_graphs_are_refused(x, message):
    with pytest.raises(ValueError, match=message):
        GraphCRF(2, 2).predict(np.zeros(7), x)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros((3, 4)), r"image has shape \(3, 4\): expected \(height, width, 2\)"),
        (np.zeros((0, 4, 2)), "at least one pixel"),
        (np.full((2, 2, 2), np.inf), "inf"),
        ((np.zeros((3, 4, 2)), np.zeros((2, 1))), "edge features are given"),
        (None, "image"),
    ],
)
def test_bad_images_are_refused(x, message):
    with pytest.raises(ValueError, match=message):
        GridCRF(2, 2).predict(np.zeros(7), x)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros((4, 3), dtype=int), r"sample 1: labels have shape \(4, 3\): expected \(3, 4\)"),
        (np.full((3, 4), 2), "sample 1: label 2 of node 0: expected 0 to 1"),
        (np.full((3, 4), -1), "sample 1: label -1 of node 0"),
        (np.zeros((3, 4)), "expected 12 integers"),
    ],
)
def test_bad_labels_are_refused_with_their_sample(y, message):
    with pytest.raises(ValueError, match=message):
        StructuredSVM(GridCRF(2, 1)).fit(np.zeros((2, 3, 4, 1)), [np.zeros((3, 4), dtype=int), y])


def test_negative_edge_features_are_refused_if_submodular():
    features = np.ones((3, 2))
    features[1, 0] = -0.5
    x = np.zeros((3, 1)), EDGES, features
    with pytest.raises(ValueError, match=r"edge feature 0 of edge 1 is -0\.5"):
        GraphCRF(2, 1, 2, submodular=True).predict(np.zeros(8), x)
    GraphCRF(2, 1, 2).predict(np.zeros(8), x)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GraphCRF(1, 2), "n_states is 1"),
        (lambda: GraphCRF(3, 2, inference="cut"), "expected 2 states"),
        (lambda: GraphCRF(2, 2, inference="best"), "inference is 'best'"),
        (lambda: GridCRF(2, 2, connectivity=6), "connectivity is 6"),
        (lambda: GridCRF(2, 2, -1), "n_edge_features is -1"),
        (lambda: contrast_features(np.zeros(3)), "image has shape"),
        (lambda: contrast_features(np.full((2, 2), np.nan)), "NaN or infinity"),
        (lambda: contrast_features(np.eye(2), beta=-1.0), "beta is -1.0"),
        (lambda: GridCRF(2, 2).loss(np.zeros((2, 2), int), np.zeros((2, 3), int)), "expected the same shape"),
    ],
)
def test_bad_options_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
