import numpy as np
import pytest

from ermlab.segmentation import labeling_score
from ermlab.segmentation._hamming import HammingLoss
from ermlab.segmentation._joint_features import JointFeatures

EDGES = np.array([[0, 1], [2, 1]])


def indicator(label, n_states):
    return np.eye(n_states)[label]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("n_edge_features", [None, 2])
def test_kronecker_products_of_the_definition(directed, n_edge_features):
    rng = np.random.default_rng(0)
    phi = JointFeatures(3, 4, directed=directed, n_edge_features=n_edge_features)
    x, y = rng.normal(size=(3, 4)), np.array([2, 0, 1])
    f = None if n_edge_features is None else rng.normal(size=(2, n_edge_features))
    unary = sum(np.kron(indicator(y[i], 3), x[i]) for i in range(3))
    pairs = np.zeros((9, n_edge_features or 1))
    for e, (i, j) in enumerate(EDGES):
        pairs += np.outer(np.kron(indicator(y[i], 3), indicator(y[j], 3)), [1.0] if f is None else f[e])
    if not directed:
        squares = pairs.reshape(3, 3, -1)
        both = squares + squares.transpose(1, 0, 2)
        both[np.arange(3), np.arange(3)] /= 2
        pairs = both[np.triu_indices(3)]
    expected = np.concatenate([unary, pairs.ravel()])
    assert phi.dimension == expected.size
    np.testing.assert_allclose(phi(x, EDGES, f, y), expected)

    w = rng.normal(size=phi.dimension)
    score = labeling_score(phi.unary(w, x), EDGES, phi.pairwise(w, f), y)
    assert w @ expected == pytest.approx(score)


def test_scores_that_overflow_are_refused():
    phi = JointFeatures(2, 1)
    with pytest.raises(ValueError, match="scores that overflow"):
        phi.unary(np.full(phi.dimension, 1e200), np.full((3, 1), 1e200))


def test_sums_that_overflow_are_refused():
    with pytest.raises(ValueError, match="sums that overflow"):
        JointFeatures(2, 1)(
            np.full((2, 1), 1.5e308), np.zeros((0, 2), dtype=np.int64), None, np.zeros(2, dtype=int)
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((1, 2), "n_states is 1"), ((2, 0), "n_features is 0"), ((2.5, 1), "n_states is 2.5")],
)
def test_bad_sizes_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        JointFeatures(*arguments)


def test_bad_samples_are_refused():
    phi = JointFeatures(2, 3, n_edge_features=2)
    for features in (np.zeros((0, 3)), np.zeros((2, 4)), np.full((2, 3), np.nan), [1.0, 2.0, 3.0]):
        with pytest.raises(ValueError, match="features"):
            phi.check_nodes(features)
    for edge_features in (None, np.zeros((1, 2)), np.full((2, 2), np.inf)):
        with pytest.raises(ValueError, match="edge features"):
            phi.check_edge_features(edge_features, 2)
    with pytest.raises(ValueError, match="w has shape"):
        phi.check_weights(np.zeros(3))


def test_fraction_of_wrong_nodes():
    loss = HammingLoss(3)
    assert loss(np.array([0, 1, 2, 2]), np.array([0, 2, 2, 1])) == 0.5


def test_weighted_loss_by_hand():
    loss = HammingLoss(3, class_weight=[1.0, 4.0, 7.0], ignore_label=2)
    truth = np.array([0, 1, 2, 2])
    assert loss(truth, np.array([1, 0, 0, 0])) == (1 + 4) / 2
    assert loss(truth, np.array([0, 1, 0, 1])) == 0.0
    assert loss(np.array([2, 2]), np.array([0, 1])) == 0.0


def test_augmented_scores_add_the_loss():
    rng = np.random.default_rng(1)
    loss = HammingLoss(3, class_weight=[1.0, 2.0, 3.0], ignore_label=1)
    unary, truth, labels = rng.normal(size=(6, 3)), rng.integers(3, size=6), rng.integers(3, size=6)
    added = loss.augment(unary, truth)[np.arange(6), labels].sum() - unary[np.arange(6), labels].sum()
    assert added == pytest.approx(loss(truth, labels))


@pytest.mark.parametrize(
    "options",
    [
        {"class_weight": [1.0, 2.0]},
        {"class_weight": [1.0, -1.0, 1.0]},
        {"class_weight": [1.0, np.nan, 1.0]},
        {"ignore_label": 3},
        {"ignore_label": -1},
    ],
)
def test_bad_options_are_refused(options):
    with pytest.raises(ValueError, match=r"class_weight|ignore_label"):
        HammingLoss(3, **options)
