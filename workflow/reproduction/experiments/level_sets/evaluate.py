"""Count the zeros of minima on level sets of regularizers for random risks (rule evaluate_level_sets)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from ermlab.sparse import norm, prox
from reproduction.claims.results import repeated, write_results
from reproduction.experiments.level_sets.regularizers import CONVEX, K, count_nonzero, largest_on_supports
from reproduction.experiments.level_sets.risks import (
    Risks,
    draw_risks,
    minimize_at_level,
    minimize_penalized,
    minimize_sparse,
    reachable,
)
from reproduction.pipeline.job import Paths, run_stage

Vectors = NDArray[np.float64]

#: Numbers of coefficients; all regularizers differ from three on.
DIMENSION, HIGH_DIMENSION = 3, 10
#: Levels of the regularizer at these multiples of the minimum of the risk.
SHRINKAGE = 0.5
BELOW, ABOVE = (0.25, 0.5, 0.75), (1.25, 1.5, 2.0)
#: Change of the risk's minimum, relative to its length, after which zeros may be gone.
CHANGE = 1e-3
#: Distance of two minimizers that are the same; the search over a level set is not more precise.
SAME = 1e-4
ROUNDING = 1e-9
#: Batches of risks whose shares of zeros show how far chance determines these.
BATCHES = 10


def main(inputs: Paths, outputs: Paths, *, seed: int, risks: int, compared: int, trials: int) -> None:
    """Minimize random risks on level sets, and check what section 2.2 says of the regularizers."""
    rng = np.random.default_rng(seed)
    counts = {d: zero_counts(draw_risks(risks, d, rng)) for d in (DIMENSION, HIGH_DIMENSION)}
    shares = {
        d: {name: batch_shares(zeros > 0) for name, zeros in found.items()} for d, found in counts.items()
    }
    few = draw_risks(compared, DIMENSION, rng)
    write_results(
        Path(outputs["values"]).parent,
        {
            "zero_share": shares[DIMENSION],
            "zero_share_high_dimension": shares[HIGH_DIMENSION],
            "persistent_share": persistence(draw_risks(risks, DIMENSION, rng), rng),
            "convexity_violations": convexity_violations(trials, rng),
            "hull_difference_max": hull_differences(trials, rng),
            **compare_with_level_sets(few),
        },
    )
    zero_table(counts).to_csv(outputs["zeros"], index=False, lineterminator="\n")
    np.savez_compressed(outputs["example"], **example())


def zero_counts(risks: Risks) -> dict[str, NDArray[np.int64]]:
    """Return the number of zero coefficients of the minimum of each risk, for each regularizer."""
    minima = {"l0": minimize_sparse(risks, K)}
    for name, regularizer in CONVEX.items():
        levels = regularizer.value(SHRINKAGE * risks.c)
        minima[name] = minimize_at_level(risks, regularizer, levels)[0]
    return {name: np.count_nonzero(w == 0, axis=1) for name, w in minima.items()}


def batch_shares(hits: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the share of hits in each of `BATCHES` equal batches of risks."""
    return repeated((float(batch.mean()) for batch in np.array_split(hits, BATCHES)), unit="batch")


def share_interval(hits: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the 95 % interval of a share (Clopper and Pearson)."""
    found = stats.binomtest(int(hits.sum()), len(hits)).proportion_ci(0.95, method="exact")
    return float(found.low), float(found.high)


def zero_table(counts: Mapping[int, Mapping[str, NDArray[np.int64]]]) -> pd.DataFrame:
    """Return shares of minima with a zero, their intervals, and mean shares of zero coefficients."""
    rows = []
    for d, found in counts.items():
        for name, zeros in found.items():
            low, high = share_interval(zeros > 0)
            rows.append(
                {
                    "dimension": d,
                    "regularizer": name,
                    "share": float(np.mean(zeros > 0)),
                    "low": low,
                    "high": high,
                    "zero_coefficients": float(np.mean(zeros) / d),
                }
            )
    return pd.DataFrame(rows)


def persistence(risks: Risks, rng: np.random.Generator) -> dict[str, float]:
    """Return the share of zeros that remain at the same penalty when the minimum of the risk moves a little.

    L2 has no zeros by chance: its risks are placed such that the first coefficient of the minimum is 0.
    """
    directions = rng.normal(size=risks.c.shape)
    lengths = np.linalg.norm(risks.c, axis=1) / np.linalg.norm(directions, axis=1)
    moves = CHANGE * lengths[:, None] * directions
    levels = CONVEX["l1"].value(SHRINKAGE * risks.c)
    w, strengths = minimize_at_level(risks, CONVEX["l1"], levels)
    after = minimize_penalized(Risks(risks.A, risks.c + moves), CONVEX["l1"], strengths, w)
    zeros = w == 0
    target = SHRINKAGE * risks.c
    target[:, 0] = 0.0
    placed = Risks(risks.A, target + np.linalg.solve(risks.A, target[:, :, None])[:, :, 0])
    moved = closed_form(Risks(risks.A, placed.c + moves), 1.0)
    return {
        "l1": float(np.mean(after[zeros] == 0)) if zeros.any() else 0.0,
        "l2": float(np.mean(np.abs(moved[:, 0]) <= ROUNDING * np.linalg.norm(moved, axis=1))),
    }


def closed_form(risks: Risks, strength: float) -> Vectors:
    """Return the minima of ``risk + strength / 2 |w|^2``."""
    right = np.einsum("nij,nj->ni", risks.A, risks.c)
    return np.linalg.solve(risks.A + strength * np.eye(risks.c.shape[1]), right[:, :, None])[:, :, 0]


def convexity_violations(trials: int, rng: np.random.Generator) -> dict[str, int]:
    """Count pairs of random, often sparse vectors whose middle has more than the mean of their values."""
    functions = {"l0": count_nonzero, **{name: regularizer.value for name, regularizer in CONVEX.items()}}
    v, w = (rng.normal(size=(trials, DIMENSION)) * (rng.random((trials, DIMENSION)) < 0.6) for _ in range(2))
    found = {}
    for name, value in functions.items():
        means = (value(v) + value(w)) / 2
        found[name] = int(np.count_nonzero(value((v + w) / 2) > means + ROUNDING * (1 + means)))
    return found


def hull_differences(trials: int, rng: np.random.Generator) -> dict[str, float]:
    """Compare the norms with the gauge of the convex hull of sparse unit vectors, by duality.

    The gauge at ``w`` is the largest ``<w, u> / h(u)`` over all ``u``, with ``h(u)`` the largest product of
    ``u`` with a sparse unit vector. The proximal operator gives a ``u`` at which it is attained; random ones
    may not exceed it.
    """
    found = {}
    for name, k in (("l1", 1), ("k_support", K)):
        v = rng.normal(size=(trials, DIMENSION))
        w = np.array([prox(row, k, 1.0) for row in v])
        norms = np.array([np.abs(row).sum() if k == 1 else norm(row, k) for row in w])
        attained = np.sum(w * (v - w), axis=1) / largest_on_supports(v - w, k)
        others = rng.normal(size=w.shape)
        excess = np.sum(w * others, axis=1) / largest_on_supports(others, k) - norms
        found[name] = float(max(np.abs(norms - attained).max(), excess.max(), 0.0))
    return found


def compare_with_level_sets(risks: Risks) -> dict[str, dict[str, float]]:
    """Compare penalized minima with minima on level sets below and above that of the minimum of the risk."""
    differences, shares = {}, {}
    for name, regularizer in CONVEX.items():
        has_penalty = []
        differences[name] = 0.0
        for multiple in (*BELOW, *ABOVE):
            same, distances = reachable(name, risks, regularizer.value(multiple * risks.c), SAME)
            has_penalty.append(same)
            if multiple in BELOW:
                differences[name] = max(differences[name], float(distances.max()))
        shares[name] = float(np.mean(has_penalty))
    return {"constrained_difference_max": differences, "equality_share": shares}


def example() -> dict[str, Vectors]:
    """Return a risk of two coefficients and its minimum on a level set of each regularizer."""
    A = np.array([[[0.19, 0.22], [0.22, 0.8]]])
    risk = Risks(A, np.array([[0.9, 1.7]]))
    arrays = {"A": A[0], "c": risk.c[0], "l0": minimize_sparse(risk, 1)[0]}
    for name in ("l1", "l2", "elastic_net"):
        levels = CONVEX[name].value(SHRINKAGE * risk.c)
        arrays[name] = minimize_at_level(risk, CONVEX[name], levels)[0][0]
    return arrays


if "snakemake" in globals():
    run_stage(main, snakemake)
