"""Fit maps of the learned functions to all subjects (thesis, Figure 4.8; rule train_graph_maps)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.array_files import ArrayFile
from ermlab.fmri.voxel_graphs import maps_to_graphs, voxel_coordinates
from ermlab.metrics.splits import Split
from ermlab.sparse.elastic_net import ElasticNetFits
from reproduction.experiments.fmri_studies.studies import Study
from reproduction.experiments.graph_kernels.protocol import (
    HEIGHTS,
    GraphGrids,
    PatternFeatures,
    Trial,
    best_height,
    height_row,
)
from reproduction.pipeline.job import Paths, run_stage


@dataclass(frozen=True)
class GraphMaps(ArrayFile):
    """Weights and learned function on all voxels, 0 where nothing was selected."""

    selection: NDArray[np.float64]  #: weights of the elastic net on standardized voxels
    positive: NDArray[np.float64]  #: the learned function at each node, mean over the subjects of group 1
    negative: NDArray[np.float64]  #: the same for group -1
    height: int  #: of the patterns
    strengths: NDArray[np.float64]  #: regularization strengths for voxels and for patterns
    shapes: NDArray[np.float64]  #: l1 ratios for voxels and for patterns
    accuracies: NDArray[np.float64]  #: of both over folds of all subjects
    selected: int  #: patterns with a weight


def main(inputs: Paths, outputs: Paths, *, seed: int, folds: int, grids: GraphGrids) -> None:
    """Write the maps of all subjects."""
    study = Study.read(inputs["study"])
    coordinates = voxel_coordinates(study.mask, study.affine)
    fit_graph_maps(study.X, study.y, coordinates, grids, folds, seed).write(outputs["maps"])


def fit_graph_maps(
    X: ArrayLike, y: ArrayLike, coordinates: ArrayLike, grids: GraphGrids, folds: int, seed: int
) -> GraphMaps:
    """Choose parameters and height on folds of all subjects, fit to all, and assign the weights to nodes."""
    y = np.asarray(y, dtype=np.float64)
    everyone = np.arange(len(y))
    trial = Trial.of(X, y, coordinates, Split(everyone, everyone), grids, folds, seed)
    fits, predictions = trial.voxel_fits()
    voxels = trial.choose(predictions[:-1])
    patterns = trial.patterns([fit.coefs[voxels.model] != 0 for fit in fits])
    selection = fits[-1].coefs[voxels.model]
    selected = selection != 0
    best = best_height([height_row(trial, patterns, h, int(selected.sum())) for h in HEIGHTS])
    pattern_fits, _ = trial.pattern_fits(patterns, best["height"])
    weights = column_weights(patterns[-1], pattern_fits[-1], best["model"], best["height"])
    nodes = node_values(patterns[-1], weights, trial.X[:, selected], trial.coordinates[selected])
    strength, shape = grids.elastic_net.models[voxels.model]
    return GraphMaps(
        selection,
        _on_all_voxels(nodes[y > 0].mean(axis=0), selected),
        _on_all_voxels(nodes[y < 0].mean(axis=0), selected),
        best["height"],
        np.array([strength, best["strength"]]),
        np.array([shape, best["shape"]]),
        np.array([voxels.accuracy, best["inner"]]),
        best["selected"],
    )


def column_weights(
    patterns: PatternFeatures, fits: ElasticNetFits, model: int, h: int
) -> NDArray[np.float64]:
    """Return the weight of each pattern in a model, to be multiplied with its count."""
    used = patterns.up_to(h) & (patterns.distinct.numbers >= 0)
    numbers = patterns.distinct.numbers[used]
    weights = np.zeros(len(used))
    weights[used] = fits.coefs[model, numbers] / patterns.distinct.deviation[numbers]
    return weights


def node_values(
    patterns: PatternFeatures, weights: NDArray[np.float64], maps: NDArray, coordinates: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return for each subject and node the sum of the weights of the patterns rooted at the node.

    Every occurrence of a pattern has one root, so the sum over nodes is the learned function up to a
    constant.
    """
    columns = patterns.pyramid.node_columns(maps_to_graphs(maps, coordinates))
    # Unknown patterns have the number -1: the last weight, which is 0.
    padded = np.append(weights, 0.0)
    return np.array([padded[numbers].sum(axis=(1, 2)) for numbers in columns])


def _on_all_voxels(values: NDArray[np.float64], selected: NDArray[np.bool_]) -> NDArray[np.float64]:
    spread = np.zeros(len(selected))
    spread[selected] = values
    return spread


if "snakemake" in globals():
    run_stage(main, snakemake)
