"""Classification of two groups by graphs of brain maps (thesis, section 4.3).

An elastic net selects voxels. They form a graph, the same for all subjects, labeled with the activations of
each subject. A pyramid of quantizations counts its subtree patterns, and a second elastic net learns from the
counts. Every choice is made inside the training part: its folds go through all steps, including the selection
of voxels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from ermlab.fmri.voxel_graphs import maps_to_graphs
from ermlab.kernels.pyramid import PyramidWL
from ermlab.metrics.splits import Sampling, Split
from ermlab.sparse.elastic_net import DistinctColumns, ElasticNetFits, ElasticNetGrid, fit_elastic_nets
from reproduction.experiments.fmri_studies.maps import overlap
from reproduction.experiments.fmri_studies.studies import Scaling
from reproduction.experiments.graph_kernels.gaussian_ridge import gaussian_ridge_predictions

#: The methods of Figure 4.9, in its order.
METHODS = ("gaussian_ridge", "elastic_net", "wl_pyramid", "combined")
#: The heights of Table 4.5.
HEIGHTS = (0, 1, 2, 3)


@dataclass(frozen=True)
class GraphGrids:
    """Grids of parameters.

    Attributes
    ----------
    alphas, l1_ratios, tol
        Of the elastic nets on voxels and on patterns, as in `ElasticNetGrid`.
    bandwidths : tuple of float
        Of the Gaussian kernel, in units of the median distance.
    ridges : tuple of float
        Regularization strengths of Gaussian kernel ridge regression.
    """

    alphas: tuple[float, ...]
    l1_ratios: tuple[float, ...]
    tol: float
    bandwidths: tuple[float, ...]
    ridges: tuple[float, ...]

    @property
    def elastic_net(self) -> ElasticNetGrid:
        """The grid of the elastic nets."""
        return ElasticNetGrid(self.alphas, self.l1_ratios, self.tol)


@dataclass(frozen=True)
class Choice:
    """The best model of a grid on the folds of a training part."""

    model: int  #: index in the grid
    accuracy: float  #: over the folds, in which each subject is tested once


@dataclass(frozen=True)
class PatternFeatures:
    """Counts of subtree patterns in training and test part of one split."""

    pyramid: PyramidWL
    train: csr_array
    test: csr_array
    distinct: DistinctColumns
    heights: NDArray[np.int64]  #: height of the pattern of each column

    def up_to(self, h: int) -> NDArray[np.bool_]:
        """Return which columns have patterns of at most height ``h``."""
        return self.heights <= h


def accuracy(y: NDArray[np.float64], predictions: NDArray[np.float64]) -> float:
    """Return the share of subjects whose group is the sign of the prediction.

    Predictions do not include the mean of the training target. That mean reflects which group is larger in
    the training part, and therefore smaller in the test part.
    """
    return float(np.mean((predictions > 0) == (y > 0)))


def choose(predictions: NDArray[np.float64], y: NDArray[np.float64]) -> Choice:
    """Choose the most accurate model, from predictions (models, subjects).

    Ties are broken by the smallest squared error, then by the order of the models.
    """
    accuracies = np.array([accuracy(y, row) for row in predictions])
    errors = np.mean((predictions - y) ** 2, axis=1)
    best = np.flatnonzero(accuracies == accuracies.max())
    model = int(best[errors[best].argmin()])
    return Choice(model, float(accuracies[model]))


@dataclass(frozen=True)
class Trial:
    """A training part with its folds, and a test part that no choice depends on.

    Parameters
    ----------
    X : ndarray of shape (n_subjects, n_voxels)
        The maps.
    y : ndarray of shape (n_subjects,)
        1 for one group, -1 for the other.
    coordinates : ndarray of shape (n_voxels, 3)
        Places of the voxels in millimeters.
    folds : tuple of Split
        Splits of the training part, in which each subject is tested once.
    split : Split
        Training and test part.
    grids : GraphGrids
    """

    X: NDArray
    y: NDArray[np.float64]
    coordinates: NDArray[np.float64]
    folds: tuple[Split, ...]
    split: Split
    grids: GraphGrids

    @classmethod
    def of(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        coordinates: ArrayLike,
        split: Split,
        grids: GraphGrids,
        folds: int,
        seed: int | Sequence[int],
    ) -> Self:
        """Divide the training part into random folds."""
        X = np.asarray(X)
        y, coordinates = (np.asarray(values, dtype=np.float64) for values in (y, coordinates))
        if X.ndim != 2 or y.shape != (len(X),) or coordinates.shape != (X.shape[1], 3):
            raise ValueError(
                f"maps {X.shape}, groups {y.shape}, coordinates {coordinates.shape}: "
                "expected (subjects, voxels), (subjects,) and (voxels, 3)"
            )
        if not np.isin(y, (-1, 1)).all():
            raise ValueError(f"groups are {sorted(set(y.tolist()))}: expected 1 and -1")
        inner = tuple(Sampling("permuted", len(y)).folds(split.train, folds, seed))
        for number, part in enumerate((*inner, split)):
            if len(set(y[part.train])) != 2:
                raise ValueError(
                    f"all subjects of training part {number} are of group {y[part.train][0]:g}: "
                    "expected both groups"
                )
        return cls(X, y, coordinates, inner, split, grids)

    @property
    def parts(self) -> tuple[Split, ...]:
        """The folds, followed by the split itself."""
        return (*self.folds, self.split)

    def choose(self, predictions: Sequence[NDArray[np.float64]]) -> Choice:
        """Choose by the predictions on the test part of each fold."""
        tested = np.concatenate([fold.test for fold in self.folds])
        return choose(np.concatenate(predictions, axis=1), self.y[tested])

    def gaussian_ridge(self) -> list[NDArray[np.float64]]:
        """Return the predictions of Gaussian kernel ridge regression on the test part of each part."""
        predictions = []
        for part in self.parts:
            train, test = self.scaled(part)
            predictions.append(
                gaussian_ridge_predictions(
                    train, self.y[part.train], test, self.grids.bandwidths, self.grids.ridges
                )
            )
        return predictions

    def scaled(self, part: Split) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the maps of training and test part, scaled by the training part."""
        scaling = Scaling.of(self.X[part.train])
        return scaling(self.X[part.train]), scaling(self.X[part.test])

    def voxel_fits(self) -> tuple[list[ElasticNetFits], list[NDArray[np.float64]]]:
        """Return the elastic nets on voxels of each part, and their predictions."""
        fits, predictions = [], []
        for part in self.parts:
            train, test = self.scaled(part)
            fits.append(fit_elastic_nets(train, self.y[part.train], self.grids.elastic_net))
            predictions.append(fits[-1].predict(test))
        return fits, predictions

    def patterns(self, selected: Sequence[NDArray[np.bool_]]) -> list[PatternFeatures]:
        """Return the counts of patterns of each part, on the voxels selected in it."""
        return [
            count_patterns(self.X[:, voxels], self.coordinates[voxels], part)
            for part, voxels in zip(self.parts, selected, strict=True)
        ]

    def pattern_fits(
        self, patterns: Sequence[PatternFeatures], h: int, with_voxels: bool = False
    ) -> tuple[list[ElasticNetFits], list[NDArray[np.float64]]]:
        """Return the elastic nets on patterns of heights 0 to ``h``, optionally joined with all voxels."""
        fits, predictions = [], []
        for part, counts in zip(self.parts, patterns, strict=True):
            allowed = counts.up_to(h)
            train, sizes = counts.distinct.Z, counts.distinct.sizes(allowed)
            test = counts.distinct.means_of(counts.test, allowed)
            if with_voxels:
                voxels, new_voxels = self.scaled(part)
                train, test = np.hstack([train, voxels]), np.hstack([test, new_voxels])
                sizes = np.append(sizes, np.ones(voxels.shape[1]))
            fits.append(fit_elastic_nets(train, self.y[part.train], self.grids.elastic_net, sizes))
            predictions.append(fits[-1].predict(test))
        return fits, predictions


def count_patterns(maps: NDArray, coordinates: NDArray[np.float64], part: Split) -> PatternFeatures:
    """Count the patterns of the pyramid of the training part, in training and test part."""
    graphs = maps_to_graphs(maps, coordinates)
    pyramid = PyramidWL(h=max(HEIGHTS))
    train = pyramid.fit_transform([graphs[i] for i in part.train])
    test = pyramid.transform([graphs[i] for i in part.test])
    return PatternFeatures(pyramid, train, test, DistinctColumns.of(train), column_heights(pyramid))


def column_heights(pyramid: PyramidWL) -> NDArray[np.int64]:
    """Return the height of the pattern of each column of a pyramid's features."""
    levels, heights = pyramid.n_patterns_.shape
    return np.repeat(np.tile(np.arange(heights), levels), pyramid.n_patterns_.ravel())


def score_split(trial: Trial, select: bool = True, region: NDArray[np.bool_] | None = None) -> pd.DataFrame:
    """Return one row per height and method, with its accuracy on the test part.

    Columns: method (``wl_0`` to ``wl_3`` for a given height, and `METHODS`, where ``wl_pyramid`` and
    ``combined`` use the best height on the folds), height (-1 if there is none), accuracy, inner (accuracy
    on the folds), strength and shape (as in `ElasticNetGrid`; ridge and bandwidth of the Gaussian kernel),
    voxels (with a weight, or in the graph), features, nonzero_share, selected (features with a weight), gap
    (the largest of the grid), model (its index in the grid), and inside (share of the voxels selected by the
    elastic net that lie in the true region, if it is given).

    Parameters
    ----------
    trial : Trial
    select : bool, default=True
        Whether to select voxels. If not, the graph has all voxels of the trial. With voxels selected
        beforehand by the labels of all subjects, this is the control that leaks.
    region : ndarray of shape (n_voxels,), optional
        Voxels of the true region.
    """
    rows = [_ridge_row(trial)]
    fits, predictions = trial.voxel_fits()
    voxels = trial.choose(predictions[:-1])
    facts: dict[str, Any] = {"voxels": fits[-1].nonzeros(voxels.model)}
    if region is not None and region.any():
        facts["inside"] = overlap(fits[-1].coefs[voxels.model], region)["selected_inside"]
    rows.append(_row(trial, "elastic_net", voxels, fits[-1], predictions[-1], facts))
    everywhere = np.ones(trial.X.shape[1], dtype=bool)
    chosen = [fit.coefs[voxels.model] != 0 if select else everywhere for fit in fits]
    patterns = trial.patterns(chosen)
    by_height = [height_row(trial, patterns, h, int(chosen[-1].sum())) for h in HEIGHTS]
    best = best_height(by_height)
    rows += [*by_height, best | {"method": "wl_pyramid"}]
    fits, predictions = trial.pattern_fits(patterns, best["height"], with_voxels=True)
    facts = {name: best[name] for name in ("height", "voxels", "nonzero_share")}
    facts["features"] = best["features"] + trial.X.shape[1]
    rows.append(_row(trial, "combined", trial.choose(predictions[:-1]), fits[-1], predictions[-1], facts))
    return pd.DataFrame(rows).fillna({"height": -1}).fillna(0.0).astype({"height": int, "model": int})


def best_height(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the row of the most accurate height on the folds; of ties the smallest height."""
    return max(rows, key=lambda row: (row["inner"], -row["height"]))


def height_row(trial: Trial, patterns: Sequence[PatternFeatures], h: int, voxels: int) -> dict[str, Any]:
    """Return the row of the patterns of heights 0 to ``h``, on graphs of ``voxels`` voxels."""
    fits, predictions = trial.pattern_fits(patterns, h)
    facts = {"height": h, "voxels": voxels, **_sizes(patterns[-1], h)}
    return _row(trial, f"wl_{h}", trial.choose(predictions[:-1]), fits[-1], predictions[-1], facts)


def _ridge_row(trial: Trial) -> dict[str, Any]:
    predictions = trial.gaussian_ridge()
    chosen = trial.choose(predictions[:-1])
    width, ridge = divmod(chosen.model, len(trial.grids.ridges))
    return {
        "method": "gaussian_ridge",
        "accuracy": accuracy(trial.y[trial.split.test], predictions[-1][chosen.model]),
        "inner": chosen.accuracy,
        "model": chosen.model,
        "strength": trial.grids.ridges[ridge],
        "shape": trial.grids.bandwidths[width],
    }


def _row(
    trial: Trial,
    method: str,
    chosen: Choice,
    fits: ElasticNetFits,
    predictions: NDArray,
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    strength, shape = trial.grids.elastic_net.models[chosen.model]
    return {
        "method": method,
        "accuracy": accuracy(trial.y[trial.split.test], predictions[chosen.model]),
        "inner": chosen.accuracy,
        "strength": strength,
        "shape": shape,
        "selected": fits.nonzeros(chosen.model),
        "gap": float(fits.gaps.max()),
        "model": chosen.model,
        **facts,
    }


def _sizes(patterns: PatternFeatures, h: int) -> dict[str, float]:
    """Return the number of features up to height ``h``, and the non-zero share of the training matrix."""
    allowed = patterns.up_to(h)
    features = int(allowed.sum())
    filled = np.count_nonzero(allowed[patterns.train.indices])
    return {"features": features, "nonzero_share": filled / (features * patterns.train.shape[0])}


def select_voxels(trial: Trial) -> NDArray[np.bool_]:
    """Return the voxels that the elastic net selects in the training part, tuned on the folds."""
    fits, predictions = trial.voxel_fits()
    return fits[-1].coefs[trial.choose(predictions[:-1]).model] != 0
