"""Minima on level sets with known answers, and the batched regularizers against those of the library."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from ermlab.sparse import norm, prox
from reproduction.experiments.level_sets.evaluate import (
    batch_shares,
    compare_with_level_sets,
    convexity_violations,
    example,
    hull_differences,
    main,
    persistence,
    share_interval,
    zero_counts,
    zero_table,
)
from reproduction.experiments.level_sets.figures import plot_level_sets
from reproduction.experiments.level_sets.regularizers import (
    CONVEX,
    count_nonzero,
    largest_on_supports,
    support_shares,
)
from reproduction.experiments.level_sets.risks import (
    Risks,
    draw_risks,
    minimize_at_level,
    minimize_penalized,
    minimize_sparse,
    search_level_set,
)


def vectors(n=200, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)


@pytest.mark.parametrize("d", [2, 3, 8])
def test_k_support_norm_is_that_of_the_library(d):
    w = vectors(d=d)
    expected = np.array([norm(row, 2) if row.any() else 0.0 for row in w])
    np.testing.assert_allclose(np.sqrt(2 * CONVEX["k_support"].value(w)), expected, atol=1e-12)
    strengths = np.random.default_rng(1).uniform(0.01, 5, len(w))
    expected = np.array([prox(row, 2, s) for row, s in zip(w, strengths, strict=True)])
    found = CONVEX["k_support"].prox(w, strengths)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(found == 0, expected == 0)


def test_shares_of_known_vectors():
    # Two of three weights dominate; one does; all have a part.
    w = np.array([[3.0, 2.0, 1.0], [9.0, 1.0, 1.0], [1.0, 1.0, 1.0], [4.0, 0.0, 0.0]])
    expected = [[1, 2 / 3, 1 / 3], [1, 0.5, 0.5], [2 / 3] * 3, [1, 0, 0]]
    np.testing.assert_allclose(support_shares(w, 2, 0.0), expected, atol=1e-12)


@pytest.mark.parametrize("name", CONVEX)
def test_proximal_operators_minimize(name):
    rng = np.random.default_rng(0)
    for v in rng.normal(size=(5, 3)):
        u = CONVEX[name].prox(v[None], np.array([0.7]))[0]

        def objective(w, v=v):
            return 0.5 * np.sum((w - v) ** 2) + 0.7 * CONVEX[name].value(w[None])[0]

        for other in u + 0.01 * rng.normal(size=(200, 3)):
            assert objective(other) >= objective(u) - 1e-12


@pytest.mark.parametrize("name", CONVEX)
def test_directions_are_scaled_to_the_level(name):
    points = CONVEX[name].to_level(np.random.default_rng(0).normal(size=(20, 3)), 1.7)
    np.testing.assert_allclose(CONVEX[name].value(points), 1.7)


def test_minima_of_round_risks():
    """With A the identity the minimum is the projection of c: known for L1, L2 and L0."""
    risks = Risks(np.eye(3)[None], np.array([[2.0, 1.0, 0.1]]))
    # Soft thresholding by 1 leaves (1, 0, 0), of L1 norm 1.
    w, strength = minimize_at_level(risks, CONVEX["l1"], np.array([1.0]))
    np.testing.assert_allclose(w, [[1, 0, 0]], atol=1e-8)
    assert strength == pytest.approx(1)
    assert np.count_nonzero(w) == 1
    w, _ = minimize_at_level(risks, CONVEX["l2"], CONVEX["l2"].value(risks.c) / 4)
    np.testing.assert_allclose(w, risks.c / 2, atol=1e-8)
    np.testing.assert_allclose(minimize_sparse(risks, 2), [[2, 1, 0]])


@pytest.mark.parametrize("name", CONVEX)
def test_penalized_minima_are_minima_on_level_sets(name):
    risks = draw_risks(4, 3, np.random.default_rng(5))
    levels = CONVEX[name].value(0.5 * risks.c)
    w, strengths = minimize_at_level(risks, CONVEX[name], levels)
    np.testing.assert_allclose(CONVEX[name].value(w), levels, rtol=1e-7)
    for i in range(4):
        np.testing.assert_allclose(
            search_level_set(risks[i : i + 1], CONVEX[name], levels[i]), w[i], atol=1e-4
        )

        def objective(u, i=i):
            return risks[i : i + 1](u[None])[0] + strengths[i] * CONVEX[name].value(u[None])[0]

        found = minimize(
            objective, w[i] + 0.05, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}
        )
        assert objective(w[i]) <= found.fun + 1e-9


@pytest.mark.parametrize("name", CONVEX)
def test_search_near_the_poles(name):
    """The minimum is close to an axis, where angles say little."""
    A = np.diag([0.5, 0.06, 0.9])
    risk = Risks(A[None], np.array([[0.001, 0.05, 2.0]]))
    levels = CONVEX[name].value(0.5 * risk.c)
    w, _ = minimize_at_level(risk, CONVEX[name], levels)
    np.testing.assert_allclose(search_level_set(risk, CONVEX[name], levels[0]), w[0], atol=1e-5)


def test_constraint_of_l2_by_a_solver_of_constrained_problems():
    risks = draw_risks(3, 3, np.random.default_rng(6))
    levels = CONVEX["l2"].value(0.5 * risks.c)
    w, _ = minimize_at_level(risks, CONVEX["l2"], levels)
    for i in range(3):
        found = minimize(
            lambda u, i=i: risks[i : i + 1](u[None])[0],
            w[i] * 0.9,
            method="SLSQP",
            constraints={"type": "ineq", "fun": lambda u, i=i: levels[i] - 0.5 * u @ u},
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(found.x, w[i], atol=1e-5)


def test_zeros_of_risks_on_an_axis():
    """The minimum has the single coefficient of c, for L2 only since the risk has the right direction."""
    zeros = zero_counts(Risks(np.eye(3)[None], np.array([[0.0, 0.0, 1.0]])))
    assert {name: int(count[0]) for name, count in zeros.items()} == {
        "l0": 2,
        "l1": 2,
        "l2": 2,
        "elastic_net": 2,
        "k_support": 2,
    }


def test_table_of_four_risks():
    table = zero_table({3: {"l1": np.array([0, 1, 2, 0]), "l2": np.zeros(4, dtype=int)}}).set_index(
        "regularizer"
    )
    assert table.loc["l1", "share"] == 0.5
    assert table.loc["l1", "zero_coefficients"] == 0.25
    assert table.loc["l1", "low"] == pytest.approx(0.06759, abs=1e-5)  # Clopper and Pearson, 2 of 4
    assert table.loc["l2", "high"] == pytest.approx(1 - 0.025**0.25)
    assert share_interval(np.zeros(4, dtype=bool))[0] == 0


def test_shares_of_batches():
    # Ten batches of two risks; the first has two hits, the second one.
    hits = np.arange(20) < 3
    assert batch_shares(hits) == {"repeats": [1, 0.5, *[0] * 8], "unit": "batch"}


def test_zeros_persist_at_corners_alone():
    rng = np.random.default_rng(0)
    found = persistence(draw_risks(100, 3, rng), rng)
    assert found["l1"] > 0.9
    assert found["l2"] == 0


def test_convexity():
    found = convexity_violations(300, np.random.default_rng(0))
    assert found.pop("l0") > 0
    assert found == {"l1": 0, "l2": 0, "elastic_net": 0, "k_support": 0}
    np.testing.assert_array_equal(count_nonzero(np.array([[0.0, 2.0], [0.0, 0.0]])), [1, 0])


def test_hulls_of_sparse_vectors():
    u = np.array([[3.0, -4.0, 1.0]])
    assert largest_on_supports(u, 1)[0] == 4
    assert largest_on_supports(u, 2)[0] == 5
    assert max(hull_differences(50, np.random.default_rng(0)).values()) < 1e-12


def test_levels_above_the_minimum_have_no_penalty():
    found = compare_with_level_sets(draw_risks(1, 3, np.random.default_rng(0)))
    assert set(found["equality_share"].values()) == {0.5}
    assert max(found["constrained_difference_max"].values()) < 1e-4


def test_example_has_zeros_where_there_are_corners():
    arrays = example()
    assert arrays["l1"][0] == arrays["elastic_net"][0] == arrays["l0"][0] == 0
    assert arrays["l2"].all()
    start = np.zeros((1, 2))
    risk = Risks(arrays["A"][None], arrays["c"][None])
    np.testing.assert_allclose(
        minimize_penalized(risk, CONVEX["l2"], np.zeros(1), start), [arrays["c"]], atol=1e-9
    )


def test_results_and_figure(tmp_path):
    outputs = {
        "values": str(tmp_path / "level_sets/values.json"),
        "zeros": str(tmp_path / "level_sets/zeros.csv"),
        "example": str(tmp_path / "level_sets/example.npz"),
    }
    main({}, outputs, seed=0, risks=20, compared=1, trials=50)
    zeros = pd.read_csv(outputs["zeros"])
    assert len(zeros) == 10
    with np.load(outputs["example"]) as arrays:
        fig = plot_level_sets(arrays, zeros)
    bars = [patch.get_height() for patch in fig.axes[-1].patches]
    np.testing.assert_allclose(bars[:5], zeros["share"][[0, 1, 2, 3, 4]])
    assert fig.axes[3].texts[0].get_text() == "no zero"
    assert fig.axes[1].texts[0].get_text() == "$w_1 = 0$"
