"""Trees, covariances and the search for C shared by the taxonomic experiments (thesis, section 5.2.6)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.multiclass import OneVsRestClassifier

from ermlab.metrics import corrected_t_test
from ermlab.taxonomy import (
    TaxonomicSVM,
    Taxonomy,
    centered,
    learn_edge_lengths,
    learn_taxonomy,
    robinson_foulds,
    shuffled,
    unit_trace,
)
from reproduction.claims.uncertainty import draw, estimate

#: Level of tests in single classes or methods, divided by their number.
LEVEL = 0.05


@dataclass(frozen=True)
class Trial:
    """A classifier trained with one value of C, and its score on the validation part."""

    C: float
    validation: float  #: accuracy, or the negative mean loss
    gap: float  #: relative gap of the solver; 0 if it reports none
    n_iter: int
    classifier: OneVsRestClassifier | TaxonomicSVM | None  #: None if it is of no further use


def read_taxonomy(path: str | Path) -> Taxonomy:
    """Read a tree in Newick format."""
    return Taxonomy.from_newick(Path(path).read_text(encoding="utf-8"))


def class_taxonomies(K: ArrayLike, y: ArrayLike, semantic: Taxonomy) -> dict[str, Taxonomy]:
    """Return the trees of training samples: semantic, learned, and the learned topology.

    The first and the last have the edge lengths of eq. 5.34. The learned tree has its own lengths: the
    difference between it and the last is the effect of the lengths alone.
    """
    learned = learn_taxonomy(K, y, semantic.names)
    return {
        "semantic": learn_edge_lengths(K, y, semantic),
        "learned": learned,
        "learned_topology": learn_edge_lengths(K, y, learned),
    }


def comparable(B: ArrayLike) -> NDArray:
    """Return a covariance of the classes, centered and scaled to a mean variance of 1.

    A taxonomic SVM compares the classes of one sample, so a common shift of all its scores changes nothing.
    The shift depends on the root of the tree. With a centered covariance the scores of a sample sum to 0, as
    they do without a taxonomy, and the trace does not depend on the root (theorem 5.2.5).
    """
    return unit_trace(centered(B))


def search_C(
    train: Callable[[float], Trial], grid: Sequence[float], limits: Sequence[float]
) -> tuple[Trial, list[Trial]]:
    """Return the best trial and all trials in increasing order of C.

    The grid grows until the best value is inside it. Among equally good values the smallest inside the grid
    is chosen. New values continue the geometric progression at their end of the grid, within ``limits``.
    """
    if len(grid) < 2 or sorted(set(grid)) != list(grid) or grid[0] <= 0:
        raise ValueError(f"grid of C is {list(grid)}: expected at least two values, positive and increasing")
    trials = [train(C) for C in grid]
    while True:
        best = max(trial.validation for trial in trials)
        inside = [trial for trial in trials[1:-1] if trial.validation == best]
        low, high = (trials[0].C ** 2 / trials[1].C, trials[-1].C ** 2 / trials[-2].C)
        if inside:
            return inside[0], trials
        if trials[0].validation == best and low >= limits[0]:
            trials.insert(0, train(low))
        elif trials[-1].validation == best and high <= limits[1]:
            trials.append(train(high))
        else:
            return next(trial for trial in trials if trial.validation == best), trials


def share_inside_grid(trials: pd.DataFrame, search: Sequence[str]) -> float:
    """Return the share of searches whose chosen C lies strictly inside their grid.

    Parameters
    ----------
    trials : DataFrame
        One row per trial, with the columns ``C`` and ``chosen``.
    search : sequence of str
        Columns that identify a search.
    """
    C = trials.set_index(list(search))["C"]
    chosen = C[trials["chosen"].to_numpy()]
    ends = C.groupby(level=list(search)).agg(["min", "max"]).loc[chosen.index]
    return float(((ends["min"] < chosen) & (chosen < ends["max"])).mean())


def count_significantly_lower(first: ArrayLike, second: ArrayLike, test_share: float) -> int:
    """Return in how many columns the first scores are significantly below the second.

    One-sided corrected resampled t-tests over splits, at a level of 5 % divided by the number of columns. A
    column in which all differences are the same counts if they are negative.

    Parameters
    ----------
    first, second : array-like of shape (n_splits, n_columns)
        Scores of two methods on the same splits.
    test_share : float
        Share of the samples of a split that are for testing.
    """
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if len(first) < 2:
        return 0
    lower = first.mean(axis=0) < second.mean(axis=0)
    p = [corrected_t_test(a, b, test_share).p / 2 for a, b in zip(first.T, second.T, strict=True)]
    return int((lower & (np.array(p) <= LEVEL / len(lower))).sum())


def distances_between(
    trees: Sequence[Taxonomy], pairs: Sequence[tuple[int, int]], permutations: int, seed: int
) -> dict[str, float]:
    """Compare learned trees with each other: the control that data determine a topology at all.

    Returns
    -------
    dict
        Means over the pairs of the Robinson-Foulds distance, and of that to the second tree with its classes
        permuted; both are 1 without a pair.
    """
    found = [robinson_foulds(trees[i], trees[j]) for i, j in pairs]
    permuted = [
        np.mean([robinson_foulds(trees[i], tree) for tree in shuffled(trees[j], permutations, [seed, i, j])])
        for i, j in pairs
    ]
    return {"distance": float(np.mean(found or [1.0])), "permuted": float(np.mean(permuted or [1.0]))}


def difference_text(first: Mapping[str, Any], second: Mapping[str, Any], digits: str) -> str:
    """Return the difference of two repeated results with its 95 % interval as text.

    Parameters
    ----------
    first, second
        Results of `reproduction.claims.results.repeated` on the same units.
    digits
        Format of a number, such as ``".1f"``.
    """
    mean = float((estimate(first) - estimate(second))[0])
    draws = draw(first) - draw(second)
    if len(draws) == 1:
        return f"{mean:+{digits}}"
    low, high = np.quantile(draws, (0.025, 0.975))
    return f"{mean:+{digits}} ({low:+{digits}} to {high:+{digits}})"
