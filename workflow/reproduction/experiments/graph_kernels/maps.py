"""Maps of what graphs of brain maps are told apart by (thesis, Figure 4.8)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.array_files import ArrayFile
from ermlab.fmri.voxel_graphs import voxel_graphs
from ermlab.metrics.splits import Split
from ermlab.sparse.elastic_net import ElasticNetFits
from reproduction.experiments.graph_kernels.protocol import (
    HEIGHTS,
    GraphGrids,
    PatternFeatures,
    Trial,
    best_height,
    height_row,
)


@dataclass(frozen=True)
class GraphMaps(ArrayFile):
    """What was learnt from all people, a value a voxel, 0 where nothing was selected."""

    selection: NDArray[np.float64]  #: weights of the elastic net on voxels that are scaled to deviation 1
    positive: NDArray[np.float64]  #: the learned function at each node, mean over the people of group 1
    negative: NDArray[np.float64]  #: the same for group -1
    height: int  #: of the patterns
    strengths: NDArray[np.float64]  #: prices of voxels and of patterns, as shares of the largest
    shapes: NDArray[np.float64]  #: the l1 ratios of both
    accuracies: NDArray[np.float64]  #: of both over folds of all people
    selected: int  #: patterns with a weight


def fit_graph_maps(
    X: ArrayLike, y: ArrayLike, places: ArrayLike, grids: GraphGrids, folds: int, seed: int
) -> GraphMaps:
    """Choose prices and height on folds of all people, fit to all, and spread the weights over nodes."""
    y = np.asarray(y, dtype=np.float64)
    everyone = np.arange(len(y))
    trial = Trial.of(X, y, places, Split(everyone, everyone), grids, folds, seed)
    fits, predictions = trial.voxel_fits()
    voxels = trial.choose(predictions[:-1])
    patterns = trial.patterns([fit.coefs[voxels.model] != 0 for fit in fits])
    selection = fits[-1].coefs[voxels.model]
    selected = selection != 0
    best = best_height([height_row(trial, patterns, h, int(selected.sum())) for h in HEIGHTS])
    learnt, _ = trial.pattern_fits(patterns, best["height"])
    weights = column_weights(patterns[-1], learnt[-1], best["model"], best["height"])
    nodes = node_values(patterns[-1], weights, trial.X[:, selected], trial.places[selected])
    return GraphMaps(
        selection,
        _spread(nodes[y > 0].mean(axis=0), selected),
        _spread(nodes[y < 0].mean(axis=0), selected),
        best["height"],
        np.array([grids.prices.models[voxels.model][0], best["strength"]]),
        np.array([grids.prices.models[voxels.model][1], best["shape"]]),
        np.array([voxels.accuracy, best["inner"]]),
        best["selected"],
    )


def column_weights(
    patterns: PatternFeatures, fits: ElasticNetFits, model: int, h: int
) -> NDArray[np.float64]:
    """Return a model's weight of each pattern, to be multiplied with its count."""
    used = patterns.up_to(h) & (patterns.distinct.numbers >= 0)
    numbers = patterns.distinct.numbers[used]
    weights = np.zeros(len(used))
    weights[used] = fits.coefs[model, numbers] / patterns.distinct.deviation[numbers]
    return weights


def node_values(
    patterns: PatternFeatures, weights: NDArray[np.float64], maps: NDArray, places: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return for each person and node the sum of the weights of the patterns whose root the node is.

    Every occurrence of a pattern has one root, so the sum over nodes is the learned function but for a
    constant.
    """
    columns = patterns.pyramid.node_columns(voxel_graphs(maps, places))
    # Unknown patterns have the number -1: the last weight, which is 0.
    padded = np.append(weights, 0.0)
    return np.array([padded[some].sum(axis=(1, 2)) for some in columns])


def _spread(values: NDArray[np.float64], selected: NDArray[np.bool_]) -> NDArray[np.float64]:
    spread = np.zeros(len(selected))
    spread[selected] = values
    return spread
