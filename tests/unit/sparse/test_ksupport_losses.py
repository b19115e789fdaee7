"""Losses behind the k-support models: slopes, conjugates and intercepts."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from ermlab.sparse._ksupport_losses import LogisticLoss, SmoothedHinge, SquaredLoss

RNG = np.random.default_rng(0)
N = 25
SIGNS = np.where(np.arange(N) % 3 == 0, 1.0, -1.0)
LOSSES = {
    "squared": lambda intercept: SquaredLoss(RNG.normal(size=N), intercept),
    "logistic": lambda intercept: LogisticLoss(SIGNS, intercept),
    "hinge": lambda intercept: SmoothedHinge(SIGNS, intercept, 1.0, np.zeros(N)),
    "hinge, centred": lambda intercept: SmoothedHinge(SIGNS, intercept, 0.3, RNG.random(N)),
}


@pytest.fixture(params=LOSSES)
def make(request):
    return LOSSES[request.param]


def test_slopes_are_derivatives(make):
    loss, z = make(False), 2 * RNG.normal(size=N)
    eps = 1e-6
    for i in range(N):
        move = eps * np.eye(N)[i]
        slope = (loss.risk(z + move) - loss.risk(z - move)) / (2 * eps)
        assert loss.slopes(z)[i] == pytest.approx(slope, abs=1e-8)
        second = (loss.slopes(z + move) - loss.slopes(z - move))[i] / (2 * eps)
        assert loss.second_slopes(z)[i] == pytest.approx(second, abs=1e-6)
        assert loss.second_slopes(z)[i] <= loss.curvature / N * (1 + 1e-12)


def test_conjugate_and_risk_add_up_to_the_product(make):
    loss, z = make(False), 2 * RNG.normal(size=N)
    alpha = loss.slopes(z)
    assert loss.risk(z) + loss.conjugate(alpha) == pytest.approx(alpha @ z, abs=1e-12)
    other = RNG.normal(size=N)
    assert loss.risk(other) + loss.conjugate(alpha) >= alpha @ other - 1e-12


@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0])
def test_intercept_is_the_best(make, spread):
    loss, z = make(True), 5.0 + spread * RNG.normal(size=N)
    value, alpha = loss.best(z)
    found = minimize_scalar(
        lambda b: loss.risk(z + b), bounds=(-200, 200), method="bounded", options={"xatol": 1e-9}
    )
    assert value <= found.fun + 1e-10
    assert loss.risk(z + loss.intercept(z)) == value
    assert abs(alpha.sum()) <= 1e-11


def test_smoothing_touches_the_hinge_at_its_centre():
    z = RNG.normal(size=N)
    hinge = np.mean(np.maximum(1 - SIGNS * z, 0))
    rough = SmoothedHinge(SIGNS, False, 0.5, np.zeros(N))
    exact = SmoothedHinge(SIGNS, False, 0.5, (SIGNS * z < 1).astype(float))
    assert hinge - 0.25 <= rough.risk(z) < hinge
    assert exact.risk(z) == pytest.approx(hinge, abs=1e-15)
    assert rough.hinge_risk(z) == exact.hinge_risk(z) == hinge
