import numpy as np
import pytest

from ermlab.ranking._subsample import draw_subsample
from ermlab.ranking.risk import RankingRisk


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_size_and_order(rng):
    losses = rng.random(100_000)
    sub = draw_subsample(losses, 2000, rng)
    assert 1800 <= len(sub.rows) <= 2200
    assert (np.diff(sub.rows) > 0).all()
    np.testing.assert_array_equal(sub.losses, losses[sub.rows])
    assert sub.groups is None
    assert sub.threshold is None


@pytest.mark.parametrize("threshold", [0.0, None])
def test_a_rare_side_is_not_lost(rng, threshold):
    losses = np.ones(100_000)
    losses[::2000] = 0  # 50 samples
    sub = draw_subsample(losses, 1000, rng, threshold=threshold)
    assert (sub.losses == 0).sum() == 50
    assert 400 <= (sub.losses == 1).sum() <= 600


def test_large_groups_are_thinned_out(rng):
    losses, groups = rng.random(100_000), rng.integers(4, size=100_000)
    sub = draw_subsample(losses, 2000, rng, groups=groups)
    np.testing.assert_array_equal(sub.groups, groups[sub.rows])
    assert (np.bincount(sub.groups) > 400).all()


def test_small_groups_are_taken_whole_with_their_thresholds(rng):
    losses, groups = rng.random(100_000), np.repeat(np.arange(10_000), 10)
    thresholds = np.linspace(0.3, 0.7, 10_000)
    sub = draw_subsample(losses, 2000, rng, groups=groups, threshold=thresholds)
    kept, counts = np.unique(sub.groups, return_counts=True)
    assert (counts == 10).all()
    assert 150 <= len(kept) <= 250
    np.testing.assert_array_equal(sub.threshold, thresholds[kept])


def test_none_if_nothing_is_left_to_rank(rng):
    losses = np.zeros(100_000)
    losses[7:9] = 1, 2
    assert draw_subsample(losses, 100, rng) is None
    # Pairs only between groups.
    groups = np.arange(100_000) // 50_000
    assert draw_subsample(groups.astype(float), 1000, rng, groups=groups) is None
    # No group gets in.
    assert draw_subsample(rng.random(1000), 1, rng, groups=np.arange(1000) // 999) is None


@pytest.mark.parametrize("grouping", [None, 4, 3000])
@pytest.mark.parametrize("threshold", [None, 0.1])
def test_the_mean_over_pairs_stays_about_the_same(rng, grouping, threshold):
    X, losses = rng.normal(size=(60_000, 3)), rng.random(60_000)
    groups = None if grouping is None else rng.integers(grouping, size=60_000)
    options = {"graph": "complete" if threshold is None else "bipartite"}
    w = rng.normal(size=3)
    value, slope = RankingRisk(X, losses, threshold=threshold, groups=groups, **options)(w)
    sub = draw_subsample(losses, 10_000, rng, threshold=threshold, groups=groups)
    risk = RankingRisk(X[sub.rows], sub.losses, threshold=sub.threshold, groups=sub.groups, **options)
    sub_value, sub_slope = risk(w)
    assert sub_value == pytest.approx(value, rel=0.05)
    np.testing.assert_allclose(sub_slope, slope, atol=0.03)
