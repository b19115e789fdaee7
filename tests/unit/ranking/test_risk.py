import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import approx_fprime
from threadpoolctl import threadpool_limits

from ermlab.ranking import _features
from ermlab.ranking.risk import RankingRisk


def brute_force_risk(X, losses, w, rescaling, threshold=None, groups=None):
    """The mean of the hinge over all pairs, written out."""
    scores, hinges = X @ w, []
    for i in range(len(losses)):
        for j in range(len(losses)):
            same_group = groups is None or groups[i] == groups[j]
            edge = losses[i] < losses[j]
            if threshold is not None:
                edge = losses[i] <= threshold < losses[j]
            if same_group and edge:
                cost, margin = losses[j] - losses[i], scores[i] - scores[j]
                hinges.append(cost * max(0, 1 - margin) if rescaling == "slack" else max(0, cost - margin))
    return np.mean(hinges)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X[rng.random(X.shape) < 0.3] = 0
    return X, rng.integers(5, size=60) / 4.0, rng.integers(3, size=60), rng.normal(size=4)


@pytest.mark.parametrize("rescaling", ["slack", "margin"])
@pytest.mark.parametrize("threshold", [None, 0.25])
@pytest.mark.parametrize("grouped", [False, True])
def test_mean_over_all_pairs(data, rescaling, threshold, grouped):
    X, losses, groups, w = data
    groups = groups if grouped else None
    graph = "complete" if threshold is None else "bipartite"
    risk = RankingRisk(X, losses, rescaling=rescaling, graph=graph, threshold=threshold, groups=groups)
    assert risk.dimension == 4
    value, slope = risk(w)
    assert value == pytest.approx(brute_force_risk(X, losses, w, rescaling, threshold, groups), rel=1e-12)
    # No pair lies on a kink, so that the slope is the gradient.
    np.testing.assert_allclose(slope, approx_fprime(w, lambda w: risk(w)[0], 1e-7), atol=1e-5)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["slack", "margin"]))
def test_planes_lie_below_the_risk(seed, rescaling):
    rng = np.random.default_rng(seed)
    X, losses = rng.integers(-2, 3, size=(12, 3)).astype(float), rng.integers(4, size=12).astype(float)
    losses[:2] = 0, 1
    risk = RankingRisk(X, losses, rescaling=rescaling)
    here, there = rng.integers(-2, 3, size=(2, 3)) / 2
    (value, slope), other = risk(here), risk(there)[0]
    assert other >= value + slope @ (there - here) - 1e-12


def test_risk_at_zero_in_closed_form(data):
    X, losses, _, _ = data
    differences = losses[None] - losses[:, None]
    mean_loss = differences[differences > 0].mean()
    for rescaling in ("slack", "margin"):
        assert RankingRisk(X, losses, rescaling=rescaling)(np.zeros(4))[0] == pytest.approx(mean_loss)


def test_repeating_the_sample_changes_the_risk_only_by_its_pairs(data):
    X, losses, _, w = data
    twice = RankingRisk(np.vstack([X, X]), np.tile(losses, 2))
    once = RankingRisk(X, losses)
    assert twice.edges == 4 * once.edges
    assert twice(w)[0] == pytest.approx(once(w)[0])


KINDS = {
    "fortran": np.asfortranarray,
    "list": lambda X: X.tolist(),
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_array,
}


@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_of_matrices_give_the_same(data, kind):
    X, losses, groups, w = data
    value, slope = RankingRisk(X, losses, groups=groups)(w)
    other_value, other_slope = RankingRisk(KINDS[kind](X), losses, groups=groups)(w)
    assert other_value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(other_slope, slope, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_memory_mapped_features_are_read_in_chunks(data, dtype, tmp_path, monkeypatch):
    X, losses, _, w = data
    monkeypatch.setattr(_features, "CHUNK_ENTRIES", 50)
    mapped = np.memmap(tmp_path / "X", dtype=dtype, mode="w+", shape=X.shape)
    mapped[:] = 100 * X
    risk = RankingRisk(mapped, losses)
    chunks = [chunk for _, chunk in risk._features._chunks()]
    assert len(chunks) == 5
    assert all(np.shares_memory(chunk, mapped) for chunk in chunks) == (dtype is np.float64)
    value, slope = risk(w / 100)
    dense_value, dense_slope = RankingRisk(np.array(mapped, dtype=np.float64), losses)(w / 100)
    assert value == dense_value
    np.testing.assert_array_equal(slope, dense_slope)


def test_same_bits_for_every_number_of_threads():
    rng = np.random.default_rng(3)
    X, losses, w = rng.normal(size=(200_000, 5)), rng.random(200_000), rng.normal(size=5)
    values = []
    for threads in (1, 2, 2):
        with threadpool_limits(threads):
            values.append(RankingRisk(X, losses)(w))
    for value, slope in values[1:]:
        assert value == values[0][0]
        np.testing.assert_array_equal(slope, values[0][1])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_features_that_are_not_finite(data, bad, kind):
    X = data[0].copy()
    X[3, 1] = bad
    with pytest.raises(ValueError, match="NaN or infinity"):
        RankingRisk(kind(X), data[1])


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (np.zeros(3), "shape"),
        (np.zeros((0, 3)), "at least one row"),
        (np.zeros((3, 0)), "one column"),
        (np.full((3, 2), "a"), "real numbers"),
        (np.ones((3, 2), dtype=complex), "real numbers"),
    ],
)
def test_features_of_the_wrong_form(X, expected):
    with pytest.raises(ValueError, match=expected):
        RankingRisk(X, [0.0, 1.0, 1.0])


def test_losses_of_the_wrong_length(data):
    with pytest.raises(ValueError, match=r"losses of shape \(59,\): expected one per sample, 60"):
        RankingRisk(data[0], data[1][1:])


@pytest.mark.parametrize(
    "options",
    [
        {"rescaling": "none"},
        {"graph": "star"},
        {"graph": "bipartite"},
        {"threshold": 0.5},
        {"graph": "bipartite", "threshold": 1.0},
        {"graph": "bipartite", "threshold": -1.0},
        {"groups": np.zeros(59)},
    ],
)
def test_options_that_cannot_be(data, options):
    with pytest.raises(ValueError, match=r"rescaling|graph|threshold|groups"):
        RankingRisk(data[0], data[1], **options)


@pytest.mark.parametrize("losses", [np.full(60, -1.0), np.full(60, np.nan), np.full(60, 0.5)])
def test_losses_that_cannot_be_ranked(data, losses):
    with pytest.raises(ValueError, match=r"loss|pair"):
        RankingRisk(data[0], losses)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_of_another_length(dtype):
    risk = RankingRisk(np.eye(3, dtype=dtype), [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match=r"w has shape \(2,\): expected \(3,\)"):
        risk(np.zeros(2))


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
def test_sparse_features_with_indices_out_of_range(kind):
    X = kind(np.eye(3))
    X.indices[1] = 1 << 20
    with pytest.raises(ValueError, match="indices must be < 3"):
        RankingRisk(X, [0.0, 1.0, 2.0])


@pytest.mark.parametrize("kind", [np.asarray, np.float32, sparse.csr_array])
@pytest.mark.parametrize("weight", [np.nan, 1e308])
def test_scores_that_overflow(kind, weight):
    features = _features.Features(kind(10.0 * np.eye(3)))
    with pytest.raises(ValueError, match=r"the score of row [01] is (nan|inf): expected finite weights"):
        features.scores(np.array([0.0, weight, 0.0]))
