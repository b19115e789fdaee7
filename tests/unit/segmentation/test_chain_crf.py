import cvxpy
import numba
import numpy as np
import pytest

from ermlab.segmentation import ChainCRF
from ermlab.structured import BatchTask, StructuredRisk, StructuredSVM


@pytest.fixture(scope="module")
def words():
    """Noisy observations of chains of four states that follow each other."""
    rng = np.random.default_rng(0)
    steps = np.array([[0.1, 0.8, 0.1, 0.0], [0.0, 0.1, 0.8, 0.1], [0.1, 0.0, 0.1, 0.8], [0.8, 0.1, 0.0, 0.1]])
    X, Y = [], []
    for length in rng.integers(1, 12, size=60):
        y = [int(rng.integers(4))]
        while len(y) < length:
            y.append(int(rng.choice(4, p=steps[y[-1]])))
        Y.append(np.array(y))
        X.append(np.eye(4)[y] + 0.7 * rng.normal(size=(length, 4)))
    return X, Y


def test_learns_what_follows(words):
    X, Y = words
    chain = StructuredSVM(ChainCRF(4, 4), C=10.0, tol=1e-2).fit(X[:30], Y[:30])
    alone = [[x[i : i + 1] for x in part for i in range(len(x))] for part in (X, Y)]
    n = sum(map(len, X[:30]))
    single = StructuredSVM(ChainCRF(4, 4), C=10.0, tol=1e-2).fit(alone[0][:n], alone[1][:n])
    accuracy = np.mean(np.concatenate(chain.predict(X[30:])) == np.concatenate(Y[30:]))
    assert accuracy > single.score(alone[0][n:], alone[1][n:]) + 0.05


def test_minimum_is_that_of_the_quadratic_program():
    rng = np.random.default_rng(1)
    task = ChainCRF(2, 2)
    X, Y = [rng.normal(size=(3, 2)) for _ in range(6)], [rng.integers(2, size=3) for _ in range(6)]
    for rescaling in ("margin", "slack"):
        model = StructuredSVM(task, C=1.0, rescaling=rescaling, tol=1e-6).fit(X, Y)
        w, slacks = cvxpy.Variable(task.dimension), cvxpy.Variable(len(X), nonneg=True)
        constraints = []
        for i, (x, y) in enumerate(zip(X, Y, strict=True)):
            for z in np.ndindex(2, 2, 2):
                loss = task.loss(y, np.array(z))
                a = task.joint_feature(x, np.array(z)) - task.joint_feature(x, y)
                constraints.append(
                    slacks[i] >= (loss * (1 + a @ w) if rescaling == "slack" else loss + a @ w)
                )
        problem = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.sum_squares(w) + cvxpy.sum(slacks)), constraints)
        problem.solve(solver=cvxpy.CLARABEL)
        assert model.result_.value * len(X) == pytest.approx(problem.value, rel=1e-5)
        assert model.result_.lower_bound * len(X) <= problem.value * (1 + 1e-6)
        np.testing.assert_allclose(model.coef_, w.value, atol=1e-2)


def test_same_bits_for_every_number_of_threads():
    rng = np.random.default_rng(2)
    task = ChainCRF(5, 17)
    lengths = rng.integers(1, 60, size=400)
    X, Y = [rng.normal(size=(n, 17)) for n in lengths], [rng.integers(5, size=n) for n in lengths]
    w = rng.normal(size=task.dimension)
    found = []
    before = numba.get_num_threads()
    for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
        numba.set_num_threads(threads)
        value, subgradient = StructuredRisk(task, X, Y)(w)
        found.append((value, subgradient, np.concatenate(task.batch_predict(w, X))))
    numba.set_num_threads(before)
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_planes_of_the_whole_risk_by_default(words):
    X, Y = words[0][:5], words[1][:5]
    auto, bundle = (StructuredSVM(ChainCRF(4, 4), solver=solver).fit(X, Y) for solver in ("auto", "bundle"))
    np.testing.assert_array_equal(auto.coef_, bundle.coef_)
    blocks = StructuredSVM(ChainCRF(4, 4), solver="blocks").fit(X, Y)
    assert blocks.result_.value == pytest.approx(bundle.result_.value, rel=2e-3)


def test_dimension_and_protocol():
    assert ChainCRF(26, 128).dimension == 26 * 128 + 26 * 26
    assert ChainCRF(26, 128, directed=False).dimension == 26 * 128 + 26 * 27 // 2
    assert isinstance(ChainCRF(2, 1), BatchTask)


def test_loss_is_the_fraction_of_wrong_labels():
    assert ChainCRF(3, 1).loss([0, 1, 2, 2], [0, 2, 2, 1]) == 0.5
    assert ChainCRF(3, 1, class_weight=[1, 2, 3], ignore_label=2).loss([0, 1, 2, 2], [1, 0, 0, 0]) == 1.5


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_ignored_nodes_may_have_any_label(rescaling):
    task = ChainCRF(3, 1, ignore_label=2)
    X, Y = [np.zeros((4, 1))], [np.array([2, 0, 2, 1])]
    value, _ = StructuredRisk(task, X, Y, rescaling)(np.zeros(task.dimension))
    assert value == 1.0
    assert StructuredRisk(task, [np.zeros((2, 1))], [[2, 2]], rescaling)(np.zeros(task.dimension))[0] == 0.0


def test_arrays_of_equal_chains_and_lists_are_alike(words):
    rng = np.random.default_rng(3)
    task, X, Y = ChainCRF(3, 2), rng.normal(size=(5, 4, 2)), rng.integers(3, size=(5, 4))
    w = rng.normal(size=task.dimension)
    as_arrays, as_lists = StructuredRisk(task, X, Y)(w), StructuredRisk(task, list(X), Y.tolist())(w)
    assert as_arrays[0] == as_lists[0]
    assert task.batch_predict(w, []) == []


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        ([np.zeros((3, 2)), np.zeros((2, 3))], [[0, 1, 0], [0, 1]], r"chain 1: features of nodes have shape"),
        ([np.zeros((3, 2))], [[0, 1]], r"chain 0: labels .* expected 3 integers"),
        ([np.zeros((2, 2))], [[0, 2]], r"chain 0: label 2 of node 1: expected 0 to 1"),
        ([np.zeros((2, 2))], [[0, -1]], r"chain 0: label -1"),
        ([np.zeros((2, 2))], [[0.0, 1.0]], r"expected 2 integers"),
        ([np.zeros((0, 2))], [[]], r"chain 0: .* at least one node"),
        ([[[0.0, np.nan]]], [[0]], r"chain 0: features is nan at \(0, 1\)"),
        ([np.zeros(2)], [[0]], r"chain 0: features has shape \(2,\)"),
        ([], [], r"at least 1"),
        ([np.zeros((1, 2))], [], r"expected the same number"),
    ],
)
def test_bad_samples_are_named(X, Y, message):
    with pytest.raises(ValueError, match=message):
        StructuredRisk(ChainCRF(2, 2), X, Y)


def test_slack_rescaling_needs_equal_weights():
    task = ChainCRF(2, 1, class_weight=[1.0, 2.0])
    with pytest.raises(ValueError, match="class_weight"):
        StructuredSVM(task, rescaling="slack").fit([[[0.0]]], [[0]])


def test_slack_rescaling_of_a_chain_that_does_not_fit_in_memory():
    task, x = ChainCRF(2, 1), np.zeros((1_000_000, 1))
    with pytest.raises(ValueError, match="slack rescaling of a chain of 1000000 nodes would take"):
        task.most_violated(np.zeros(task.dimension), x, np.zeros(1_000_000, dtype=int), "slack")


def test_bad_weights_and_options_are_refused():
    with pytest.raises(ValueError, match="w has shape"):
        ChainCRF(2, 1).predict(np.zeros(3), [[0.0]])
    with pytest.raises(ValueError, match="rescaling is 'other'"):
        ChainCRF(2, 1).most_violated(np.zeros(6), [[0.0]], [0], "other")
    with pytest.raises(ValueError, match="n_states is 1"):
        ChainCRF(1, 1)
    with pytest.raises(ValueError, match="scores that overflow"):
        ChainCRF(2, 1).predict(np.full(6, 1e100), [[1e100]])
