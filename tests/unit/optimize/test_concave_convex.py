import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from ermlab.optimize import L1, L2, cccp, minimize


class MeanOfMaxima:
    """The mean over samples of the largest of some affine functions."""

    def __init__(self, slopes, offsets):
        self.slopes, self.offsets, self.dimension = slopes, offsets, slopes.shape[2]

    def __call__(self, w):
        heights = np.einsum("gfd,d->gf", self.slopes, w) + self.offsets
        samples, best = np.arange(len(heights)), heights.argmax(axis=1)
        return heights[samples, best].mean(), self.slopes[samples, best].mean(axis=0)


@pytest.fixture(scope="module")
def bridge():
    """Bridge losses of 40 samples: one of the first 6 outputs must not beat the best of the last 3."""
    rng = np.random.default_rng(0)
    slopes, offsets = rng.normal(size=(40, 9, 6)), np.zeros((40, 9))
    slopes[:, 6] += 1
    offsets[:, :6] = 1
    return MeanOfMaxima(slopes, offsets), MeanOfMaxima(slopes[:, 6:], offsets[:, 6:])


def zero(w):
    return 0.0, np.zeros_like(w)


def test_no_concave_part_is_plain_minimization(bridge):
    convex, _ = bridge
    result = cccp(convex, zero, L2(0.1), convex_lower_bound=0.0, eps_min=1e-5, nonnegative=True)
    plain = minimize(convex, L2(0.1), tol=1e-6)
    assert result.converged
    assert plain.lower_bound <= result.value <= plain.value * (1 + 2e-5)


def test_absolute_values_closed_form():
    # lam/2 w^2 + |w| - |w| / 2 from w = 1 goes to 0; with twice |w| subtracted it goes to 1 / lam.
    def absolute(factor):
        return lambda w: (factor * abs(w[0]), factor * np.sign(w))

    options = {"w0": [1.0], "nonnegative": False, "eps_min": 1e-9, "eta": 1e-9, "eps": 0.5}
    down = cccp(absolute(1.0), absolute(0.5), L2(0.5), **options)
    assert down.w[0] == pytest.approx(0.0, abs=1e-6)
    up = cccp(absolute(1.0), absolute(2.0), L2(0.5), **options)
    assert up.w[0] == pytest.approx(2.0, abs=1e-3)
    assert up.value == pytest.approx(-1.0, abs=1e-8)


@pytest.mark.parametrize("regularizer", [L2(0.01), L1(0.01)])
def test_recycling_saves_bounds_at_fixed_and_at_adaptive_precision(bridge, regularizer):
    bounds = {
        (recycle, adaptive): cccp(*bridge, regularizer, recycle=recycle, adaptive=adaptive).bounds
        for recycle in (True, False)
        for adaptive in (True, False)
    }
    assert bounds[True, True] < bounds[False, True]
    assert bounds[True, False] < bounds[False, False]


@pytest.mark.parametrize("regularizer", [L2(0.01), L1(0.01)])
def test_history(bridge, regularizer):
    convex, concave = bridge
    calls = 0

    def counted(w):
        nonlocal calls
        calls += 1
        return convex(w)

    result = cccp(counted, concave, regularizer, w0=np.zeros(6), eps=0.2, rho=0.5, eps_min=1e-3)
    history = result.history
    assert result.bounds == calls == 1 + sum(history.bounds)
    assert len(history.points) == len(history.objective) == result.n_iter + 1
    assert len(history.eps) == len(history.bounds) == len(history.seconds) == result.n_iter
    np.testing.assert_allclose(history.eps[:4], [0.1, 0.05, 0.025, 0.0125])
    assert history.eps[-1] == 1e-3
    for w, value in zip(history.points, history.objective, strict=True):
        assert value == pytest.approx(regularizer(w) + convex(w)[0] - concave(w)[0], rel=1e-12)
    assert (np.diff(history.objective) <= 0).all()
    assert all(gap <= eps for gap, eps in zip(history.relative_gap, history.eps, strict=True))
    np.testing.assert_array_equal(result.w, history.points[-1])


def test_fixed_precision_is_the_final_one_throughout(bridge):
    result = cccp(*bridge, L2(0.01), adaptive=False, eps=0.3, eps_min=1e-2)
    assert set(result.history.eps) == {1e-2}


def test_outer_iterations_are_limited(bridge):
    result = cccp(*bridge, L2(0.01), max_iter=2)
    assert (result.n_iter, result.converged) == (2, False)


def test_same_bits_in_every_run_and_for_every_number_of_threads(bridge):
    results = []
    for threads in (1, 2, 2):
        with threadpool_limits(threads):
            results.append(cccp(*bridge, L2(0.01)))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].w, other.w)
        assert results[0].history.objective == other.history.objective


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eps_min": 0.0}, "eps_min is 0.0"),
        ({"eps": 1e-4}, "expected 0 < eps_min <= eps"),
        ({"rho": 1.0}, "rho is 1.0"),
        ({"eta": -1.0}, "eta is -1.0"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"w0": np.zeros(2)}, "dimensions differ"),
        ({"w0": np.full(6, np.nan)}, "w0"),
        ({"convex_lower_bound": 50.0}, "risk_lower_bound = 50.0"),
    ],
)
def test_bad_options(bridge, options, message):
    with pytest.raises(ValueError, match=message):
        cccp(*bridge, L2(0.01), **options)


def test_broken_concave_part(bridge):
    with pytest.raises(ValueError, match="concave part returned"):
        cccp(bridge[0], lambda w: (np.nan, w), L2(0.01))
    with pytest.raises(ValueError, match="concave part returned"):
        cccp(bridge[0], lambda w: (0.0, np.zeros(2)), L2(0.01))
