"""Tables that are hard on numerical code, by name."""

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]
#: Finite tables that an estimator may refuse: their squares overflow, or there is nothing to compare.
REFUSABLE = ("huge", "largest floats", "single sample")


def finite_tables(n: int = 40, seed: int = 0) -> dict[str, Table]:
    """Return tables of finite numbers, ``n`` rows unless the name says otherwise."""
    rng = np.random.default_rng(seed)
    plain = rng.normal(size=(n, 4))
    unscaled = np.column_stack(
        [
            10 ** rng.uniform(0, 9, n),
            rng.integers(0, 65536, n),
            rng.uniform(0, 1e6, n),
            rng.normal(size=n),
            rng.integers(0, 2, n),
        ]
    )
    populations = np.exp(rng.normal(12, 2, size=(n, 3)))
    low_rank = rng.normal(size=(n, 2)) @ rng.normal(size=(2, 6))
    parallel = np.outer(np.ones(n), rng.normal(size=5)) + 1e-13 * rng.normal(size=(n, 5))
    signs = np.where(np.add.outer(np.arange(n), np.arange(4)) % 2 == 0, 1.0, -1.0)
    mixed = rng.normal(size=(n, 4)) * 10.0 ** rng.integers(-12, 13, size=(n, 4))
    return {
        "plain": plain,
        "unscaled": unscaled,
        "bytes": rng.integers(0, 256, size=(n, 6)).astype(np.float64),
        "populations": populations,
        "times 1e7": 1e7 * plain,
        "times 1e9": 1e9 * plain,
        "times 1e-9": 1e-9 * plain,
        "large offset": plain + 1e8,
        "magnitudes mixed": mixed,
        "columns far apart": plain * np.array([1e-9, 1e-3, 1e3, 1e9]),
        "one row dominates": np.vstack([1e12 * plain[:1], plain[1:]]),
        "constant": np.full((n, 3), 7.0),
        "zeros": np.zeros((n, 3)),
        "negative zeros": np.full((n, 3), -0.0),
        "zero variance column": np.column_stack([plain, np.full(n, 3.0), np.zeros(n)]),
        "duplicated rows": np.repeat(plain[: max(n // 8, 1)], 8, axis=0)[:n],
        "duplicated columns": np.hstack([plain, plain, -plain]),
        "two values": rng.integers(0, 2, size=(n, 3)).astype(np.float64),
        "rank deficient": low_rank,
        "nearly parallel": parallel,
        "alternating signs": signs,
        "tiny": 1e-150 * plain,
        "denormal": 5e-324 * rng.integers(0, 1000, size=(n, 3)),
        "huge": 1e150 * plain,
        "largest floats": np.where(plain > 0, 1.0, -1.0) * np.finfo(np.float64).max,
        "wide": rng.normal(size=(n, 5 * n)),
        "one column": plain[:, :1],
        "two rows": plain[:2],
        "single sample": plain[:1],
    }


def broken_tables(n: int = 40, seed: int = 0) -> dict[str, Table]:
    """Return tables that every estimator is to refuse."""
    plain = np.random.default_rng(seed).normal(size=(n, 4))
    one_nan, one_inf = plain.copy(), plain.copy()
    one_nan[n // 2, 1], one_inf[n // 3, 2] = np.nan, np.inf
    return {
        "one NaN": one_nan,
        "one infinity": one_inf,
        "all NaN": np.full((n, 4), np.nan),
        "no rows": np.empty((0, 4)),
        "no columns": np.empty((n, 0)),
    }


def solvable(case: str) -> bool:
    """Return whether an estimator must find an answer in a case, which is named after its table."""
    name = case.split(",")[0]
    return name in finite_tables() and name not in REFUSABLE


def all_tables(n: int = 40, seed: int = 0) -> dict[str, Table]:
    """Return the finite and the broken tables."""
    return {**finite_tables(n, seed), **broken_tables(n, seed)}
