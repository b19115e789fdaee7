"""Trees: the example of the thesis, the Newick format, and input that is no tree."""

import numpy as np
import pytest

from ermlab.taxonomy import (
    Taxonomy,
    centered,
    four_point_violation,
    robinson_foulds,
    tree_covariance,
    tree_metric,
    unit_trace,
)


@pytest.fixture
def figure_5_5():
    """The tree of figure 5.5(a): root a, inner nodes b and c, leaves d to g."""
    return Taxonomy([-1, 0, 0, 1, 1, 2, 2], [0, 1, 2, 3, 4, 5, 6], ["d", "e", "f", "g"], ["a", "b", "c"])


def test_matrices_of_the_thesis(figure_5_5):
    """Eq. 5.19 and the covariance below it."""
    V = [[1, 1, 0, 1, 0, 0, 0], [1, 1, 0, 0, 1, 0, 0], [1, 0, 1, 0, 0, 1, 0], [1, 0, 1, 0, 0, 0, 1]]
    np.testing.assert_array_equal(figure_5_5.partition_matrix(), V)
    B = [[1 + 3, 1, 0, 0], [1, 1 + 4, 0, 0], [0, 0, 2 + 5, 2], [0, 0, 2, 2 + 6]]
    np.testing.assert_array_equal(figure_5_5.covariance(), B)


def test_newick_of_the_thesis_tree(figure_5_5):
    assert figure_5_5.to_newick() == "((d:3.0,e:4.0)b:1.0,(f:5.0,g:6.0)c:2.0)a;"


def test_newick_quotes_comments_and_lengths_left_out():
    text = " ( 'it''s a (cat)' : 1e-2 , dog [a comment] )pets:2 ;\n"
    tree = Taxonomy.from_newick(text)
    assert tree.names == ("it's a (cat)", "dog")
    assert tree.inner_names == ("pets",)
    assert sorted(tree.lengths) == [0.01, 1, 2]
    assert Taxonomy.from_newick(tree.to_newick()).names == tree.names


def test_a_single_leaf_is_a_tree():
    tree = Taxonomy.from_newick("alone;")
    np.testing.assert_array_equal(tree.covariance(), [[0]])
    assert tree.to_newick() == "alone;"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected ';'"),
        ("(a,b)", "expected ';'"),
        ("(a,b", "expected ';'"),
        ("(a,b;", "1 open brackets"),
        ("(a,b));", "outside of brackets"),
        ("a,b;", "outside of brackets"),
        ("(a b);", "a second name 'b'"),
        ("(a,b)(c,d);", "after a node"),
        ("(a:long,b);", "'long' after ':'"),
        ("(a:,b);", "',' after ':'"),
        ("(a,b); (c,d);", "after the end"),
        ("('a,b);", "at character 1"),
        ("(a,b]);", "at character 4"),
        ("(a,,b);", "empty name"),
        ("(a,a);", "several leaves are named a"),
        ("(a:-1,b);", "is -1.0"),
        ("(a:nan,b);", "is nan"),
    ],
)
def test_malformed_newick_is_rejected(text, message):
    with pytest.raises(ValueError, match="expected") as error:
        Taxonomy.from_newick(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ([-1, 0, 3, 2], "node 2 lies in or below a cycle"),
        ([0, 0], "no node has the parent -1"),
        ([1, 0, -1], "node 0 lies in or below a cycle"),
        ([-1, -1], r"nodes \[0, 1\] have the parent -1"),
        ([-1, 5], "the parent of node 1 is 5"),
        ([-1, -2], "the parent of node 1 is -2"),
        ([], "expected .nodes,. integers"),
        ([-1.0, 0.0], "expected .nodes,. integers"),
    ],
)
def test_parents_that_are_no_tree(parents, message):
    with pytest.raises(ValueError, match=message):
        Taxonomy(parents, [1.0] * len(parents), ["a"])


def test_lengths_and_names_must_fit(figure_5_5):
    parents, names = figure_5_5.parents, figure_5_5.names
    with pytest.raises(ValueError, match="3 lengths of 7 nodes"):
        Taxonomy(parents, [1, 2, 3], names)
    with pytest.raises(ValueError, match="length above node 2 is nan"):
        Taxonomy(parents, [1, 1, np.nan, 1, 1, 1, 1], names)
    with pytest.raises(ValueError, match="3 names of 4 leaves"):
        Taxonomy(parents, figure_5_5.lengths, names[:3])
    with pytest.raises(ValueError, match="1 inner_names: expected 3"):
        Taxonomy(parents, figure_5_5.lengths, names, ["a"])


def test_trees_cannot_be_changed(figure_5_5):
    with pytest.raises(ValueError, match="read-only"):
        figure_5_5.lengths[0] = 1
    given = np.array([0.0, 1, 2, 3, 4, 5, 6])
    figure_5_5.with_lengths(given)
    given[0] = 1  # and nobody else's array is locked


def test_rerooting_drops_a_root_between_two_edges(figure_5_5):
    at_b = figure_5_5.rerooted(1)
    assert len(at_b.parents) == 6
    assert at_b.to_newick() in ("((f:5.0,g:6.0):3.0,d:3.0,e:4.0);", "(d:3.0,e:4.0,(f:5.0,g:6.0):3.0);")
    assert np.diag(at_b.covariance()).tolist() == [3, 4, 8, 9]


def test_rerooting_at_a_leaf_keeps_the_leaf(figure_5_5):
    at_d = figure_5_5.rerooted(3)
    assert at_d.names == figure_5_5.names
    assert at_d.covariance()[0, 0] == 0
    with pytest.raises(ValueError, match="node is 7"):
        figure_5_5.rerooted(7)
    with pytest.raises(ValueError, match="above is 2"):
        figure_5_5.rerooted(3, above=2)


def test_leaves_in_the_order_of_classes(figure_5_5):
    ordered = figure_5_5.ordered(["g", "d", "f", "e"])
    assert ordered.names == ("g", "d", "f", "e")
    assert np.diag(ordered.covariance()).tolist() == [8, 4, 7, 5]
    assert robinson_foulds(ordered, figure_5_5) == 0
    with pytest.raises(ValueError, match=r"\['e', 'h'\]"):
        figure_5_5.ordered(["g", "d", "f", "h"])
    with pytest.raises(ValueError, match="order is"):
        figure_5_5.permuted([0, 0, 1, 2])


def test_restricted_trees_keep_the_names_of_what_is_left(figure_5_5):
    assert figure_5_5.restricted(["d", "e", "g"]).to_newick() == "((d:3.0,e:4.0)b:1.0,g:8.0)a;"
    with pytest.raises(ValueError, match=r"names has \['x'\]"):
        figure_5_5.restricted(["d", "x"])
    with pytest.raises(ValueError, match="names has no leaf"):
        figure_5_5.restricted([])


def test_robinson_foulds_counts_splits():
    one = Taxonomy.from_newick("((a,b),(c,(d,e)));")  # ab|cde, de|abc
    other = Taxonomy.from_newick("((a,c),(b,(d,e)));")  # ac|bde, de|abc
    star = Taxonomy.from_newick("(a,b,c,d,e);")
    assert robinson_foulds(one, other) == 0.5
    assert robinson_foulds(one, star) == 1
    assert robinson_foulds(star, star) == 0
    no_split = one.with_lengths(np.where(np.isin(np.arange(len(one.parents)), one.leaves), 1, 0))
    assert robinson_foulds(no_split, star) == 0
    with pytest.raises(ValueError, match="'f'"):
        robinson_foulds(one, Taxonomy.from_newick("(a,b,c,d,f);"))


def test_collapsed_edges_leave_the_distances():
    tree = Taxonomy.from_newick("(((a:1,b:2)x:0,c:3)y:0,d:4)r;")
    assert tree.collapsed().to_newick() == "(a:1.0,b:2.0,c:3.0,d:4.0)r;"


def test_a_metric_and_its_root():
    M = np.array([[0, 3, 4], [3, 0, 5], [4, 5, 0.0]])
    np.testing.assert_array_equal(tree_covariance(M, 0), [[0, 0, 0], [0, 3, 1], [0, 1, 4]])
    np.testing.assert_array_equal(tree_covariance(M, [1, 2, 3.0]), np.diag([1, 2, 3]))
    with pytest.raises(ValueError, match="root is 3"):
        tree_covariance(M, 3)
    with pytest.raises(ValueError, match=r"root of shape \(2,\)"):
        tree_covariance(M, [1, 2])


def test_four_point_condition_by_hand():
    """Corners of a square of sides 1: the sums are 2, 2 and 4."""
    square = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0.0]])
    assert four_point_violation(square) == 2
    triangle = np.array([[0, 1, 5], [1, 0, 1], [5, 1, 0.0]])
    assert four_point_violation(triangle) == 3  # no metric


def test_unit_trace_is_the_number_of_classes():
    np.testing.assert_allclose(unit_trace(np.diag([1, 3.0])), np.diag([0.5, 1.5]))
    with pytest.raises(ValueError, match=r"B has trace 0\.0"):
        unit_trace(np.zeros((2, 2)))


@pytest.mark.parametrize(
    "function", [tree_metric, tree_covariance, four_point_violation, centered, unit_trace]
)
@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), "expected a square matrix"),
        (np.zeros((0, 0)), "expected a square matrix"),
        ([[1, np.nan], [np.nan, 1]], r"nan at \(0, 1\)"),
        ([[1, 2], [0, 1.0]], "differs from its transpose by 2"),
    ],
)
def test_matrices_that_are_none(function, matrix, message):
    with pytest.raises(ValueError, match=message):
        function(matrix)


@pytest.mark.parametrize("lengths", [[[1.0, np.nan]], np.nan, None, [1j]])
def test_lengths_of_another_shape_are_refused(lengths):
    with pytest.raises(ValueError, match="length"):
        Taxonomy(np.array([-1]), lengths, ("a",))


def test_a_deep_tree_is_checked_in_little_time():
    n = 200_000  # quadratic time would take hours
    tree = Taxonomy(np.arange(-1, n - 1), np.ones(n), ("a",))
    assert tree.root == 0
    with pytest.raises(ValueError, match="cycle"):
        Taxonomy(np.r_[-1, np.arange(2, n), 1], np.ones(n), ("a",))


def test_many_names_are_checked_in_little_time():
    n = 200_000
    names = [f"leaf {i}" for i in range(n)]
    star = np.r_[-1, np.zeros(n, dtype=np.int64)]
    assert Taxonomy(star, np.ones(n + 1), names).n_leaves == n
    with pytest.raises(ValueError, match="several leaves are named leaf 0"):
        Taxonomy(star, np.ones(n + 1), [*names[:-1], "leaf 0"])


@pytest.mark.filterwarnings("error")
def test_denormal_trace_is_refused():
    with pytest.raises(ValueError, match="B has trace"):
        unit_trace(5e-324 * np.eye(3))


def test_numbers_of_nodes_and_leaves_of_any_type():
    tree = Taxonomy.from_newick("((a:1,b:2):1,c:3);")
    np.testing.assert_array_equal(tree.permuted([0.0, 1.0, 2.0]).metric(), tree.metric())
    with pytest.raises(ValueError, match=r"node is 1\.5"):
        tree.rerooted(1.5)
