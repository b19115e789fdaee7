"""Summaries of accuracies over splits against numbers worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from ermlab.metrics.resampling import corrected_t_test, permutation_result, wilcoxon_test
from reproduction.experiments.graph_kernels.measures import (
    accuracy_summary,
    compare_methods,
    compare_with_permuted,
)

A, B = [0.5, 0.75, 1.0, 0.75], [0.5, 0.5, 0.5, 1.0]


@pytest.fixture
def splits():
    return pd.DataFrame({"method": ["a"] * 4 + ["b"] * 4, "split": [*range(4)] * 2, "accuracy": A + B})


@pytest.fixture
def permuted():
    """Means of a with honest selection: 50, 62.5 and 75 per cent; with the leak always 100."""
    honest = {1: (0.5, 0.5), 2: (0.5, 0.75), 3: (0.5, 1.0)}
    rows = [
        {"method": "a", "permutation": number, "split": i, "selection": selection, "accuracy": score}
        for number, pair in honest.items()
        for i, inside in enumerate(pair)
        for selection, score in (("inside", inside), ("beforehand", 1.0))
    ]
    return pd.DataFrame(rows)


def test_means_and_standard_errors(splits):
    found = accuracy_summary(splits)
    assert found["a"] == pytest.approx({"mean": 75, "standard_error": 100 * np.std(A, ddof=1) / 2})
    assert accuracy_summary(splits[splits["split"] == 0])["b"] == {"mean": 50, "standard_error": 0}


def test_differences_with_both_tests(splits):
    found = compare_methods(splits, "a", "b", 0.2)
    assert found["difference"] == pytest.approx(12.5)
    assert (found["better"], found["worse"]) == (2, 1)
    assert found["wilcoxon_p"] == wilcoxon_test(A, B).p
    assert found["corrected_t_p"] == corrected_t_test(A, B, 0.2).p
    with pytest.raises(ValueError, match="method 'c' has no scores: expected one of a, b"):
        compare_methods(splits, "a", "c", 0.2)


def test_permuted_labels_are_compared_on_the_same_splits(splits, permuted):
    found = compare_with_permuted(splits, permuted, ["a"], 2)["a"]
    assert found["accuracy"] == pytest.approx(62.5)
    assert found["p"] == 3 / 4  # two of three permutations reach it
    assert found["permuted"] == pytest.approx(62.5)
    assert found["leak"] == 100
    assert found["leak_deviation"] == 0
    with pytest.raises(ValueError, match=r"scored on splits \[0, 1\]: expected the first 3"):
        compare_with_permuted(splits, permuted, ["a"], 3)


@pytest.mark.parametrize(
    ("truth", "scores", "message"),
    [(0.5, [], r"scores of shape \(0,\)"), (np.nan, [0.5], "not finite"), (0.5, [np.inf], "not finite")],
)
def test_broken_permutations(truth, scores, message):
    with pytest.raises(ValueError, match=message):
        permutation_result(truth, scores)
