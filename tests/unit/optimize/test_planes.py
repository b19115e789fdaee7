import numpy as np
import pytest

from ermlab.optimize import Planes


@pytest.fixture
def filled():
    rng = np.random.default_rng(0)
    planes = Planes(3)
    for a, b in zip(rng.normal(size=(11, 3)), rng.normal(size=11), strict=True):
        assert planes.add(a, b)
    return planes


def test_gram_follows_additions_and_removals(filled):
    np.testing.assert_allclose(filled.gram, filled.A @ filled.A.T, rtol=1e-12)
    chosen = np.arange(11) % 3 != 1
    A, b = filled.A[chosen], filled.b[chosen]
    filled.keep(chosen)
    filled.add(np.ones(3), 2.0)
    np.testing.assert_array_equal(filled.A, np.vstack([A, np.ones(3)]))
    np.testing.assert_array_equal(filled.b, np.append(b, 2.0))
    np.testing.assert_allclose(filled.gram, filled.A @ filled.A.T, rtol=1e-12)


def test_value_is_the_highest_plane(filled):
    w = np.array([1.0, -2.0, 0.5])
    assert filled.value(w) == pytest.approx(max(a @ w + b for a, b in zip(filled.A, filled.b, strict=True)))
    assert Planes(3).value(w) == -np.inf


def test_the_same_plane_is_held_once(filled):
    assert not filled.add(filled.A[4].copy(), filled.b[4])
    assert filled.add(filled.A[4] + 1, filled.b[4])
    assert len(filled) == 12


def test_parts_are_bounded_one_by_one():
    planes = Planes(2, n_parts=3)
    assert planes.add(np.zeros(2), 1.0, 0)
    assert planes.add(np.zeros(2), 1.0, 2)
    assert not planes.add(np.zeros(2), 1.0, 2)
    assert not planes.bounds_all_parts
    assert planes.value(np.ones(2)) == -np.inf
    for k in range(4):
        planes.add(np.full(2, float(k)), -1.0, 1)
    assert planes.bounds_all_parts
    assert planes.value(np.ones(2)) == 1.0 + 5.0 + 1.0
    planes.keep(planes.part > 0)
    np.testing.assert_array_equal(planes.copy().part, [2, 1, 1, 1, 1])
    with pytest.raises(ValueError, match="plane of part 3: expected 0 to 2"):
        planes.add(np.zeros(2), 0.0, 3)
    with pytest.raises(ValueError, match="n_parts is 0"):
        Planes(2, 0)


def test_planes_given_at_once_are_those_given_one_by_one(filled):
    part = np.arange(11) % 2
    one_by_one, at_once = Planes(3, 2), Planes.of(filled.A, filled.b, part, 2)
    for a, b, d in zip(filled.A, filled.b, part, strict=True):
        one_by_one.add(a, b, d)
    for planes in (one_by_one, at_once):
        planes.add(np.ones(3), 1.0, 1)
        planes.keep(planes.b > -1)
    np.testing.assert_array_equal(at_once.A, one_by_one.A)
    np.testing.assert_array_equal(at_once.part, one_by_one.part)
    np.testing.assert_allclose(at_once.gram, one_by_one.gram)
    assert len(Planes.of(np.zeros((0, 3)), [])) == 0
    assert (filled.A[0] != 1).all()


def test_copies_are_independent(filled):
    copy = filled.copy()
    copy.add(np.ones(3), 0.0)
    assert (len(filled), len(copy)) == (11, 12)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [(np.ones(2), 0.0, r"shape \(2,\)"), (np.full(3, np.nan), 0.0, "NaN"), (np.ones(3), np.inf, "infinity")],
)
def test_bad_planes(filled, a, b, message):
    with pytest.raises(ValueError, match=message):
        filled.add(a, b)


def test_dimension_is_positive():
    with pytest.raises(ValueError, match="dimension is 0"):
        Planes(0)


@pytest.mark.parametrize(
    ("A", "b", "part", "message"),
    [
        ([1.0, 2.0], [0.0], None, r"A, b, part of shapes \(2,\)"),
        (np.eye(3), [0.0], None, r"shapes \(3, 3\), \(1,\)"),
        (np.eye(3), np.zeros(3), [0, 1], r"\(3,\), \(2,\): expected"),
        (np.eye(3), np.zeros(3), [0, 5, 1], "expected whole numbers, 0 to 1"),
        (np.eye(3), np.zeros(3), [0, 0.5, 1], "expected whole numbers, 0 to 1"),
        (np.full((2, 2), np.nan), np.zeros(2), None, "must be finite"),
        (np.full((2, 2), 1e200), np.zeros(2), None, "StandardScaler"),
        (1j * np.eye(2), np.zeros(2), None, "A has complex entries"),
    ],
)
def test_planes_given_at_once_are_checked(A, b, part, message):
    with pytest.raises(ValueError, match=message):
        Planes.of(A, b, part, n_parts=2)
