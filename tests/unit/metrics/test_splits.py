"""Training and test parts are disjoint, keep their distance, and depend on the seed alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ermlab.metrics.splits import Sampling

RUNS = np.repeat(np.arange(6), [5, 4, 6, 5, 5, 5])


def distance(split):
    return np.abs(split.train[:, None] - split.test[None]).min()


@given(n=st.integers(40, 80), gap=st.integers(0, 4), seed=st.integers(0, 99))
def test_stretches_keep_the_gap_outside_and_inside(n, gap, seed):
    sampling = Sampling("stretches", n, gap)
    for split in sampling.splits(3, 0.2, seed):
        assert (np.diff(split.test) == 1).all()
        assert len(split.test) == round(0.2 * n)
        assert distance(split) == gap + 1
        # Only the gap is lost, and at a border of the series not even that.
        assert n - len(split.test) - 2 * gap <= len(split.train)
        folds = sampling.folds(split.train, 3, seed)
        assert np.concatenate([fold.test for fold in folds]).tolist() == split.train.tolist()
        for fold in folds:
            assert distance(fold) > gap
            assert np.isin(fold.train, split.train).all()
            # Nothing but the gap around the fold's own volumes is left out.
            near = np.abs(split.train[:, None] - fold.test[None]).min(axis=1) <= gap
            assert fold.train.tolist() == split.train[~near].tolist()


@given(seed=st.integers(0, 99))
def test_runs_stay_whole(seed):
    sampling = Sampling("runs", len(RUNS), runs=RUNS)
    for split in sampling.splits(4, 0.3, seed):
        assert not set(RUNS[split.train]) & set(RUNS[split.test])
        assert len(set(RUNS[split.test])) == 2
        assert len(split.train) + len(split.test) == len(RUNS)
        folds = sampling.folds(split.train, 2, seed)
        assert sorted(np.concatenate([fold.test for fold in folds])) == split.train.tolist()
        for fold in folds:
            assert not set(RUNS[fold.train]) & set(RUNS[fold.test])


def test_every_run_is_tested_in_each_round():
    splits = Sampling("runs", len(RUNS), runs=RUNS).splits(6, 0.3, 1)
    rounds = [[sorted(set(RUNS[split.test])) for split in splits[i : i + 3]] for i in (0, 3)]
    assert [sorted(np.concatenate(some)) for some in rounds] == 2 * [list(range(6))]
    assert rounds[0] != rounds[1]


def test_permuted_samples_are_mixed():
    sampling = Sampling("permuted", 50)
    (split,) = sampling.splits(1, 0.2, 3)
    assert len(split.test) == 10
    assert (np.diff(split.test) > 1).any()
    assert sorted([*split.train, *split.test]) == list(range(50))
    folds = sampling.folds(split.train, 4, 5)
    assert sorted(np.concatenate([fold.test for fold in folds])) == split.train.tolist()
    assert (np.diff(folds[0].test) > 1).any()


@pytest.mark.parametrize("kind", ["stretches", "runs", "permuted"])
def test_more_splits_begin_with_the_same_ones(kind):
    sampling = Sampling(kind, len(RUNS), runs=RUNS if kind == "runs" else None)
    few, many = (sampling.splits(count, 0.2, 7) for count in (3, 9))
    for one, other in zip(few, many, strict=False):
        assert one.test.tolist() == other.test.tolist()
    assert len({tuple(split.test) for split in sampling.splits(5, 0.2, 8)}) > 1


def test_all_stretches_come_before_one_comes_again():
    starts = [split.test[0] for split in Sampling("stretches", 20).splits(17, 0.2, 0)]
    assert sorted(starts) == list(range(17))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sampling("blocks", 10), "kind is 'blocks': expected one of"),
        (lambda: Sampling("stretches", 10, -1), "gap is -1"),
        (lambda: Sampling("runs", 10), "runs is None: expected runs for kind 'runs' only"),
        (lambda: Sampling("permuted", 3, runs=[0, 0, 1]), "expected runs for kind 'runs' only"),
        (lambda: Sampling("runs", 10, runs=[0, 1]), r"runs has shape \(2,\): expected \(10,\)"),
        (lambda: Sampling("permuted", 10).splits(1, 1.0, 0), "share is 1.0"),
        (lambda: Sampling("permuted", 10).folds(np.arange(8), 1, 0), "count is 1: expected 2 to 8"),
        (lambda: Sampling("stretches", 10, 9).splits(1, 0.2, 0), "no training samples left of 10"),
    ],
)
def test_broken_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "options", [{"kind": "stretches"}, {"kind": "permuted"}, {"kind": "runs", "runs": []}]
)
def test_no_samples(options):
    with pytest.raises(ValueError, match="n is 0: expected a whole number of at least 1"):
        Sampling(n=0, **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Sampling("stretches", 2.5), "n is 2.5"),
        (lambda: Sampling("stretches", np.nan), "n is nan"),
        (lambda: Sampling("stretches", 10**14), "GiB of memory"),
        (lambda: Sampling("stretches", 10, 1.5), "gap is 1.5"),
        (lambda: Sampling("permuted", 10).splits(1.5, 0.5, 0), "count is 1.5"),
        (lambda: Sampling("permuted", 10).splits(1, "half", 0), "share is 'half'"),
        (lambda: Sampling("permuted", 10).folds(np.array([50, 60]), 2, 0), "train goes from 50 to 60"),
        (lambda: Sampling("permuted", 10).folds(np.array([-1, 0]), 2, 0), "train goes from -1 to 0"),
        (lambda: Sampling("permuted", 10).folds(np.array([0.5, 1]), 2, 0), "expected whole numbers"),
        (lambda: Sampling("runs", 4, runs=[0, 0, 1, 1]).folds(np.array([9]), 2, 0), "train goes from 9"),
    ],
)
def test_numbers_that_are_none_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_gap_longer_than_any_series():
    with pytest.raises(ValueError, match="no training samples left"):
        Sampling("stretches", 10, 10**400).splits(1, 0.5, 0)
