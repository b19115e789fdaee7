"""Boxes as a structured task: against all boxes written out, and a trainer that goes through all of them."""

import doctest
import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from ermlab.detection import BagOfWords, BoxTask, box_task, subwindow
from ermlab.features import Vocabulary, dense_surf
from ermlab.structured.structured_svm import StructuredSVM
from ermlab.structured.task import Task

SHAPE = (4, 5)
BOXES = [
    (left, top, right, bottom)
    for left, top in itertools.product(range(5), range(4))
    for right, bottom in itertools.product(range(left, 5), range(top, 4))
]


def images(n, n_words, seed=0):
    """Images with the first word in the true box alone."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        points, box = rng.integers((5, 4), size=(10, 2)), BOXES[rng.integers(len(BOXES))]
        inside = ((points >= box[:2]) & (points <= box[2:])).all(axis=1)
        words = np.where(inside, 0, rng.integers(1, n_words, size=10))
        X.append(BagOfWords(points, words, SHAPE))
        Y.append(np.array(box))
    return X, Y


def violations(task, w, x, y, rescaling):
    """Violation of each box by definition."""
    losses = np.array([task.loss(y, z) for z in BOXES])
    margins = np.array([task.joint_feature(x, z) - task.joint_feature(x, y) for z in BOXES]) @ w
    return losses * (1 + margins) if rescaling == "slack" else losses + margins


def exhaustive_objective(task, X, Y, C, rescaling):
    """The optimum with the constraints of all boxes, by a general solver on the dual of all planes."""
    A, b, owner = [], [], []
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        for z in BOXES:
            loss, a = task.loss(y, z), task.joint_feature(x, z) - task.joint_feature(x, y)
            A.append(loss * a if rescaling == "slack" else a)
            b.append(loss)
            owner.append(i)
    A, b, owner = np.array(A), np.array(b), np.array(owner)
    d, n = A.shape[1], len(X)
    slack = np.zeros((len(b), n))
    slack[np.arange(len(b)), owner] = 1
    result = minimize(
        lambda v: 0.5 * v[:d] @ v[:d] + C * v[d:].sum(),
        np.concatenate([np.zeros(d), np.ones(n)]),
        jac=lambda v: np.concatenate([v[:d], np.full(n, C)]),
        constraints={
            "type": "ineq",
            "fun": lambda v: slack @ v[d:] - A @ v[:d] - b,
            "jac": lambda v: np.hstack([-A, slack]),
        },
        method="SLSQP",
        options={"ftol": 1e-10, "maxiter": 500},
    )
    assert result.success, result.message
    return result.fun


@pytest.mark.parametrize("grids", [(1,), (1, 2)])
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_maxima_are_those_over_all_boxes(grids, rescaling):
    task, rng = BoxTask(3, grids), np.random.default_rng(1)
    assert isinstance(task, Task)
    for x, y in zip(*images(10, 3), strict=True):
        w = rng.normal(size=task.dimension)
        z = task.most_violated(w, x, y, rescaling)
        found = violations(task, w, x, y, rescaling)
        assert found[BOXES.index(tuple(z))] == pytest.approx(found.max(), abs=1e-12)
        scores = np.array([task.joint_feature(x, box) @ w for box in BOXES])
        assert scores[BOXES.index(tuple(task.predict(w, x)))] == pytest.approx(scores.max(), abs=1e-12)
        assert task.quality(w, x).score(y) == pytest.approx(task.joint_feature(x, y) @ w, abs=1e-12)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_training_reaches_the_objective_of_the_exhaustive_trainer(rescaling):
    task, C = BoxTask(3), 10.0
    X, Y = images(6, 3)
    model = StructuredSVM(task, C=C, rescaling=rescaling, tol=1e-5).fit(X, Y)
    w = model.coef_
    hinges = sum(max(0.0, violations(task, w, x, y, rescaling).max()) for x, y in zip(X, Y, strict=True))
    objective = 0.5 * w @ w + C * hinges
    exhaustive = exhaustive_objective(task, X, Y, C, rescaling)
    assert objective == pytest.approx(exhaustive, rel=1e-4)
    assert objective < C * len(X)  # better than w = 0, whose hinges are 1 each
    assert model.score(X, Y) > 0.3


def test_loss_is_one_minus_the_overlap():
    task = BoxTask(1)
    assert task.loss((0, 0, 1, 1), (0, 0, 1, 1)) == 0
    assert task.loss((0, 0, 1, 1), (1, 1, 2, 2)) == pytest.approx(6 / 7)
    assert task.loss((0, 0, 0, 0), (1, 1, 2, 2)) == 1


def test_bad_input():
    x = BagOfWords(np.array([[0, 0]]), np.array([3]), SHAPE)
    with pytest.raises(ValueError, match="words from 3 to 3: expected 0 to 2"):
        BoxTask(3).predict(np.zeros(3), x)
    with pytest.raises(ValueError, match="n_words is 0"):
        BoxTask(0)
    with pytest.raises(ValueError, match="box"):
        BoxTask(4).joint_feature(x, (2, 0, 1, 1))
    with pytest.raises(ValueError, match="weights of shape"):
        BoxTask(4).predict(np.zeros(3), x)


def test_counts_of_words_in_the_cells_of_a_box():
    x = BagOfWords(np.array([[1, 0], [2, 0], [1, 2], [4, 3]]), np.array([0, 1, 1, 0]), SHAPE)
    # The box of 2 x 3 pixels has its columns 1 and 2, and the rows 0 and 1 to 2, in different cells.
    assert BoxTask(2, (1, 2)).joint_feature(x, (1, 0, 2, 2)).tolist() == [1, 2, 1, 0, 0, 1, 0, 1, 0, 0]


def test_several_detections_exclude_each_other():
    x = BagOfWords(np.array([[0, 0], [1, 0], [4, 3], [2, 2]]), np.array([0, 0, 0, 1]), SHAPE)
    found = BoxTask(2).detect(np.array([2.0, -9.0]), x, n_detections=2, overlap=0.1)
    assert [detection.box.tolist() for detection in found] == [[0, 0, 1, 0], [4, 3, 4, 3]]
    assert [detection.score for detection in found] == [4.0, 2.0]


def test_words_of_an_image():
    image = np.random.default_rng(0).random((30, 40))
    points, descriptors = dense_surf(image, step=10)
    vocabulary = Vocabulary(4, random_state=0).fit(descriptors)
    x = BagOfWords.from_image(image, vocabulary, step=10)
    np.testing.assert_array_equal(x.points, points)
    np.testing.assert_array_equal(x.words, vocabulary.assign(descriptors))
    assert x.shape == (30, 40)
    assert BoxTask(4).joint_feature(x, (0, 0, 39, 29)).tolist() == np.bincount(x.words, minlength=4).tolist()


def test_the_examples_of_the_documentation():
    for module in (box_task, subwindow):
        found = doctest.testmod(module)
        assert found.attempted > 0
        assert found.failed == 0
