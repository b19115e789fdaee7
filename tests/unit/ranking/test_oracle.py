import numba
import numpy as np
import pytest

from ermlab.ranking import Oracle, _passes_numba, most_violated, pairwise_risk
from reproduction.experiments.ranking_oracle.algorithms import bipartite_constraint, complete_constraint

RNG = np.random.default_rng(0)
# Three passes, large nodes in chunks and small ones, in the complete graph.
N = 300_000
OVERLAPS = np.where(RNG.random(N) < 0.8, 0.0, RNG.random(N))


@pytest.fixture
def one_thread():
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(threads)


@pytest.mark.parametrize(
    "losses",
    [RNG.random(N), 1 - OVERLAPS, RNG.integers(0, 5, N) / 4],
    ids=["all losses differ", "most losses are 1", "five losses"],
)
@pytest.mark.parametrize("scale", [0.0, 1.0, 10.0])
def test_many_samples_against_the_recursion_of_the_thesis(losses, scale):
    scores = scale * np.random.default_rng(1).normal(size=N)
    alpha, delta = most_violated(losses, scores)
    expected_alpha, expected_delta, _ = complete_constraint(losses, scores)
    np.testing.assert_allclose(alpha, expected_alpha, rtol=0, atol=1e-10 * N)
    assert delta == pytest.approx(expected_delta, rel=1e-11)


@pytest.mark.parametrize("groups", [1, 2])
def test_rank_left_alone_after_the_first_of_three_passes(groups):
    """The last node of a group of 2^20 + 1 ranks has one rank after the first pass, and moves no more."""
    n = 2**20 + 1
    losses = np.random.default_rng(2).permutation(n) / n
    group = np.minimum(np.arange(n + groups - 1) // n, 1)
    losses = np.append(losses, np.zeros(groups - 1))
    alpha, delta = most_violated(losses, np.random.default_rng(3).random(len(losses)) / 2, groups=group)
    # Scores differ by less than 1, so all pairs are violated, and their sums have a closed form.
    expected = np.where(group == 0, losses[:n].sum() - n * losses, 0.0)
    np.testing.assert_allclose(alpha, expected, rtol=0, atol=1e-10 * n)
    assert delta == pytest.approx(np.sum(np.sort(losses[:n]) * (2.0 * np.arange(n) - n + 1)), rel=1e-11)


def test_many_samples_margin_rescaling_against_counts():
    """Of two losses, each better sample counts the worse ones above its bound, as in a sorted list."""
    losses, scores = RNG.integers(0, 2, N) * 0.5, RNG.normal(size=N)
    alpha, delta = most_violated(losses, scores, rescaling="margin")
    worse = np.sort(scores[losses > 0] + 0.5)
    expected = worse.size - np.searchsorted(worse, scores[losses == 0], side="right")
    np.testing.assert_array_equal(alpha[losses == 0], expected)
    assert alpha.sum() == 0
    assert delta == 0.5 * expected.sum()


def test_algorithm_1_is_the_bipartite_oracle():
    losses, scores, t = np.sort(RNG.random(500)), RNG.normal(size=500), 180
    alpha, delta = bipartite_constraint(losses, scores, np.argsort(scores), t)
    expected = most_violated(losses, scores, graph="bipartite", threshold=losses[t - 1])
    np.testing.assert_allclose(alpha, expected[0], atol=1e-9)
    assert delta == pytest.approx(expected[1])


@pytest.mark.parametrize("rescaling", ["slack", "margin"])
@pytest.mark.parametrize("groups", [None, RNG.integers(0, 7, N)], ids=["one group", "groups"])
def test_result_does_not_depend_on_threads(rescaling, groups, request):
    losses, scores = RNG.random(N), RNG.normal(size=N)
    two = most_violated(losses, scores, rescaling=rescaling, groups=groups)
    request.getfixturevalue("one_thread")
    one = most_violated(losses, scores, rescaling=rescaling, groups=groups)
    np.testing.assert_array_equal(two[0], one[0])
    assert two[1] == one[1]


def test_groups_are_separate_problems():
    losses, scores, groups = (
        RNG.random(N),
        RNG.normal(size=N),
        RNG.choice(["a", "b", "c"], N, p=[0.9, 0.09, 0.01]),
    )
    alpha, delta = most_violated(losses, scores, groups=groups)
    total = 0.0
    for label in "abc":
        expected, part = most_violated(losses[groups == label], scores[groups == label])
        np.testing.assert_allclose(alpha[groups == label], expected, atol=1e-10 * N)
        total += part
    assert delta == pytest.approx(total, rel=1e-12)


def test_many_small_groups():
    groups = np.arange(N) // 3
    losses, scores = RNG.integers(0, 3, N).astype(float), 3 * RNG.normal(size=N)
    alpha, delta = most_violated(losses, scores, groups=groups)
    assert delta > 0
    np.testing.assert_allclose(alpha.reshape(-1, 3).sum(axis=1), 0, atol=1e-12)
    chosen = slice(3 * 17, 3 * 18)
    np.testing.assert_allclose(alpha[chosen], most_violated(losses[chosen], scores[chosen])[0])


def test_few_losses_need_one_pass_whatever_the_number_of_samples(monkeypatch):
    """R distinct losses are told apart in log2(R) splits: O(n log R)."""
    splits = []
    process = _passes_numba.process_chunks
    monkeypatch.setattr(_passes_numba, "process_chunks", lambda *a: (splits.append(a[3]), process(*a))[1])
    most_violated(RNG.integers(0, 5, N).astype(float), RNG.normal(size=N))
    assert set(splits) == {3}


def test_number_of_edges():
    assert Oracle([0, 0, 1, 2]).edges == 5
    assert Oracle([0, 0, 1, 2], groups=[1, 2, 1, 2]).edges == 2
    assert Oracle([0, 0, 1, 2], graph="bipartite", threshold=1).edges == 3


def test_without_a_pair_the_constraint_is_empty():
    for arguments in ({}, {"graph": "bipartite", "threshold": 5}, {"groups": [0, 1, 2]}):
        alpha, delta = most_violated(np.ones(3), [3.0, 1.0, 2.0], **arguments)
        np.testing.assert_array_equal(alpha, 0)
        assert delta == 0


def test_input_is_not_changed():
    losses, scores = np.array([1.0, 0.0, 2.0]), np.array([0.5, 0.1, 0.2])
    most_violated(losses, scores)
    assert losses.tolist() == [1, 0, 2]
    assert scores.tolist() == [0.5, 0.1, 0.2]


def test_pairwise_risk_of_known_orders():
    assert pairwise_risk([0, 1, 3], [3, 2, 1]) == 0
    assert pairwise_risk([0, 1, 3], [1, 2, 3]) == pytest.approx((1 + 2 + 3) / 3)
    assert pairwise_risk([0, 1, 3], [0, 0, 0]) == pytest.approx((1 + 2 + 3) / 6)
    assert pairwise_risk([0, 1, 3], [1, 2, 3], groups=[0, 0, 1]) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scores": [0, np.nan, 1]}, r"scores\[1\] is nan"),
        ({"scores": [0, np.inf, 1]}, r"scores\[1\] is inf"),
        ({"scores": [0, 1]}, r"scores have shape \(2,\): expected \(3,\)"),
        ({"losses": [0, 1, -2]}, r"losses\[2\] is -2.0: expected a number of at least 0"),
        ({"losses": [0, np.nan, 1]}, r"losses\[1\] is nan"),
        ({"losses": [], "scores": []}, r"losses have shape \(0,\)"),
        ({"losses": [[0, 1, 2]]}, r"losses have shape \(1, 3\)"),
        ({"losses": [0, 1e308, 1]}, r"losses\[1\] is 1e\+308: expected at most 2e\+307"),
        (
            {"losses": [0, 1e307, 1], "scores": [0, 1.79e308, 0], "rescaling": "margin"},
            r"scores \+ losses\[1\]",
        ),
        ({"rescaling": "both"}, "rescaling is 'both'"),
        ({"graph": "star"}, "graph is 'star'"),
        ({"graph": "bipartite"}, "threshold is None"),
        ({"graph": "bipartite", "threshold": np.nan}, "threshold is nan"),
        ({"graph": "bipartite", "threshold": [1, 2]}, "one per group, 1"),
        ({"threshold": 1}, "expected None with the complete graph"),
        ({"groups": [0, 1]}, r"groups have shape \(2,\): expected \(3,\)"),
        ({"groups": [0, np.nan, 1]}, r"groups\[1\] is nan"),
    ],
)
def test_bad_input(change, words):
    arguments = {"losses": [0, 1, 2], "scores": [1.0, 2.0, 3.0]} | change
    with pytest.raises(ValueError, match=words):
        most_violated(arguments.pop("losses"), arguments.pop("scores"), **arguments)


def test_largest_losses_do_not_overflow():
    losses = np.array([0.0, 1.0, 1.0, 1.0]) * (np.finfo(np.float64).max / 16)
    alpha, delta = most_violated(losses, np.zeros(4))
    np.testing.assert_allclose(alpha, [3 * losses[1], *-losses[1:]], rtol=1e-12)
    assert delta == pytest.approx(3 * losses[1], rel=1e-12)


def test_risk_needs_a_pair():
    with pytest.raises(ValueError, match="no group has two samples"):
        pairwise_risk([0, 1], [0, 1], groups=[0, 1])
