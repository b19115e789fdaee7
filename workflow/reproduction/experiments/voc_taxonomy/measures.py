"""How close two taxonomies are, beside shuffled ones, and ROC curves averaged over several tests."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_curve

from ermlab.taxonomy.tree import Taxonomy, robinson_foulds

#: Shares of false positives at which curves are averaged.
_GRID = np.linspace(0, 1, 51)


def topology_distances(
    one: Taxonomy, other: Taxonomy, permutations: int, rng: np.random.Generator
) -> tuple[float, NDArray[np.float64]]:
    """Return the Robinson-Foulds distance of two trees, and those with the classes of the second shuffled."""
    if permutations < 1:
        raise ValueError(f"permutations is {permutations}: expected at least 1")
    shuffled = (other.permuted(rng.permutation(other.n_leaves)) for _ in range(permutations))
    return robinson_foulds(one, other), np.array([robinson_foulds(one, tree) for tree in shuffled])


def mean_roc_curve(labels: Sequence[ArrayLike], scores: Sequence[ArrayLike]) -> pd.DataFrame:
    """Return the mean over tests of the share of true positives for each share of false positives.

    Scores of different tests come from different models and are never compared with each other.
    """
    curves = []
    for y, s in zip(labels, scores, strict=True):
        y = np.asarray(y, dtype=bool)
        if y.all() or not y.any():
            raise ValueError(f"{int(y.sum())} of {len(y)} labels are true: expected some of both kinds")
        false, true, _ = roc_curve(y, s, drop_intermediate=False)
        curves.append(_at_grid(false, true))
    return pd.DataFrame({"false_positives": _GRID, "true_positives": np.mean(curves, axis=0)})


def _at_grid(false: NDArray[np.float64], true: NDArray[np.float64]) -> NDArray[np.float64]:
    """Interpolate a curve, with its highest point where it rises straight up; it begins at 0."""
    places, last = np.unique(false[::-1], return_index=True)
    values = np.interp(_GRID, places, true[::-1][last])
    return np.append(0.0, values[1:])
