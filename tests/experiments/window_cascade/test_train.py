"""Every variant of the cascade minimizes its objective, written out, and learns what can be learned."""

import dataclasses
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.optimize import minimize

from reproduction.claims.results import read_json
from reproduction.experiments.window_cascade import train
from reproduction.experiments.window_cascade.train import (
    VARIANTS,
    TrainingWindows,
    WindowTask,
    areas,
    areas_by_suppression,
    best_suppressions,
    choose_settings,
    covered,
    halves_of,
    score_windows,
    train_variant,
)
from reproduction.experiments.window_cascade.window_pool import WindowPool

SUPPRESSION = (0.75, 0.75, 0.75)
RANKINGS = [variant for variant in VARIANTS if variant != "sosvm"]


def random_pool(seed, n_images, n_windows, noise):
    """Images with one or two objects, and two cues: minus the loss with noise, and noise alone."""
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, 60, (n_images * n_windows, 2))
    windows = np.hstack([corners, corners + rng.integers(8, 40, corners.shape)]).astype(np.int32)
    counts = rng.integers(1, 3, n_images)
    corners = rng.integers(0, 50, (counts.sum(), 2))
    truth = np.hstack([corners, corners + rng.integers(15, 45, corners.shape)]).astype(np.int32)
    pool = WindowPool(
        images=np.arange(n_images),
        starts=n_windows * np.arange(n_images + 1),
        windows=windows,
        cues=np.zeros((len(windows), 2), dtype=np.float32),
        truth_starts=np.concatenate([[0], np.cumsum(counts)]),
        truth=truth,
        truth_cues=np.zeros((len(truth), 2), dtype=np.float32),
        difficult=np.zeros(len(truth), dtype=bool),
        reachable=np.zeros((len(truth), 3)),
    )
    for cues, losses in ((pool.cues, pool.losses()), (pool.truth_cues, np.zeros(len(truth)))):
        cues[:, 0] = -losses + noise * rng.normal(size=len(losses))
        cues[:, 1] = 3 * rng.normal(size=len(losses))
    return pool


@pytest.fixture(scope="module")
def samples():
    return TrainingWindows.of(random_pool(seed=0, n_images=3, n_windows=12, noise=0.5))


def hinges(samples, w, variant, best_windows):
    """The rescaled hinge of every pair to be ranked, or of every object against its worst window."""
    scores, losses = samples.X @ w, samples.losses
    if variant == "sosvm":
        for k in samples.objects:
            rivals = np.flatnonzero(
                (samples.image == samples.image[k]) & (np.arange(len(losses)) < samples.objects[0])
            )
            yield max(0, *(losses[j] + scores[j] - scores[k] for j in rivals))
        return
    graph, rescaling = variant.split("_")
    thresholds = {"star": np.zeros(3), "bipartite": samples.thresholds(best_windows), "complete": None}[graph]
    for i, j in permutations(range(len(losses)), 2):
        if samples.image[i] != samples.image[j] or not losses[i] < losses[j]:
            continue
        limit = None if thresholds is None else thresholds[samples.image[i]]
        if limit is not None and not losses[i] <= limit < losses[j]:
            continue
        gap, margin = losses[j] - losses[i], scores[i] - scores[j]
        yield gap * max(0, 1 - margin) if rescaling == "slack" else max(0, gap - margin)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("C", [0.1, 30.0])
def test_the_weights_minimize_the_objective_written_out(samples, variant, C):
    def objective(w):
        return w @ w / 2 + C * np.mean(list(hinges(samples, w, variant, 3)))

    w = train_variant(samples, variant, C, best_windows=3, tol=1e-5) * samples.scale
    starts = [w, w + 0.3, np.zeros(2)]
    best = min(minimize(objective, start, method="Nelder-Mead").fun for start in starts)
    assert objective(w) <= best * (1 + 1e-4)


def test_thresholds_divide_the_best_windows_from_the_others(samples):
    for image, threshold in enumerate(samples.thresholds(3)):
        initial = samples.losses[samples.starts[image] : samples.starts[image + 1]]
        assert (initial <= threshold).sum() >= 3
        assert (initial < threshold).sum() < 3


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_the_most_violated_window_is_that_of_a_search(samples, rescaling):
    task, rng = WindowTask(samples), np.random.default_rng(1)
    for k in samples.objects:
        x, w = samples.image[k], rng.normal(size=2)
        rows = np.flatnonzero(samples.image[: samples.starts[-1]] == x)

        def violation(z, k=k, x=x, w=w):
            difference = (task.joint_feature(x, z) - task.joint_feature(x, k)) @ w
            return (
                task.loss(k, z) + difference if rescaling == "margin" else task.loss(k, z) * (1 + difference)
            )

        assert violation(task.most_violated(w, x, k, rescaling)) == pytest.approx(max(map(violation, rows)))
        assert task.predict(w, x) == rows[np.argmax(samples.X[rows] @ w)]


@pytest.mark.parametrize("variant", RANKINGS)
def test_a_ranking_finds_the_cue_that_orders_windows(variant):
    train, test = (random_pool(seed, n_images=12, n_windows=200, noise=0.02) for seed in (1, 2))
    weights = train_variant(TrainingWindows.of(train), variant, C=10.0, best_windows=10)
    reached, best, chance = (
        areas(covered(test, scores, SUPPRESSION))
        for scores in (
            score_windows(test, weights),
            -test.losses(),
            np.random.default_rng(0).random(len(test.windows)),
        )
    )
    assert reached[0] > chance[0] + 0.9 * (best[0] - chance[0])


def test_only_the_ratio_of_a_cue_to_its_spread_matters():
    pool = random_pool(3, n_images=4, n_windows=50, noise=0.3)
    scaled = WindowPool(**{**vars(pool), "cues": pool.cues * [1, 8], "truth_cues": pool.truth_cues * [1, 8]})
    plain, other = (train_variant(TrainingWindows.of(p), "complete_slack", 1.0, 2) for p in (pool, scaled))
    np.testing.assert_allclose(other * [1, 8], plain, rtol=1e-5)


def test_a_constant_cue_changes_nothing():
    pool = random_pool(4, n_images=3, n_windows=30, noise=0.3)
    pool.cues[:, 1] = pool.truth_cues[:, 1] = 5
    weights = train_variant(TrainingWindows.of(pool), "complete_slack", 1.0, 2)
    assert weights[0] > 0
    assert abs(weights[1]) < 1e-12


def test_areas_are_those_of_each_suppression():
    pool = random_pool(7, n_images=5, n_windows=60, noise=0.4)
    scores = np.random.default_rng(0).random(len(pool.windows))
    found = areas_by_suppression(pool, scores, (0.2, 0.9))
    np.testing.assert_array_equal(found[0], areas(covered(pool, scores, (0.2, 0.2, 0.2))))
    np.testing.assert_array_equal(found[1], areas(covered(pool, scores, (0.9, 0.9, 0.9))))
    assert (found[0] != found[1]).any()


def test_settings_are_chosen_on_the_held_out_images():
    pool = random_pool(5, n_images=6, n_windows=80, noise=0.4)
    even, odd = pool.take([0, 2, 4]), pool.take([1, 3, 5])

    def area(C, max_overlap):
        found = []
        for learn, judge in ((even, odd), (odd, even)):
            weights = train_variant(TrainingWindows.of(learn), "star_slack", C, 2)
            found.append(areas(covered(judge, score_windows(judge, weights), [max_overlap] * 3)))
        return np.mean(found, axis=0)

    C, suppression = choose_settings(halves_of(pool), "star_slack", 2)
    assert max(train.C_GRID, key=lambda C: area(C, 0.6).mean()) == C
    of_chosen = {max_overlap: area(C, max_overlap) for max_overlap in train.SUPPRESSIONS}
    for k, chosen in enumerate(suppression):
        assert of_chosen[chosen][k] == max(found[k] for found in of_chosen.values())


def test_the_smallest_of_the_best_suppressions_is_chosen():
    found = np.zeros((7, 3))
    found[[1, 4], [0, 1]] = 1
    assert best_suppressions(found) == [0.4, 0.7, 0.3]


def test_bad_input_is_named(samples):
    with pytest.raises(ValueError, match="variant is 'chain'"):
        train_variant(samples, "chain", 1.0, 2)
    for count in (0, 12):
        with pytest.raises(ValueError, match=rf"count is {count}: expected 1 to 11"):
            samples.thresholds(count)


def test_the_weight_of_pairs_of_misses_is_that_of_the_pairs_written_out(samples):
    total = misses = 0.0
    for i, j in combinations(range(samples.starts[-1]), 2):
        if samples.image[i] == samples.image[j]:
            weight = abs(samples.losses[i] - samples.losses[j])
            total += weight
            misses += weight * (min(samples.losses[i], samples.losses[j]) > 0.5)
    assert samples.share_of_misses() == pytest.approx(misses / total)
    assert 0 < misses < total


def test_no_pair_of_windows_that_differ(samples):
    same = dataclasses.replace(samples, losses=np.ones_like(samples.losses))
    with pytest.raises(ValueError, match="expected different losses"):
        same.share_of_misses()


def test_the_file_of_a_model_has_the_weights_of_every_variant(tmp_path, monkeypatch):
    monkeypatch.setattr(train, "C_GRID", (0.1, 1.0))
    monkeypatch.setattr(train, "SUPPRESSIONS", (0.3, 0.8))
    pool = random_pool(6, n_images=4, n_windows=20, noise=0.3)
    pool.write(tmp_path / "windows.npz")
    inputs, outputs = {"windows": str(tmp_path / "windows.npz")}, {"model": str(tmp_path / "model.json")}
    train.main(inputs, outputs, seed=0, best_windows=2)
    model, samples = read_json(outputs["model"]), TrainingWindows.of(pool)
    assert (model["images"], model["samples"]) == (4, 80 + len(pool.truth))
    assert model["share_of_misses"] == samples.share_of_misses()
    assert sorted(model["variants"]) == sorted(VARIANTS)
    for variant, trained in model["variants"].items():
        weights = train_variant(samples, variant, trained["C"], 2)
        np.testing.assert_allclose(trained["weights"], weights)
        np.testing.assert_allclose(trained["weights_in_deviations"], weights * samples.scale)
        assert len(trained["suppression"]) == 3
        assert set(trained["suppression"]) <= {0.3, 0.8}
    assert len(model["chance_suppression"]) == 3
