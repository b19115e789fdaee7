"""Weights that are hard to sum up or to compare."""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def hostile_weights(n: int, rng: np.random.Generator) -> dict[str, Vector]:
    """Return weights of points that are hard to sum up or to compare, and some to be refused."""
    plain = rng.normal(size=n)
    return {
        "plain": plain,
        "zeros": np.zeros(n),
        "negative zeros": np.full(n, -0.0),
        "all equal": np.ones(n),
        "all equal and negative": -np.ones(n),
        "alternating": np.where(np.arange(n) % 2, 1.0, -1.0),
        "cancelling": np.where(np.arange(n) % 2, 1e16, -1e16) + plain,
        "times 1e9": 1e9 * plain,
        "times 1e150": 1e150 * plain,
        "times 1e-150": 1e-150 * plain,
        "denormal": 5e-324 * rng.integers(-5, 6, n),
        "magnitudes mixed": plain * 10.0 ** rng.integers(-300, 290, n),
        "one dominates": np.where(np.arange(n) == n // 2, 1e290, plain),
        "too large": np.full(n, np.finfo(np.float64).max),
        "one NaN": np.where(np.arange(n) == n // 2, np.nan, plain),
        "one infinity": np.where(np.arange(n) == n // 2, np.inf, plain),
        "single precision": plain.astype(np.float32),
        "other byte order": plain.astype(">f8"),
        "integers": rng.integers(-3, 4, n),
    }
