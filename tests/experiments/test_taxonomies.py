"""Trees and covariances shared by the taxonomic experiments, and a C inside its grid."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from ermlab.taxonomy import TaxonomicSVM, Taxonomy, learn_edge_lengths, shuffled
from reproduction.claims.results import repeated
from reproduction.experiments.taxonomies import (
    class_taxonomies,
    comparable,
    count_significantly_lower,
    difference_text,
    distances_between,
    search_C,
    share_inside_grid,
)

LABELS = np.repeat(np.arange(5), 12)
NAMES = tuple("abcde")
SEMANTIC = Taxonomy.from_newick("((e,a),(c,(b,d)));").ordered(NAMES)


@pytest.fixture(scope="module")
def kernel():
    rng = np.random.default_rng(0)
    centers = np.array([[0, 0], [0, 1.5], [4, 0], [4, 1.5], [9, 9]])
    return rbf_kernel(centers[LABELS] + rng.normal(0, 0.9, (60, 2)), gamma=0.05)


def test_taxonomies_have_the_classes_in_their_order(kernel):
    trees = class_taxonomies(kernel, LABELS, SEMANTIC)
    assert all(tree.names == NAMES for tree in trees.values())
    assert trees["semantic"].splits() == SEMANTIC.splits()
    assert trees["semantic"].to_newick() == learn_edge_lengths(kernel, LABELS, SEMANTIC).to_newick()
    assert trees["learned_topology"].splits() == trees["learned"].splits()
    assert {frozenset("cd")} <= trees["learned"].splits() | {
        frozenset(NAMES) - side for side in trees["learned"].splits()
    }


def test_covariances_do_not_depend_on_the_root(kernel):
    learned = class_taxonomies(kernel, LABELS, SEMANTIC)["learned"]
    B = comparable(learned.covariance())
    np.testing.assert_allclose(comparable(learned.rooted_in_the_middle().covariance()), B, atol=1e-10)
    for matrix in (B, comparable(np.eye(5))):
        np.testing.assert_allclose(np.trace(matrix), 5)
        np.testing.assert_allclose(matrix.sum(axis=0), 0, atol=1e-12)


def test_the_centered_identity_is_the_svm_without_a_taxonomy(kernel):
    """Centering changes only the scale of B = I, for which C compensates."""
    plain = TaxonomicSVM(C=5.0 * 5 / 4, tol=1e-6).fit(kernel, LABELS)
    centered = TaxonomicSVM(B=comparable(np.eye(5)), C=5.0, tol=1e-6).fit(kernel, LABELS)
    one, other = plain.decision_function(kernel), centered.decision_function(kernel)
    np.testing.assert_allclose(other, one - one.mean(axis=1, keepdims=True), atol=0.01)


def test_shuffled_trees_have_the_same_lengths_and_other_neighbors(kernel):
    learned = class_taxonomies(kernel, LABELS, SEMANTIC)["learned"]
    trees = shuffled(learned, 20, 0)
    for tree in trees:
        np.testing.assert_allclose(sorted(tree.lengths), sorted(learned.lengths))
        assert tree.names == NAMES
    assert any(tree.splits() != learned.splits() for tree in trees)


def search(accuracies, grid, limits=(0.01, 1e4)):
    asked = []

    def train(C):
        asked.append(C)
        return SimpleNamespace(C=C, validation=accuracies(np.log10(C)))

    best, trials = search_C(train, grid, limits)
    assert [trial.C for trial in trials] == sorted(asked)
    return best.C, sorted(asked)


@pytest.mark.parametrize("peak", [-1, 0, 1, 2, 3])
def test_the_grid_grows_until_the_peak_is_inside(peak):
    best, asked = search(lambda x: -((x - peak) ** 2), [1, 10, 100])
    np.testing.assert_allclose(best, 10.0**peak)
    assert asked[0] < best < asked[-1]


def test_among_equal_values_the_smallest_inside():
    best, asked = search(lambda x: min(x, 1.0), [1, 10, 100, 1000])
    assert best == 10
    assert len(asked) == 4


@pytest.mark.parametrize(("slope", "end"), [(1, 1e4), (-1, 1e-2)])
def test_without_a_peak_the_search_ends_at_the_limit(slope, end):
    best, _ = search(lambda x: slope * x, [1, 10, 100])
    np.testing.assert_allclose(best, end)


@pytest.mark.parametrize("grid", [[1], [3, 1], [0, 1], [1, 1]])
def test_broken_grid(grid):
    with pytest.raises(ValueError, match="expected at least two values, positive and increasing"):
        search_C(lambda C: None, grid, (0.1, 10))


def test_share_of_searches_that_end_inside_their_grid():
    """The first search chooses the smallest value of its grid, the others are inside."""
    trials = pd.DataFrame(
        {
            "split": [0, 0, 0, 0, 0, 0, 1, 1, 1],
            "run": [0, 0, 0, 1, 1, 1, 0, 0, 0],
            "C": [1, 10, 100, 100, 1, 10, 0.1, 1, 10],
            "chosen": [True, False, False, False, False, True, False, True, False],
        }
    )
    assert share_inside_grid(trials, ["split", "run"]) == 2 / 3


def test_columns_that_are_significantly_lower():
    """The first column is lower in all splits, the second by chance, the third is higher, the last equal."""
    first = np.array([[0.1, 0.4, 0.9, 0.5], [0.2, 0.6, 0.8, 0.5], [0.1, 0.4, 0.9, 0.5], [0.2, 0.5, 0.8, 0.5]])
    second = np.array(
        [[0.8, 0.5, 0.1, 0.5], [0.9, 0.4, 0.2, 0.5], [0.8, 0.6, 0.1, 0.5], [0.8, 0.5, 0.2, 0.5]]
    )
    assert count_significantly_lower(first, second, 0.2) == 1
    assert count_significantly_lower(second, first, 0.2) == 1
    assert count_significantly_lower(first[:1], second[:1], 0.2) == 0


def test_trees_are_compared_in_pairs():
    """Two of the three topologies of a quartet differ from the first."""
    one, other = (Taxonomy.from_newick(text) for text in ("((a,b),(c,d));", "((a,c),(b,d));"))
    found = distances_between([one, one, other], [(0, 1), (0, 2)], 200, 0)
    assert found["distance"] == 0.5
    assert found["permuted"] == pytest.approx(2 / 3, abs=0.1)
    assert distances_between([one], [], 3, 0) == {"distance": 1, "permuted": 1}


def test_a_difference_as_text():
    """Differences 1, 2 and 3: 2, plus or minus 4.30 standard errors of 1 / sqrt(3)."""
    text = difference_text(repeated([4, 5, 9], "split"), repeated([3, 3, 6], "split"), ".1f")
    assert re.fullmatch(r"\+2\.0 \(-0\.[3-7] to \+4\.[3-7]\)", text)
    assert difference_text(repeated([4.0]), repeated([3.0]), ".2f") == "+1.00"
