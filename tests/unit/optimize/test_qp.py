import numpy as np
import pytest

from ermlab.optimize import solve_simplex_qp
from ermlab.optimize.qp import ascend_on_simplex


def test_one_variable_is_one():
    result = solve_simplex_qp([[4.0]], [3.0])
    assert result.alpha == [1.0]
    assert (result.value, result.gap) == (1.0, 0.0)


def test_two_orthogonal_directions_closed_form():
    # max b'a - (g0 a0^2 + g1 a1^2) / 2 on a0 + a1 = 1 has a0 = (b0 - b1 + g1) / (g0 + g1).
    result = solve_simplex_qp(np.diag([2.0, 3.0]), [1.0, 0.5], tol=0.0)
    np.testing.assert_allclose(result.alpha, [3.5 / 5, 1.5 / 5], rtol=1e-14)


def test_linear_program_takes_the_best_corner():
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
    assert cold.n_iter > 3
    assert warm.n_iter <= 1


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
        (np.eye(0), [], {}, "with m > 0"),
        ([[np.nan]], [1.0], {}, "NaN"),
        ([[1.0]], [np.inf], {}, "infinity"),
        ([[1.0]], [1.0], {"tol": -1.0}, "tol is -1"),
        ([[1.0]], [1.0], {"alpha0": [1.0, 0.0]}, "alpha0"),
        ([[1.0]], [1.0], {"alpha0": [np.nan]}, "alpha0"),
        (np.eye(2), [1.0, 2.0], {"part": [0]}, r"part has shape \(1,\)"),
        (np.eye(2), [1.0, 2.0], {"part": [0, -1]}, "integers from 0"),
        (np.eye(2), [1.0, 2.0], {"part": [0, 2]}, "part 1 is empty"),
    ],
)
def test_bad_input(G, b, options, message):
    with pytest.raises(ValueError, match=message):
        solve_simplex_qp(G, b, **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"part": [0, 10**12]}, ValueError, "part 1 is empty"),
        ({"part": [0.5, 1.2]}, ValueError, "integers from 0"),
        ({"max_iter": 10.0}, TypeError, "integer"),
        ({"max_iter": "a"}, TypeError, "integer"),
        ({"tol": 10**400}, ValueError, "expected a number of at least 0"),
        ({"alpha0": np.array([1j, 0.0])}, ValueError, "alpha0 has complex entries"),
    ],
)
def test_input_that_compiled_code_must_not_see(options, error, message):
    with pytest.raises(error, match=message):
        solve_simplex_qp(np.eye(2), [1.0, 2.0], **options)


def test_start_whose_sum_overflows():
    result = solve_simplex_qp(np.eye(3), [1.0, 1.0, 1.0], alpha0=[1e308, 1e308, 1e308])
    np.testing.assert_allclose(result.alpha, 1 / 3)


def test_more_steps_than_64_bits_count():
    assert solve_simplex_qp(np.eye(2), [1.0, 3.0], max_iter=10**20).alpha[1] == 1.0


def test_matrix_at_the_end_of_the_range_is_refused():
    # What came back was no point of the simplex, but 0.
    with pytest.raises(ValueError, match="so large that its products overflow"):
        solve_simplex_qp(1e308 * np.eye(3), [1.0, 2.0, 3.0])


def test_index_that_is_kept_out_is_not_tried_for_ever():
    # Eight planes in two dimensions: three of the start depend on each other, and a fourth looks good only
    # before these are at their optimum.
    rng = np.random.default_rng(214890)
    m = int(rng.integers(1, 14))
    A = rng.normal(size=(m, int(rng.integers(1, 8)))) * 10.0 ** rng.uniform(-3, 3)
    b = rng.normal(size=m) * 10.0 ** rng.uniform(-6, 6)
    start = [0.29637, 0.35234, 0.21237, 0.13908, 0.0, 0.0, 0.0, 0.0]
    result = solve_simplex_qp(A @ A.T, b, start, tol=1e-3)
    assert result.gap <= 1e-3
    assert result.n_iter < 20


def test_indefinite_matrix_with_parts():
    for seed in range(300):
        rng = np.random.default_rng(seed)
        m = int(rng.integers(3, 12))
        G = np.where(rng.random((m, m)) < 0.5, 0, rng.integers(-2, 3, (m, m))).astype(float)
        part = np.append([0, 1, 2], rng.integers(0, 3, m - 3))
        start = rng.random(m) * (rng.random(m) < 0.5)
        try:
            result = solve_simplex_qp(G + G.T, 1e-3 * rng.normal(size=m), start, tol=1e-3, part=part)
        except ValueError as error:
            assert "not positive semidefinite" in str(error)  # noqa: PT017  (either will do)
        else:
            np.testing.assert_allclose(np.bincount(part, result.alpha), 1.0)


def test_many_small_problems_are_solved_as_checked_ones():
    rng = np.random.default_rng(0)
    for m in range(1, 12):
        A, b, start = rng.normal(size=(m, 4)), rng.normal(size=m), rng.random(m)
        checked = solve_simplex_qp(A @ A.T, b, start, tol=1e-9)
        np.testing.assert_array_equal(ascend_on_simplex(A @ A.T, b, start, 1e-9), checked.alpha)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_small_problems_without_a_solution_raise(wrong):
    with pytest.raises(ValueError, match="not positive semidefinite"):
        ascend_on_simplex(np.full((2, 2), wrong), np.zeros(2), np.ones(2), 1e-9)
