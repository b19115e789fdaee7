"""Simulated pages are read as the real ones are, and are hard to rank for the same reasons."""

import numpy as np
import pytest

from reproduction.datasets.mslr_5k import N_FEATURES, SIMULATED_QUERIES, read_mslr_5k, simulate_mslr_5k
from reproduction.datasets.simulators.judged_pages import GRADE_SHARES


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    simulate_mslr_5k(folder, seed=1, size="smoke")
    return read_mslr_5k(folder)


def test_parts_have_different_queries_and_all_grades(pages):
    parts = pages.train, pages.test
    queries = [set(part.query) for part in parts]
    assert [len(found) for found in queries] == [SIMULATED_QUERIES["smoke"]] * 2
    assert not queries[0] & queries[1]
    for part in parts:
        assert part.features.shape[1] == N_FEATURES
        shares = np.bincount(part.relevance, minlength=5) / len(part)
        np.testing.assert_allclose(shares, GRADE_SHARES, atol=0.01)


def test_no_feature_orders_the_pages_and_many_say_something(pages):
    correlations = np.corrcoef(pages.train.features.T, pages.train.relevance)[-1, :-1]
    assert np.nanmax(np.abs(correlations)) < 0.8
    assert (np.abs(correlations) > 0.1).sum() > 5


def test_the_seed_alone_decides(tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        simulate_mslr_5k(tmp_path / name, seed=seed, size="smoke")
    a, b, c = ((tmp_path / name / "msn1.fold1.train.5k.txt").read_bytes() for name in "abc")
    assert a == b != c


def test_unknown_sizes_are_named(tmp_path):
    with pytest.raises(ValueError, match="size is 'huge'"):
        simulate_mslr_5k(tmp_path, seed=0, size="huge")
