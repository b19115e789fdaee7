"""Fit weight maps that separate two groups, LASSO against k-support norm (rule train_ksupport_maps)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.fmri.clusters import chance_cluster_size, cluster_sizes, largest_weights
from ermlab.metrics.splits import Sampling
from reproduction.experiments.fmri_studies.maps import overlap
from reproduction.experiments.fmri_studies.studies import Scaling, Study
from reproduction.experiments.ksupport.protocol import Grids, fit_methods, fit_split, mean_paths
from reproduction.pipeline.job import Paths, run_stage

#: The methods of Figure 4.7.
MAP_METHODS = ("lasso", "ksupport")


@dataclass(frozen=True)
class GroupMaps:
    """Weights of the chosen models."""

    weights: dict[str, NDArray[np.float64]]  #: method to the weights of all voxels
    chosen: dict[str, pd.Series]  #: method to its row of `mean_paths` over splits of the subjects
    by_k: dict[int, NDArray[np.float64]]  #: k to the weights of the best model with this k
    #: method to the weights of the chosen model in the training part of each split, (splits, voxels)
    by_split: dict[str, NDArray[np.float64]]
    correlations: dict[str, list[float]]  #: method to the correlation of the chosen model on each split


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    seed: int,
    map_splits: int,
    share: float,
    draws: int,
    grids: Grids,
) -> None:
    """Choose the parameters over splits of the subjects, fit to all subjects, and measure the clusters."""
    study = Study.read(inputs["study"])
    maps = fit_group_maps(study.X, study.y, study.sampling(study.fair), grids, map_splits, share, seed)
    table = cluster_table(maps, study.mask, draws, seed)
    table.to_csv(outputs["clusters"], index=False, lineterminator="\n")
    table = split_table(maps, study.mask, study.region)
    table.to_csv(outputs["splits"], index=False, lineterminator="\n")
    with Path(outputs["weights"]).open("wb") as file:
        np.savez(
            file,
            **maps.weights,
            **{
                f"chosen_{method}": row[["shape", "strength", "correlation"]].to_numpy(float)
                for method, row in maps.chosen.items()
            },
            mask=study.mask,
            affine=study.affine,
            region=study.region,
            subjects=np.array([(study.y > 0).sum(), (study.y < 0).sum()]),
        )


def fit_group_maps(
    X: NDArray, y: NDArray[np.float64], sampling: Sampling, grids: Grids, splits: int, share: float, seed: int
) -> GroupMaps:
    """Choose the parameters by the mean correlation over splits of the subjects, and fit to all subjects.

    Models without any weight have no map, and the ridge (k equal to the number of voxels) selects nothing:
    both are excluded from the choice. So is the k-support norm with k = 1, which is the LASSO.
    """
    fitted, tables = zip(
        *(fit_split(X, y, split, grids, MAP_METHODS) for split in sampling.splits(splits, share, seed)),
        strict=True,
    )
    paths = mean_paths(pd.concat([table.assign(split=i) for i, table in enumerate(tables)]))
    fits = fit_methods(Scaling.of(X)(X), Scaling.of(y)(y), grids, MAP_METHODS)
    rows = {method: paths[paths["method"] == method].reset_index(drop=True) for method in MAP_METHODS}
    weights, chosen, by_split, correlations = {}, {}, {}, {}
    for method in MAP_METHODS:
        shapes = rows[method]["shape"]
        allowed = (shapes > 1) & (shapes < X.shape[1]) if method == "ksupport" else shapes == 1
        best = _best(rows[method], fits[method].coefs, allowed)
        weights[method], chosen[method] = fits[method].coefs[best], rows[method].loc[best]
        by_split[method] = np.array([models[method].coefs[best] for models in fitted])
        own = [table[table["method"] == method] for table in tables]
        correlations[method] = [float(table["correlation"].iloc[best]) for table in own]
    shapes, coefs = rows["ksupport"]["shape"], fits["ksupport"].coefs
    by_k = {int(k): coefs[_best(rows["ksupport"], coefs, shapes == k)] for k in sorted(set(shapes))}
    return GroupMaps(weights, chosen, by_k, by_split, correlations)


def _best(rows: pd.DataFrame, coefs: NDArray[np.float64], allowed: pd.Series) -> int:
    """Return the index of the best row that is allowed and has weights."""
    allowed = allowed.to_numpy() & coefs.any(axis=1)
    if not allowed.any():
        raise ValueError("no model has a weight that is not 0: expected features that predict the target")
    return int(np.where(allowed, rows["correlation"], -np.inf).argmax())


def cluster_table(maps: GroupMaps, mask: NDArray[np.bool_], draws: int, seed: int) -> pd.DataFrame:
    """Return the clusters of both maps, of the k-support map cut to the size of the LASSO, and of every k.

    Columns: selection (``lasso``, ``ksupport``, ``ksupport_cut`` or ``k = ...``), voxels, clusters,
    mean_size, largest, chance_mean_size (the mean size for as many random voxels) and weight, the share of
    the absolute weight that is selected.
    """
    count = np.count_nonzero(maps.weights["lasso"])
    selections = {
        **{method: (weights, weights != 0) for method, weights in maps.weights.items()},
        "ksupport_cut": (maps.weights["ksupport"], largest_weights(maps.weights["ksupport"], count)),
        **{f"k = {k}": (weights, weights != 0) for k, weights in maps.by_k.items()},
    }
    return pd.DataFrame(
        [
            {"selection": name, **_cluster_row(weights, mask, selected, draws, seed)}
            for name, (weights, selected) in selections.items()
        ]
    )


def split_table(maps: GroupMaps, mask: NDArray[np.bool_], region: NDArray[np.bool_]) -> pd.DataFrame:
    """Return clusters and correlation of the chosen model of both methods on each split.

    Columns: method, split, voxels, mean_size and correlation, and where the true region is known
    weight_inside, the share of the absolute weight in it.
    """
    rows = []
    for method, weights in maps.by_split.items():
        for i, (values, correlation) in enumerate(zip(weights, maps.correlations[method], strict=True)):
            sizes = _sizes(mask, values != 0)
            row = {"method": method, "split": i, "voxels": int(sizes.sum()), "correlation": correlation}
            row["mean_size"] = float(sizes.mean()) if len(sizes) else 0.0
            if region.any():
                row["weight_inside"] = overlap(values, region)["weight_inside"]
            rows.append(row)
    return pd.DataFrame(rows)


def _sizes(mask: NDArray[np.bool_], selected: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the sizes of the clusters of selected voxels of a mask."""
    volume = np.zeros(mask.shape, dtype=bool)
    volume[mask] = selected
    return cluster_sizes(volume)


def _cluster_row(
    weights: NDArray[np.float64], mask: NDArray[np.bool_], selected: NDArray[np.bool_], draws: int, seed: int
) -> dict[str, float]:
    sizes, count = _sizes(mask, selected), int(selected.sum())
    return {
        "voxels": count,
        "clusters": len(sizes),
        "mean_size": float(sizes.mean()) if len(sizes) else 0.0,
        "largest": int(sizes[0]) if len(sizes) else 0,
        "chance_mean_size": chance_cluster_size(mask, count, draws, seed),
        "weight": float(np.abs(weights[selected]).sum() / max(np.abs(weights).sum(), 1e-300)),
    }


if "snakemake" in globals():
    run_stage(main, snakemake)
