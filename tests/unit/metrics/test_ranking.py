import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from ermlab.metrics.ranking import ndcg


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.booleans())
def test_is_that_of_scikit_learn_group_by_group(seed, k, ties):
    rng = np.random.default_rng(seed)
    groups = rng.integers(4, size=30)
    relevance = rng.integers(4, size=30)
    scores = rng.integers(3, size=30).astype(float) if ties else rng.normal(size=30)
    expected = [
        ndcg_score([2.0 ** relevance[groups == g] - 1], [scores[groups == g]], k=k)
        for g in np.unique(groups)
        if relevance[groups == g].any() and (groups == g).sum() > 1
    ]
    # A lone sample, which scikit-learn refuses, is ranked as well as can be.
    expected += [1.0 for g in np.unique(groups) if (groups == g).sum() == 1 and relevance[groups == g].any()]
    assert ndcg(relevance, scores, groups, k) == pytest.approx(np.mean(expected))


def test_by_hand():
    # Gains 0, 7, 1 at discounts 1, 1 / log2(3), 1 / 2; at best 7, 1, 0.
    found = ndcg([0, 3, 1], [3.0, 2.0, 1.0])
    assert found == pytest.approx((7 / np.log2(3) + 1 / 2) / (7 + 1 / np.log2(3)))
    assert ndcg([0, 3, 1], [3.0, 2.0, 1.0], k=1) == 0
    assert ndcg([0, 3, 1], [1.0, 3.0, 2.0]) == pytest.approx(1)


def test_ties_are_the_mean_over_all_orders():
    relevance, scores = np.array([2, 0, 1, 3]), np.array([1.0, 1.0, 1.0, 0.0])
    means = [ndcg(relevance, [*order, -1.0], k=2) for order in itertools.permutations([0.0, 1.0, 2.0])]
    assert ndcg(relevance, scores, k=2) == pytest.approx(np.mean(means))


def test_groups_without_anything_relevant_are_left_out():
    assert ndcg([1, 0, 0, 0], [0.0, 1.0, 1.0, 0.0], ["a", "a", "b", "b"]) == pytest.approx(1 / np.log2(3))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (([1, 0], [1.0]), r"scores of \(1,\)"),
        (([1, 0], [1.0, 2.0], [1]), r"groups of \(1,\)"),
        (([], []), "at least 1"),
        (([-1, 0], [1.0, 2.0]), "at least 0"),
        (([1, 0], [np.nan, 2.0]), "finite"),
        (([0, 0], [1.0, 2.0]), "relevance above 0"),
        (([1, 0], [1.0, 2.0], None, 0), "k is 0"),
    ],
)
def test_bad_input(arguments, expected):
    with pytest.raises(ValueError, match=expected):
        ndcg(*arguments)


def test_gains_that_overflow():
    with pytest.raises(ValueError, match=r"a relevance is 2000.0: expected a finite sum of the gains"):
        ndcg([2000.0, 1.0], [0.0, 1.0])
    assert ndcg([1022.0, 1.0], [1.0, 0.0]) == 1


def test_scores_whose_difference_overflows():
    assert ndcg([1.0, 0.0, 1.0], [1.7e308, -1.7e308, 1.7e308]) == 1


def test_number_of_first_samples_that_is_not_a_number():
    with pytest.raises(ValueError, match="k is nan: expected at least 1"):
        ndcg([1.0, 0.0], [0.0, 1.0], k=np.nan)


def test_numbers_that_are_none_are_refused():
    with pytest.raises(ValueError, match="k is 'ten'"):
        ndcg([1.0, 0.0], [1.0, 2.0], k="ten")
    with pytest.raises(ValueError, match="relevance"):
        ndcg([1j, 0.0], [1.0, 2.0])
