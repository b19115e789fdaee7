"""Two groups of people told apart by graphs of their brain maps (thesis, section 4.3).

The elastic net selects voxels; these make a graph, the same for all people, labelled with each one's
activations; the pyramid of quantisations counts its subtree patterns; the elastic net learns from the counts.
Every choice is made inside the training part: its folds go through all of these steps, voxels included.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from ermlab.fmri.voxel_graphs import voxel_graphs
from ermlab.kernels.pyramid import PyramidWL
from ermlab.metrics.splits import Sampling, Split
from ermlab.sparse.elastic_net import DistinctColumns, ElasticNetFits, ElasticNetGrid, fit_elastic_nets
from reproduction.experiments.graph_kernels.gaussian_ridge import gaussian_ridge_predictions
from reproduction.experiments.ksupport.protocol import Scaling

#: The methods of Figure 4.9, in its order.
METHODS = ("gaussian_ridge", "elastic_net", "wl_pyramid", "combined")
#: The heights of Table 4.5.
HEIGHTS = (0, 1, 2, 3)


@dataclass(frozen=True)
class GraphGrids:
    """The parameters that are tried."""

    prices: ElasticNetGrid  #: of the elastic net, for voxels and for patterns
    bandwidths: tuple[float, ...]  #: of the Gaussian kernel, in units of the median distance
    ridges: tuple[float, ...]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Take the grids out of a mapping that may hold more."""
        return cls(ElasticNetGrid.of(values), tuple(values["bandwidths"]), tuple(values["ridges"]))


@dataclass(frozen=True)
class Choice:
    """The model of a grid that does best on the folds of a training part."""

    model: int
    accuracy: float  #: over the folds, each person once


@dataclass(frozen=True)
class PatternFeatures:
    """Counts of subtree patterns of the people of one split, and where they come from."""

    pyramid: PyramidWL
    train: csr_array
    test: csr_array
    distinct: DistinctColumns
    heights: NDArray[np.int64]  #: height of the pattern of each column

    def up_to(self, h: int) -> NDArray[np.bool_]:
        """Return which columns have patterns of at most this height."""
        return self.heights <= h


def accuracy(y: NDArray[np.float64], predictions: NDArray[np.float64]) -> float:
    """Return the share of people whose group is told by the sign of the prediction.

    Predictions come without the mean of the training target. That mean tells which group happens to be the
    larger one in the training part, and so the smaller one among those tested.
    """
    return float(np.mean((predictions > 0) == (y > 0)))


def choose(predictions: NDArray[np.float64], y: NDArray[np.float64]) -> Choice:
    """Choose the model, of predictions (models, people), that is right most often.

    Of several the one with the smallest squared error is taken, and of several of these the first.
    """
    accuracies = np.array([accuracy(y, some) for some in predictions])
    errors = np.mean((predictions - y) ** 2, axis=1)
    best = np.flatnonzero(accuracies == accuracies.max())
    model = int(best[errors[best].argmin()])
    return Choice(model, float(accuracies[model]))


@dataclass(frozen=True)
class Trial:
    """One training part with its folds, and a test part that no choice looks at.

    Parameters
    ----------
    X
        (people, voxels), the maps.
    y
        1 for one group, -1 for the other.
    places
        (voxels, 3), in millimetres.
    folds, split
        Divisions of the training part, each person being tested once, and the division into training and
        test part.
    """

    X: NDArray
    y: NDArray[np.float64]
    places: NDArray[np.float64]
    folds: tuple[Split, ...]
    split: Split
    grids: GraphGrids

    @classmethod
    def of(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        places: ArrayLike,
        split: Split,
        grids: GraphGrids,
        folds: int,
        seed: int | Sequence[int],
    ) -> Self:
        """Divide the training part at random into folds."""
        X, y, places = np.asarray(X), np.asarray(y, dtype=np.float64), np.asarray(places, dtype=np.float64)
        if X.ndim != 2 or y.shape != (len(X),) or places.shape != (X.shape[1], 3):
            raise ValueError(
                f"maps {X.shape}, groups {y.shape}, places {places.shape}: "
                "expected (people, voxels), (people,) and (voxels, 3)"
            )
        if not np.isin(y, (-1, 1)).all():
            raise ValueError(f"groups are {sorted(set(y.tolist()))}: expected 1 and -1")
        inner = tuple(Sampling("permuted", len(y)).folds(split.train, folds, seed))
        for number, part in enumerate((*inner, split)):
            if len(set(y[part.train])) != 2:
                raise ValueError(
                    f"all people of training part {number} are of group {y[part.train][0]:g}: "
                    "expected some of either group"
                )
        return cls(X, y, places, inner, split, grids)

    @property
    def parts(self) -> tuple[Split, ...]:
        """The folds, and at the end the split itself."""
        return (*self.folds, self.split)

    def choose(self, predictions: Sequence[NDArray[np.float64]]) -> Choice:
        """Choose by the predictions for the test part of each fold."""
        tested = np.concatenate([fold.test for fold in self.folds])
        return choose(np.concatenate(predictions, axis=1), self.y[tested])

    def gaussian_ridge(self) -> list[NDArray[np.float64]]:
        """Return the predictions for the test part of each part."""
        found = []
        for part in self.parts:
            train, test = self.scaled(part)
            found.append(
                gaussian_ridge_predictions(
                    train, self.y[part.train], test, self.grids.bandwidths, self.grids.ridges
                )
            )
        return found

    def scaled(self, part: Split) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the maps of training and test part, scaled by the training part."""
        scaling = Scaling.of(self.X[part.train])
        return scaling(self.X[part.train]), scaling(self.X[part.test])

    def voxel_fits(self) -> tuple[list[ElasticNetFits], list[NDArray[np.float64]]]:
        """Return the elastic nets on voxels of each part, and their predictions."""
        fits, predictions = [], []
        for part in self.parts:
            train, test = self.scaled(part)
            fits.append(fit_elastic_nets(train, self.y[part.train], self.grids.prices))
            predictions.append(fits[-1].predict(test))
        return fits, predictions

    def patterns(self, selected: Sequence[NDArray[np.bool_]]) -> list[PatternFeatures]:
        """Return the counts of patterns of each part, on the voxels that were selected in it."""
        return [
            count_patterns(self.X[:, some], self.places[some], part)
            for part, some in zip(self.parts, selected, strict=True)
        ]

    def pattern_fits(
        self, patterns: Sequence[PatternFeatures], h: int, with_voxels: bool = False
    ) -> tuple[list[ElasticNetFits], list[NDArray[np.float64]]]:
        """Return the elastic nets on patterns of heights 0 to ``h``, and on all voxels too if so wished."""
        fits, predictions = [], []
        for part, some in zip(self.parts, patterns, strict=True):
            allowed = some.up_to(h)
            train, sizes = some.distinct.Z, some.distinct.sizes(allowed)
            test = some.distinct.means_of(some.test, allowed)
            if with_voxels:
                voxels, new_voxels = self.scaled(part)
                train, test = np.hstack([train, voxels]), np.hstack([test, new_voxels])
                sizes = np.append(sizes, np.ones(voxels.shape[1]))
            fits.append(fit_elastic_nets(train, self.y[part.train], self.grids.prices, sizes))
            predictions.append(fits[-1].predict(test))
        return fits, predictions


def count_patterns(maps: NDArray, places: NDArray[np.float64], part: Split) -> PatternFeatures:
    """Count the patterns of the training part's pyramid in training and test part."""
    graphs = voxel_graphs(maps, places)
    pyramid = PyramidWL(h=max(HEIGHTS))
    train = pyramid.fit_transform([graphs[i] for i in part.train])
    test = pyramid.transform([graphs[i] for i in part.test])
    return PatternFeatures(pyramid, train, test, DistinctColumns.of(train), column_heights(pyramid))


def column_heights(pyramid: PyramidWL) -> NDArray[np.int64]:
    """Return the height of the pattern of each column of a pyramid's features."""
    levels, heights = pyramid.n_patterns_.shape
    return np.repeat(np.tile(np.arange(heights), levels), pyramid.n_patterns_.ravel())


def score_split(trial: Trial, select: bool = True) -> pd.DataFrame:
    """Return a row for each height and each method, with its accuracy on the test part.

    Columns: method (``wl_0`` to ``wl_3`` for a given height, and `METHODS`, whose ``wl_pyramid`` and
    ``combined`` have the height that does best on the folds, the smallest of several), height (-1 if there is
    none), accuracy, inner (accuracy on the folds), strength and shape (as in `ElasticNetGrid`; ridge and
    bandwidth of the Gaussian kernel), voxels (with a weight, or in the graph), features, nonzero_share,
    selected (features with a weight), gap (the largest of the grid) and model (its number in the grid).

    Parameters
    ----------
    select
        Whether to select voxels. If not, the graph has all of them: selected beforehand, by the labels of the
        test part too, they are the control of a leak.
    """
    rows = [_ridge_row(trial)]
    fits, predictions = trial.voxel_fits()
    voxels = trial.choose(predictions[:-1])
    count = fits[-1].nonzeros(voxels.model)
    rows.append(_row(trial, "elastic_net", voxels, fits[-1], predictions[-1], {"voxels": count}))
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
    """Return the row of the height that does best on the folds, the smallest of several."""
    return max(rows, key=lambda row: (row["inner"], -row["height"]))


def height_row(trial: Trial, patterns: Sequence[PatternFeatures], h: int, voxels: int) -> dict[str, Any]:
    """Return the row of the patterns of heights 0 to ``h``, on graphs of so many voxels."""
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
    strength, shape = trial.grids.prices.models[chosen.model]
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
    """Return the number of features up to a height, and which share of the training matrix is not 0."""
    allowed = patterns.up_to(h)
    features = int(allowed.sum())
    filled = np.count_nonzero(allowed[patterns.train.indices])
    return {"features": features, "nonzero_share": filled / (features * patterns.train.shape[0])}


def select_voxels(trial: Trial) -> NDArray[np.bool_]:
    """Return the voxels that the elastic net selects in the training part, its prices chosen on the folds."""
    fits, predictions = trial.voxel_fits()
    return fits[-1].coefs[trial.choose(predictions[:-1]).model] != 0
