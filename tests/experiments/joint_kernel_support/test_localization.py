"""Localisation with windows: label noise, the risk, scorers and choices against plain definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ermlab.detection.boxes import overlap
from ermlab.detection.word_grids import WordGrid
from ermlab.kernels.histogram import chi2_kernel
from ermlab.optimize import L2, minimize
from ermlab.structured.jkse import JKSE
from reproduction.experiments.joint_kernel_support.localization import (
    Pairs,
    Scan,
    WindowPool,
    WindowRisk,
    kernel_matrix,
    nearest_inside,
    pair_features,
    swap_boxes,
    train_ssvm,
)
from reproduction.experiments.joint_kernel_support.measures import detection_error
from reproduction.experiments.joint_kernel_support.protocol import METHODS, Crops, Settings, Trainer
from reproduction.experiments.joint_kernel_support.train_controls import cross_validate
from reproduction.experiments.joint_kernel_support.windows import PairKernel, Windows

N_WORDS = 6
SETTINGS = Settings(
    n_words=N_WORDS,
    levels=(1, 2),
    margin=0,
    stride=1,
    max_boxes=2,
    ssvm_tol=1e-3,
    C=(0.1, 10.0),
    nu=(0.2, 0.6, 1.0),
)


def trainer_of(method, grids, crops, sizes=None):
    """A trainer with the scaling that fits small images."""
    scaling = {"linear": "length", "chi2": "area"}[METHODS[method][1]]
    return Trainer(method, SETTINGS, scaling, grids, crops, sizes)


def scenes(n, seed=0, size=(3, 2)):
    """Grids on which the first words stand in one window alone, and the boxes of these windows."""
    rng = np.random.default_rng(seed)
    grids, boxes = [], []
    for _ in range(n):
        words = rng.integers(2, N_WORDS, size=(1, 6, 9)).astype(np.int32)
        left, top = rng.integers(9 - size[0] + 1), rng.integers(6 - size[1] + 1)
        words[0, top : top + size[1], left : left + size[0]] = rng.integers(3, size=size[::-1])
        grid = WordGrid(words, (0, 0), 4)
        grids.append(grid)
        boxes.append(grid.boxes_of([[left, top, left + size[0] - 1, top + size[1] - 1]]))
    return grids, boxes


def crops(n=12, seed=5):
    grids, boxes = scenes(n, seed)
    labels = np.arange(n) < n // 2
    cut = []
    for grid, box, label in zip(grids, boxes, labels, strict=True):
        left, top, right, bottom = grid.window_of(box[0]) if label else (0, 0, 2, 1)
        cut.append(WordGrid(grid.words[:, top : bottom + 1, left : right + 1].copy(), (0, 0), 4))
    return Crops(cut, labels)


# ---------------------------------------------------------------------------------------------- label noise


@given(seed=st.integers(0, 10**6), share=st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0]))
def test_boxes_are_exchanged_between_images(seed, share):
    rng = np.random.default_rng(seed)
    boxes = [np.array([[i, 0, i + 5, k] for k in range(1 + i % 2)]) for i in range(20)]
    pairs = Pairs.of(boxes)
    noisy = swap_boxes(pairs, [(50, 50)] * 20, share, rng)
    moved = (noisy.boxes != pairs.boxes).any(axis=1)
    assert moved.sum() == round(share * len(pairs))
    # All fit into every image, so nothing is lost; the left side tells the image a box comes from.
    assert sorted(map(tuple, noisy.boxes)) == sorted(map(tuple, pairs.boxes))
    assert (noisy.boxes[moved, 0] != pairs.images[moved]).all()
    np.testing.assert_array_equal(noisy.images, pairs.images)


@given(
    st.tuples(st.integers(-9, 20), st.integers(-9, 20), st.integers(0, 14), st.integers(0, 14)),
    st.tuples(st.integers(1, 10), st.integers(1, 10)),
)
def test_a_box_moves_into_the_image_by_the_least_shift(box, shape):
    left, top, width, height = box
    moved = nearest_inside([left, top, left + width, top + height], shape)
    width, height = min(width + 1, shape[1]), min(height + 1, shape[0])
    assert (moved[2:] - moved[:2] + 1).tolist() == [width, height]
    for corner, first, length, limit in zip(
        moved[:2], (left, top), (width, height), shape[::-1], strict=True
    ):
        assert corner in range(limit - length + 1)
        assert abs(corner - first) == min(abs(other - first) for other in range(limit - length + 1))


def test_no_exchange_within_one_image():
    pairs = Pairs.of([np.array([[0, 0, 5, k] for k in range(4)])])
    with pytest.raises(ValueError, match="expected fewer of one image"):
        swap_boxes(pairs, [(50, 50)], 0.5, np.random.default_rng(0))


def test_a_wrong_share_is_rejected():
    with pytest.raises(ValueError, match=r"share is 1\.5"):
        swap_boxes(Pairs.of([[[0, 0, 1, 1]]]), [(5, 5)], 1.5, np.random.default_rng(0))


# ------------------------------------------------------------------------------------------------- the risk


#: Searched sizes: that of the label, or several ones, of which one is too wide for the grids.
SIZES = (None, [(2, 2), (4, 3), (12, 2)])


def plain_risk(grids, pairs, kernel, w, sizes=None, stride=1):
    """The mean hinge loss by definition, window by window."""
    total = 0.0
    for image, box in zip(pairs.images, pairs.boxes, strict=True):
        grid = grids[image]
        searched = [grid.size_of(box)] if sizes is None else [size for size in sizes if grid.fits(size)]
        windows = np.array(
            [
                (left, top, left + width - 1, top + height - 1)
                for width, height in searched
                for top in range(0, grid.words.shape[1] - height + 1, stride)
                for left in range(0, grid.words.shape[2] - width + 1, stride)
            ]
        )
        features = kernel.features([grid] * len(windows), windows).toarray()
        truth = kernel.features([grid], [grid.window_of(box)]).toarray()[0]
        right = np.array([grid.window_of(label) for label in pairs.of_image(image)])
        losses = 1 - overlap(windows, right).max(axis=1)
        total += max(np.max(losses + (features - truth) @ w), 0)
    return total / len(pairs)


@pytest.mark.parametrize("normalization", ["counts", "length"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("stride", [1, 2])
def test_the_risk_is_the_mean_of_the_largest_violations(normalization, sizes, stride):
    grids, boxes = scenes(4)
    boxes[1] = np.concatenate([boxes[1], grids[1].boxes_of([[0, 0, 1, 2]])])
    pairs, kernel = Pairs.of(boxes), PairKernel(N_WORDS, (1, 2), "linear", normalization)
    risk = WindowRisk(WindowPool(grids, kernel, stride), pairs, sizes)
    rng = np.random.default_rng(0)
    for _ in range(5):
        w, u = rng.normal(size=(2, kernel.dimension))
        value, subgradient = risk(w)
        assert value == pytest.approx(plain_risk(grids, pairs, kernel, w, sizes, stride))
        assert plain_risk(grids, pairs, kernel, u, sizes, stride) >= value + subgradient @ (u - w) - 1e-9
        planes = [risk.plane(i, w) for i in range(len(risk))]
        assert np.mean([a @ w + b for a, b in planes]) == pytest.approx(value)
    # The two boxes of the second image have different sizes, and share a search of given sizes.
    n_searches = len(pairs) if sizes is None else len(grids)
    assert risk.searches == 5 * (n_searches + len(pairs))


@pytest.mark.parametrize("sizes", SIZES)
def test_training_reaches_the_optimum_of_a_solver_without_blocks(sizes):
    grids, boxes = scenes(6)
    pairs, kernel = Pairs.of(boxes), PairKernel(N_WORDS, (1, 2), "linear", "length")
    risk, C = WindowRisk(WindowPool(grids, kernel), pairs, sizes), 2.0
    (w,) = train_ssvm(risk, [C], 1e-4)
    regularizer = L2(1 / (C * len(pairs)))
    best = minimize(risk, regularizer, tol=1e-4).value
    assert regularizer(w) + plain_risk(grids, pairs, kernel, w, sizes) == pytest.approx(best, rel=3e-4)


def test_larger_values_of_C_have_the_solution_of_the_first_that_separates():
    grids, boxes = scenes(6)
    pairs, kernel = Pairs.of(boxes), PairKernel(N_WORDS, (1, 2), "linear", "length")
    values, tol = [0.01, 1e4, 1e5], 1e-4
    risk = WindowRisk(WindowPool(grids, kernel), pairs)
    weights = train_ssvm(risk, values, tol)
    assert risk.separates
    assert weights[2] is weights[1]
    for C, w in zip(values[1:], weights[1:], strict=True):
        alone = WindowRisk(WindowPool(grids, kernel), pairs)
        best = minimize(alone, L2(1 / (C * len(pairs))), tol=tol).w
        np.testing.assert_allclose(w, best, atol=0.03 * np.abs(best).max())
    risk = WindowRisk(WindowPool(grids, kernel), pairs)
    train_ssvm(risk, values[:1], tol)
    assert not risk.separates


def test_images_without_a_window_are_refused():
    grids, boxes = scenes(2)
    pool = WindowPool(grids, PairKernel(N_WORDS, (1,)))
    with pytest.raises(ValueError, match="image 0 has no window: expected a size that fits"):
        WindowRisk(pool, Pairs.of(boxes), [(20, 20)])


def test_the_risk_needs_explicit_weights():
    grids, boxes = scenes(2)
    with pytest.raises(ValueError, match="kernel is 'chi2'"):
        WindowRisk(WindowPool(grids, PairKernel(N_WORDS, (1,), "chi2")), Pairs.of(boxes))


@pytest.mark.parametrize("image", [-1, 2])
def test_pairs_of_images_that_there_are_not(image):
    grids, boxes = scenes(2)
    pairs, kernel = Pairs(np.array([image]), np.array(boxes[0][:1])), PairKernel(N_WORDS, (1,))
    for use in (
        lambda: WindowRisk(WindowPool(grids, kernel), pairs),
        lambda: pair_features(grids, pairs, kernel),
    ):
        with pytest.raises(ValueError, match=rf"images \[{image}\]: expected 0 to 1"):
            use()


# -------------------------------------------------------------------------------------- scorers and choices


@pytest.mark.parametrize("method", ["jkse_linear", "jkse_chi2"])
def test_windows_score_as_pairs_do_in_joint_kernel_support_estimation(method):
    grids, boxes = scenes(8)
    trainer, pairs = trainer_of(method, grids, crops()), Pairs.of(boxes)
    candidates = trainer.train(pairs)

    def joint_kernel(some, others):
        features = [trainer.kernel.features(*zip(*chosen, strict=True)) for chosen in (some, others)]
        return kernel_matrix(trainer.kernel, *features)

    labels = [grid.window_of(box) for grid, (box,) in zip(grids, boxes, strict=True)]
    windows = Windows(grids[0], (3, 2), trainer.kernel)
    for nu, scorer in zip(SETTINGS.nu, candidates.scorers, strict=True):
        model = JKSE(joint_kernel, nu).fit(grids, labels)
        places = windows.places()
        scores = model.decision_function([grids[0]] * len(places), places) + model.rho_
        np.testing.assert_allclose(scorer.scores([windows])[0], scores, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sizes", [None, [(2, 2), (3, 2), (4, 3)]])
def test_every_method_finds_planted_objects(method, sizes):
    grids, boxes = scenes(30)
    trainer = trainer_of(method, grids, crops(40), sizes)
    candidates = trainer.train(Pairs.of(boxes[:20])[np.arange(20)])
    assert candidates.areas[candidates.chosen] == max(candidates.areas) > 0.9
    windows = [trainer.pool.of(image, sizes or [(3, 2)]) for image in range(20, 30)]
    found = Scan.of(candidates.scorers, windows).detections(candidates.chosen, 2, 0.2)
    assert detection_error(found, boxes[20:]) <= 0.4
    errors = cross_validate(trainer, Pairs.of(boxes), 3, 0.2)
    assert len(errors) == len(candidates.parameters)
    assert all(0 <= error <= 0.5 for error in errors)


@pytest.mark.parametrize("method", METHODS)
def test_many_scorers_find_together_what_each_finds(method):
    grids, boxes = scenes(8)
    trainer, pairs = trainer_of(method, grids, crops()), Pairs.of(boxes)
    # Scorers of one training share their references, those of two do not.
    scorers = [*trainer.train(pairs).scorers, *trainer.train(pairs[pairs.images < 5]).scorers]
    images = [trainer.pool.of(0, [(3, 2), (4, 3)]), trainer.pool.of(1, [(3, 2)])]
    together = Scan.of(scorers, images)
    for number, scorer in enumerate(scorers):
        alone = Scan.of([scorer], images)
        for (found, scores), (expected, its_scores) in zip(
            together.detections(number, 4, 0.1), alone.detections(0, 4, 0.1), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_allclose(scores, its_scores)


def test_detections_do_not_overlap_and_fall_in_score():
    grids, boxes = scenes(5)
    trainer = trainer_of("jkse_chi2", grids, crops())
    scorer = trainer.train(Pairs.of(boxes)).scorers[0]
    windows = trainer.pool.of(0, [(3, 2), (4, 3), (40, 2)])
    assert len(windows) == 2  # the third does not fit
    ((found, scores),) = Scan.of([scorer], [windows]).detections(0, 4, 0.1)
    assert (np.diff(scores) <= 0).all()
    overlaps = overlap(found, found)
    np.fill_diagonal(overlaps, 0)
    assert overlaps.max() <= 0.1
    assert scores[0] == max(some.max() for some in scorer.scores(windows))


def test_kernel_matrices_of_sparse_histograms():
    grids, boxes = scenes(5)
    for name in ("linear", "chi2"):
        kernel = PairKernel(N_WORDS, (1, 2), name)
        features = pair_features(grids, Pairs.of(boxes), kernel)
        full = features.toarray()
        expected = full @ full.T if name == "linear" else chi2_kernel(full)
        np.testing.assert_allclose(kernel_matrix(kernel, features, features), expected)


def test_an_unknown_method_is_rejected():
    grids, _ = scenes(2)
    with pytest.raises(ValueError, match="method"):
        Trainer("svm", SETTINGS, "area", grids, crops())
