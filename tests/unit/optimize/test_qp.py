import numpy as np
import pytest

from ermlab.optimize import solve_simplex_qp


def test_one_variable_is_one():
    result = solve_simplex_qp([[4.0]], [3.0])
    assert result.alpha == [1.0]
    assert (result.value, result.gap) == (1.0, 0.0)


def test_two_orthogonal_directions_closed_form():
    # max b'a - (g0 a0^2 + g1 a1^2) / 2 on a0 + a1 = 1 has a0 = (b0 - b1 + g1) / (g0 + g1).
    result = solve_simplex_qp(np.diag([2.0, 3.0]), [1.0, 0.5], tol=0.0)
    np.testing.assert_allclose(result.alpha, [3.5 / 5, 1.5 / 5], rtol=1e-14)


def test_linear_programme_takes_the_best_corner():
    result = solve_simplex_qp(np.zeros((3, 3)), [1.0, 5.0, 2.0], alpha0=[1.0, 0.0, 0.0])
    np.testing.assert_array_equal(result.alpha, [0.0, 1.0, 0.0])


def test_parts_that_do_not_meet_are_problems_of_their_own():
    rng = np.random.default_rng(3)
    A, b, part = rng.normal(size=(12, 5)), rng.normal(size=12), np.arange(12) % 3
    apart = np.where(part[:, None] == part, A @ A.T, 0.0)
    result = solve_simplex_qp(apart, b, tol=1e-11, part=part)
    for d in range(3):
        one = solve_simplex_qp(A[part == d] @ A[part == d].T, b[part == d], tol=1e-11)
        np.testing.assert_allclose(result.alpha[part == d], one.alpha, atol=1e-6)


def test_many_dependent_columns():
    rng = np.random.default_rng(0)
    A = np.repeat(rng.normal(size=(20, 4)), 5, axis=0)
    b = np.repeat(rng.normal(size=20), 5)
    result = solve_simplex_qp(A @ A.T, b, tol=1e-12)
    gradient = b - A @ (A.T @ result.alpha)
    assert gradient.max() - result.alpha @ gradient <= 1e-10
    assert result.gap <= 1e-10


def test_a_start_at_the_solution_costs_nothing():
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(50, 10)), rng.normal(size=50)
    cold = solve_simplex_qp(A @ A.T, b, tol=1e-9)
    warm = solve_simplex_qp(A @ A.T, b, cold.alpha, tol=1e-8)
    assert cold.iterations > 3
    assert warm.iterations <= 1


def test_gap_is_honest_when_stopped_early():
    rng = np.random.default_rng(2)
    A, b = rng.normal(size=(40, 10)), rng.normal(size=40)
    exact = solve_simplex_qp(A @ A.T, b)
    early = solve_simplex_qp(A @ A.T, b, max_iter=3)
    assert early.value < exact.value <= early.value + early.gap


@pytest.mark.parametrize(
    ("G", "b", "options", "message"),
    [
        (np.eye(2), [1.0], {}, r"G has shape \(2, 2\)"),
        (np.eye(0), [], {}, "at least 1"),
        ([[np.nan]], [1.0], {}, "NaN"),
        ([[1.0]], [np.inf], {}, "infinity"),
        ([[1.0]], [1.0], {"tol": -1.0}, "tol is -1"),
        ([[1.0]], [1.0], {"alpha0": [1.0, 0.0]}, "alpha0"),
        ([[1.0]], [1.0], {"alpha0": [np.nan]}, "alpha0"),
        (np.eye(2), [1.0, 2.0], {"part": [0]}, r"part has shape \(1,\)"),
        (np.eye(2), [1.0, 2.0], {"part": [0, -1]}, "numbers from 0"),
        (np.eye(2), [1.0, 2.0], {"part": [0, 2]}, "part 1 is empty"),
    ],
)
def test_bad_input(G, b, options, message):
    with pytest.raises(ValueError, match=message):
        solve_simplex_qp(G, b, **options)
