"""The experiments of the thesis, section 4.1.3: KCCA with and without a Laplacian and unpaired samples.

Parameters are chosen inside each training part by two criteria. Two controls show what causes a gain.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ermlab._utils.blas import one_blas_thread
from ermlab.cca.algebra import Laplacian, View
from ermlab.cca.centered_kernels import CenteredGram, Rows
from ermlab.cca.laplacian_kcca import LaplacianKCCA
from ermlab.cca.laplacians import centering_laplacian, normalized_laplacian
from ermlab.cca.selection import CRITERIA, Grid, Split, holdout_scores, spectrum_scores
from ermlab.metrics.splits import Sampling


@dataclass(frozen=True)
class Variant:
    """A Laplacian, whether unpaired samples are used for it, and whether outputs have one, too."""

    laplacian: Laplacian
    regularized: bool = True
    unpaired: bool = False
    outputs: bool = False


#: Experiment 3 with a Laplacian of the outputs, too, which the thesis suggests but does not apply.
OUTPUT_SIDE = "exp3_output_side"
#: The learned experiments; 1 to 3 are those of the thesis, the fourth is a control.
VARIANTS = {
    "exp1": Variant(normalized_laplacian, regularized=False),
    "exp2": Variant(normalized_laplacian),
    "exp3": Variant(normalized_laplacian, unpaired=True),
    "exp3_centred": Variant(centering_laplacian, unpaired=True),
    OUTPUT_SIDE: Variant(normalized_laplacian, unpaired=True, outputs=True),
}
#: A control: experiment 1 at the eps that is equivalent to experiment 2.
MATCHED = "exp1_matched"
EXPERIMENTS = ("exp1", MATCHED, "exp2", "exp3", "exp3_centred")


@dataclass(frozen=True)
class Settings:
    """Grids of parameters in the units of `LaplacianKCCA`, and permutations for the spectral criterion."""

    eps: Sequence[float]  #: weights of the norm, increasing
    gamma: Sequence[float]  #: weights of the Laplacian, increasing
    permutations: int  #: of the pairs, for the spectral criterion
    seed: int = 0


@dataclass(frozen=True)
class NestedSplit:
    """Training and held-out pairs, and the splits of the training pairs for the choice of parameters."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    inner: dict[Any, Split]  #: indices into ``train``


def nested_splits(sampling: Sampling, outer: int, inner: int, seed: int = 0) -> list[NestedSplit]:
    """Hold out each of ``outer`` folds in turn, and split the rest into ``inner`` folds of the same kind."""
    splits = []
    for number, split in enumerate(sampling.folds(np.arange(sampling.n), outer, seed)):
        parts = sampling.folds(split.train, inner, [seed, number])
        within = {
            i: (np.searchsorted(split.train, part.train), np.searchsorted(split.train, part.test))
            for i, part in enumerate(parts)
        }
        splits.append(NestedSplit(split.train, split.test, within))
    return splits


@dataclass(frozen=True)
class KCCAResults:
    """Results of `run_study`.

    Attributes
    ----------
    table : DataFrame
        One row per experiment, criterion, output and fold: the held-out correlation, the chosen eps and
        gamma, and which of them lie at an edge of the grid, in words.
    chosen : dict
        Experiment and output to the eps and gamma with the best mean correlation over all folds, the
        parameters of a model of all pairs.
    """

    table: pd.DataFrame
    chosen: dict[tuple[str, str], tuple[float, float]]


def run_study(
    X: ArrayLike,
    X_extra: ArrayLike,
    outputs: Mapping[str, ArrayLike],
    splits: Sequence[NestedSplit],
    settings: Settings,
    variants: Sequence[str] = ("exp1", "exp2", "exp3", "exp3_centred"),
    criteria: Sequence[str] = CRITERIA,
) -> KCCAResults:
    """Learn each output from X on all folds, with linear kernels and one component.

    Parameters
    ----------
    X, X_extra : array-like of shape (n_samples, n_features)
        Paired and unpaired samples.
    outputs : mapping
        Name to the values at the paired samples, of one or more columns.
    splits : sequence of NestedSplit
    settings : Settings
    variants : sequence of str
        Keys of `VARIANTS`; ``"exp2"`` includes its control.
    criteria : sequence of {"folds", "spectrum"}
    """
    for name, given, known in (("variants", variants, VARIANTS), ("criteria", criteria, CRITERIA)):
        if unknown := [value for value in given if value not in known]:
            raise ValueError(f"{name} has {unknown}: expected some of {list(known)}")
    X, X_extra = (np.asarray(A, dtype=np.float64) for A in (X, X_extra))
    rows: list[dict[str, Any]] = []
    chosen: dict[tuple[str, str], tuple[float, float]] = {}
    with one_blas_thread():
        whole = CenteredGram.of(Rows("X", "linear", X, X_extra))
        paired = CenteredGram.of(Rows("X", "linear", X))
        grams_y = [_gram_of_output(name, values, len(X)) for name, values in outputs.items()]
        for experiment in variants:
            variant = VARIANTS[experiment]
            gamma = settings.gamma if variant.regularized else (0.0,)
            grid = Grid(settings.eps, gamma, None, None if variant.outputs else 0.0)
            learner = _Learner(
                whole if variant.unpaired else paired, grams_y, list(outputs), grid, variant.laplacian
            )
            rows += learner.rows(experiment, splits, settings, criteria)
            if experiment == "exp2":
                rows += _matched_rows(paired, grams_y, list(outputs), splits, rows)
            for name, scores in zip(outputs, learner.outer(splits).mean(axis=1), strict=True):
                chosen[experiment, name] = _values(grid, grid.best(scores))
    return KCCAResults(pd.DataFrame(rows), chosen)


class _Learner:
    """One experiment over one grid, for all outputs."""

    def __init__(
        self,
        gram_x: CenteredGram,
        grams_y: list[CenteredGram],
        outputs: list[str],
        grid: Grid,
        laplacian: Laplacian,
    ):
        self.grams, self.outputs, self.grid, self.laplacian = (gram_x, *grams_y), outputs, grid, laplacian
        self._outer: NDArray[np.float64] | None = None

    def outer(self, splits: Sequence[NestedSplit]) -> NDArray[np.float64]:
        """Return the correlation on each fold at each point of the grid (output, fold, eps, gamma)."""
        if self._outer is None:
            pairs = {number: (split.train, split.test) for number, split in enumerate(splits)}
            self._outer = self._scores(self.grams, pairs)
        return self._outer

    def rows(
        self, experiment: str, splits: Sequence[NestedSplit], settings: Settings, criteria: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        """Yield the correlation on each fold with the parameters chosen without it."""
        for number, split in enumerate(splits):
            for criterion in criteria:
                inside = self._inside(split, criterion, settings)
                for name, scores, reached in zip(
                    self.outputs, inside, self.outer(splits)[:, number], strict=True
                ):
                    index = self.grid.best(scores)
                    eps, gamma = _values(self.grid, index)
                    yield {
                        "experiment": experiment,
                        "criterion": criterion,
                        "output": name,
                        "fold": number,
                        "correlation": float(reached[index]),
                        "eps": eps,
                        "gamma": gamma,
                        "edge": "; ".join(self.grid.edges(index)),
                    }

    def _inside(self, split: NestedSplit, criterion: str, settings: Settings) -> NDArray[np.float64]:
        """Return the score of a criterion on the training part alone (output, eps, gamma)."""
        parts = [gram.split(split.train, split.test, gram.name)[0] for gram in self.grams]
        if criterion == "folds":
            return self._scores(parts, split.inner).mean(axis=1)
        x, *ys = (View(part, self.laplacian) for part in parts)
        rng = check_random_state(settings.seed)
        permutations = [rng.permutation(len(split.train)) for _ in range(settings.permutations)]
        return spectrum_scores(x, ys, self.grid, permutations).mean(axis=1)

    def _scores(self, grams: Sequence[CenteredGram], splits: Mapping[Any, Split]) -> NDArray[np.float64]:
        return holdout_scores(grams[0], grams[1:], splits, self.grid, 1, self.laplacian)


def _matched_rows(
    paired: CenteredGram,
    grams_y: list[CenteredGram],
    outputs: list[str],
    splits: Sequence[NestedSplit],
    rows: Sequence[Mapping[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Yield the correlation of plain KCCA at the eps of X equivalent to each choice of experiment 2."""
    chosen = [row for row in rows if row["experiment"] == "exp2"]
    for number, split in enumerate(splits):
        x = View(paired.split(split.train, split.test, paired.name)[0], normalized_laplacian)
        for eps_y in sorted({row["eps"] for row in chosen if row["fold"] == number}):
            same = [row for row in chosen if row["fold"] == number and row["eps"] == eps_y]
            equivalent = [x.equivalent_eps(eps_y, row["gamma"]) for row in same]
            grid = Grid(sorted(set(equivalent)), (0.0,), eps_y, 0.0)
            pairs = {number: (split.train, split.test)}
            reached = holdout_scores(paired, grams_y, pairs, grid, 1, normalized_laplacian)[:, 0, :, 0]
            for row, eps in zip(same, equivalent, strict=True):
                correlation = float(reached[outputs.index(row["output"]), grid.eps.index(eps)])
                control = {"experiment": MATCHED, "correlation": correlation, "eps": eps, "gamma": 0.0}
                yield {**row, **control, "edge": ""}


def weight_map(
    X: ArrayLike, X_extra: ArrayLike, output: ArrayLike, experiment: str, eps: float, gamma: float
) -> NDArray[np.float64]:
    """Return the weights of the columns of X in a model of all pairs (thesis, Figures 4.1 to 4.5)."""
    variant = VARIANTS[experiment]
    model = LaplacianKCCA(eps_x=eps, eps_y=eps, gamma_x=gamma, gamma_y=0.0, laplacian=variant.laplacian)
    return model.fit(X, output, X_extra if variant.unpaired else None).x_weights_[:, 0]


def _gram_of_output(name: str, values: ArrayLike, n: int) -> CenteredGram:
    values = np.asarray(values, dtype=np.float64)
    values = values.reshape(len(values), -1)
    if len(values) != n:
        raise ValueError(f"the output {name!r} has {len(values)} rows: expected {n}, as X has")
    if not np.isfinite(values).all():
        raise ValueError(f"the output {name!r} has NaN or infinite values: expected finite ones")
    gram = CenteredGram.of(Rows(f"the output {name!r}", "linear", values))
    gram.require_variation()
    return gram


def _values(grid: Grid, index: tuple[int, int]) -> tuple[float, float]:
    return float(grid.eps[index[0]]), float(grid.gamma[index[1]])
