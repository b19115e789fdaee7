"""Maps of weights that tell two groups apart, LASSO against k-support norm (thesis, Figure 4.7)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.fmri.clusters import chance_cluster_size, cluster_sizes, largest_weights
from ermlab.metrics.splits import Sampling
from reproduction.experiments.ksupport.protocol import Grids, Scaling, fit_methods, mean_paths, score_split

#: The methods of the figure.
SHOWN = ("lasso", "ksupport")


@dataclass(frozen=True)
class GroupMaps:
    """Weights of the models that were chosen, and all that the choice was made by."""

    weights: dict[str, NDArray[np.float64]]  #: method to weights of all voxels
    chosen: dict[str, pd.Series]  #: method to its row of ``paths``
    paths: pd.DataFrame  #: as `mean_paths`, over splits of the subjects
    by_k: dict[int, NDArray[np.float64]]  #: k to the weights of the best lam for this k


def fit_group_maps(
    X: NDArray, y: NDArray[np.float64], sampling: Sampling, grids: Grids, splits: int, share: float, seed: int
) -> GroupMaps:
    """Choose the parameters by the mean correlation over splits of the subjects; fit to all subjects.

    Models without any weight have no map, nor has the ridge a selection (k is the number of voxels): both are
    left out of the choice.
    """
    tables = [
        score_split(X, y, split, grids).assign(split=i)
        for i, split in enumerate(sampling.splits(splits, share, seed))
    ]
    paths = mean_paths(pd.concat(tables, ignore_index=True))
    fits = fit_methods(Scaling.of(X)(X), Scaling.of(y)(y), grids)
    weights, chosen = {}, {}
    for method in SHOWN:
        rows = paths[paths["method"] == method].reset_index(drop=True)
        best = _best(rows, fits[method].coefs, rows["shape"] < X.shape[1])
        weights[method], chosen[method] = fits[method].coefs[best], rows.loc[best]
    by_k = {}
    rows = paths[paths["method"] == "ksupport"].reset_index(drop=True)
    for k in sorted(set(rows["shape"])):
        by_k[int(k)] = fits["ksupport"].coefs[_best(rows, fits["ksupport"].coefs, rows["shape"] == k)]
    return GroupMaps(weights, chosen, paths, by_k)


def _best(rows: pd.DataFrame, coefs: NDArray[np.float64], allowed: pd.Series) -> int:
    """Return the number of the best row that is allowed and has weights."""
    allowed = allowed.to_numpy() & coefs.any(axis=1)
    if not allowed.any():
        raise ValueError("no model has a weight that is not 0: expected features that tell the target")
    return int(np.where(allowed, rows["correlation"], -np.inf).argmax())


def cluster_row(
    weights: NDArray[np.float64], mask: NDArray[np.bool_], selected: NDArray[np.bool_], draws: int, seed: int
) -> dict[str, float]:
    """Return what there is to say of the clusters of the selected voxels, and of as many drawn at random."""
    volume = np.zeros(mask.shape, dtype=bool)
    volume[mask] = selected
    sizes = cluster_sizes(volume)
    count = int(selected.sum())
    return {
        "voxels": count,
        "clusters": len(sizes),
        "mean_size": float(sizes.mean()) if len(sizes) else 0.0,
        "largest": int(sizes[0]) if len(sizes) else 0,
        "chance_mean_size": chance_cluster_size(mask, count, draws, seed),
        "weight": float(np.abs(weights[selected]).sum() / max(np.abs(weights).sum(), 1e-300)),
    }


def cluster_table(maps: GroupMaps, mask: NDArray[np.bool_], draws: int, seed: int) -> pd.DataFrame:
    """Return the clusters of both maps, of the k-support map cut to the LASSO's size, and of every k.

    Columns: selection (``lasso``, ``ksupport``, ``ksupport_cut`` or ``k = ...``), voxels, clusters,
    mean_size, largest, chance_mean_size and weight, the share of the weight that is selected.
    """
    count = np.count_nonzero(maps.weights["lasso"])
    selections: Mapping[str, tuple[NDArray, NDArray]] = {
        **{method: (weights, weights != 0) for method, weights in maps.weights.items()},
        "ksupport_cut": (maps.weights["ksupport"], largest_weights(maps.weights["ksupport"], count)),
        **{f"k = {k}": (weights, weights != 0) for k, weights in maps.by_k.items()},
    }
    return pd.DataFrame(
        [
            {"selection": name, **cluster_row(weights, mask, selected, draws, seed)}
            for name, (weights, selected) in selections.items()
        ]
    )


def overlap(weights: NDArray[np.float64], region: NDArray[np.bool_]) -> dict[str, float]:
    """Return how a map meets a region: shares of weight, of selected voxels and of the region's voxels.

    ``chance`` is the share of the region's voxels among all, which a map that knows nothing has on average.
    """
    if region.shape != weights.shape or not region.any():
        raise ValueError(f"region of shape {region.shape}: expected a voxel or more of {weights.shape}")
    size, selected = np.abs(weights), weights != 0
    return {
        "weight_inside": float(size[region].sum() / max(size.sum(), 1e-300)),
        "selected_inside": float((selected & region).sum() / max(selected.sum(), 1)),
        "region_found": float((selected & region).sum() / region.sum()),
        "chance": float(region.mean()),
    }
