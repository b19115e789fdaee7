"""Selection of ``eps`` and ``gamma`` of Laplacian KCCA over a grid (thesis, section 4.1.3).

For each ``gamma`` one eigendecomposition serves every ``eps``, and all folds share one kernel matrix per
view.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.progress import progress, report
from ermlab._utils.validation import check_choice
from ermlab.cca.algebra import Laplacian, PenalizedView, View, leading_pairs
from ermlab.cca.centered_kernels import CenteredGram, Kernel
from ermlab.cca.laplacian_kcca import TwoViewProjection, column_correlations, require_non_negative
from ermlab.cca.rules import best, effective_dimensions, one_standard_error

EPS_GRID = tuple(10.0**power for power in range(-5, 5))
GAMMA_GRID = (0.0, *(10.0**power for power in range(-4, 5)))
CRITERIA = ("folds", "spectrum")
RULES = ("best", "one_standard_error")
#: Indices of training pairs and of held-out pairs.
Split = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Grid:
    """Values of ``eps`` and ``gamma`` of X; where those of Y are None, they are the same."""

    eps: Sequence[float]
    gamma: Sequence[float]
    eps_y: float | None
    gamma_y: float | None

    def __post_init__(self):
        for name in ("eps", "gamma"):
            values = getattr(self, name)
            if np.ndim(values) != 1 or not len(values):
                raise ValueError(f"{name} is {values!r}: expected a list of values")
            for value in values:
                require_non_negative(name, value)
            if not np.all(np.diff(values) > 0):
                raise ValueError(f"{name} is {values!r}: expected increasing values")
        for name in ("eps_y", "gamma_y"):
            if getattr(self, name) is not None:
                require_non_negative(name, getattr(self, name))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of values of ``eps`` and of ``gamma``."""
        return len(self.eps), len(self.gamma)

    def at(self, index: tuple[int, int]) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return ``eps`` of X and Y, then ``gamma`` of X and Y."""
        eps, gamma = self.eps[index[0]], self.gamma[index[1]]
        return (
            (eps, eps if self.eps_y is None else self.eps_y),
            (gamma, gamma if self.gamma_y is None else self.gamma_y),
        )

    def penalized(
        self, x: View, ys: Sequence[View]
    ) -> Iterator[tuple[int, PenalizedView, list[PenalizedView]]]:
        """Yield all views at each ``gamma``."""
        fixed = None if self.gamma_y is None else [y.penalized(self.gamma_y) for y in ys]
        for j, gamma in enumerate(self.gamma):
            yield j, x.penalized(gamma), [y.penalized(gamma) for y in ys] if fixed is None else fixed

    def whitenings(
        self, x: PenalizedView, y: PenalizedView
    ) -> Iterator[tuple[int, NDArray[np.float64], NDArray[np.float64]]]:
        """Yield the diagonals that whiten both views at each ``eps``."""
        for i, eps in enumerate(self.eps):
            yield i, x.whitening(eps), y.whitening(eps if self.eps_y is None else self.eps_y)

    def best(self, scores: NDArray[np.float64]) -> tuple[int, int]:
        """Return the index of the best score; ties go to the smallest ``gamma``, then the largest ``eps``."""
        return best(scores)

    def edges(self, index: tuple[int, int]) -> tuple[str, ...]:
        """Describe which values lie at an edge of the grid beyond which others are possible (0 is none)."""
        found = []
        for name, values, i in zip(("eps", "gamma"), (self.eps, self.gamma), index, strict=True):
            if len(values) > 1 and i == 0 and values[0] > 0:
                found.append(f"{name} at its least, {values[0]:g}")
            elif len(values) > 1 and i == len(values) - 1:
                found.append(f"{name} at its largest, {values[-1]:g}")
        return tuple(found)


class LaplacianKCCACV(TwoViewProjection):
    """Laplacian KCCA with ``eps`` and ``gamma`` selected over a grid and refitted to all samples.

    Parameters
    ----------
    n_components : int, default=1
        Number of pairs of functions.
    eps, gamma : sequence of float
        Increasing values for X. ``eps`` should cover many decades: on paired samples alone a Laplacian acts
        nearly like another ``eps``, and its apparent benefit may be due to the end of the grid.
    eps_y : float, default=None
        Fixed value for Y; None uses the same as for X.
    gamma_y : float, default=0.0
        Fixed value for Y; None uses the same as for X.
    kernel, laplacian
        As in `LaplacianKCCA`.
    criterion : {"folds", "spectrum"}, default="folds"
        ``"folds"``: correlation on held-out samples, averaged over folds and components. ``"spectrum"``: norm
        of the difference between all canonical correlations and those of randomly permuted pairs, averaged
        over the permutations (Hardoon et al., reference 82 of the thesis).
    rule : {"best", "one_standard_error"}, default="best"
        ``"best"``: the best mean score. ``"one_standard_error"``: of the models within one standard error of
        it, the smallest ``gamma``, then the ``eps`` with degrees of freedom of X closest to half the number
        of pairs. This is safer with few or short folds, whose best mean is often at an end of the grid.
    n_splits : int, default=5
        Number of folds, blocks of consecutive samples, as random samples of a time series would be similar to
        training samples. Ignored if `fit` is given ``groups``.
    n_permutations : int, default=10
        Number of random permutations; the thesis draws one.
    random_state : int, RandomState or None, default=0
        Seed of the permutations.
    verbose : bool, default=False
        Whether to print the progress of the selection.

    Attributes
    ----------
    eps_, gamma_ : float
        Selected values for X; ties of ``rule="best"`` go to the smallest ``gamma``, then the largest ``eps``.
    at_edge_ : tuple of str
        Descriptions of those at an edge of the grid; ``gamma = 0`` is no edge.
    scores_ : ndarray of shape (n_eps, n_gamma)
        Score of each model.
    fold_scores_ : ndarray of shape (n_splits, n_eps, n_gamma)
        Score for each fold or permutation.

    Further attributes are those of `LaplacianKCCA`, fitted to all samples.
    """

    def __init__(
        self,
        n_components: int = 1,
        eps: Sequence[float] = EPS_GRID,
        gamma: Sequence[float] = GAMMA_GRID,
        eps_y: float | None = None,
        gamma_y: float | None = 0.0,
        kernel: Kernel | tuple[Kernel, Kernel] = "linear",
        laplacian: str | Laplacian = "normalized",
        criterion: str = "folds",
        rule: str = "best",
        n_splits: int = 5,
        n_permutations: int = 10,
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.eps = eps
        self.gamma = gamma
        self.eps_y = eps_y
        self.gamma_y = gamma_y
        self.kernel = kernel
        self.laplacian = laplacian
        self.criterion = criterion
        self.rule = rule
        self.n_splits = n_splits
        self.n_permutations = n_permutations
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        X_extra: ArrayLike | None = None,
        Y_extra: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Select ``eps`` and ``gamma``, and fit the model.

        Parameters
        ----------
        X, Y, X_extra, Y_extra : array-like
            As in `LaplacianKCCA.fit`. Unpaired samples are part of every training set.
        groups : array-like of shape (n_samples,), default=None
            Fold of each pair, such as its run: each distinct value is held out once.
        """
        check_choice("criterion", self.criterion, CRITERIA)
        check_choice("rule", self.rule, RULES)
        grid = Grid(self.eps, self.gamma, self.eps_y, self.gamma_y)
        rows = self._read(X, Y, X_extra, Y_extra)
        n = len(rows[0].paired)
        with one_blas_thread(), progress(self):
            grams = tuple(CenteredGram.of(side) for side in rows)
            views = tuple(View(gram, self._laplacian()) for gram in grams)
            if self.criterion == "folds":
                folds = contiguous_folds(n, self.n_splits) if groups is None else check_folds(groups, n)
                splits = splits_of(folds)
                (scores,) = holdout_scores(
                    grams[0], grams[1:], splits, grid, self.n_components, self._laplacian()
                )
            else:
                (scores,) = spectrum_scores(views[0], views[1:], grid, self._permutations(n))
            self.fold_scores_, self.scores_ = scores, scores.mean(axis=0)
            index = self._select(scores, views[0])
            self.at_edge_ = grid.edges(index)
            eps, gamma = grid.at(index)
            self.eps_, self.gamma_ = eps[0], gamma[0]
            return self._solve(rows, views, eps, gamma)

    def _select(self, scores: NDArray[np.float64], x: View) -> tuple[int, int]:
        if self.rule == "best":
            return best(self.scores_)
        return one_standard_error(scores, effective_dimensions(x, self.eps))

    def _permutations(self, n: int) -> list[NDArray[np.int64]]:
        if not self.n_permutations >= 1:
            raise ValueError(f"n_permutations is {self.n_permutations}: expected at least 1")
        random = check_random_state(self.random_state)
        return [random.permutation(n) for _ in range(self.n_permutations)]


@dataclass(frozen=True)
class Holdout:
    """Results on held-out samples.

    Attributes
    ----------
    folds : ndarray of shape (n_folds,)
        Label of each fold.
    correlations : ndarray of shape (n_folds, n_components)
        Correlations over the held-out samples.
    models : list of estimators
        Estimators fitted without each fold, on precomputed kernels.
    """

    folds: NDArray
    correlations: NDArray[np.float64]
    models: list[TwoViewProjection]


def holdout_correlations(
    estimator: TwoViewProjection,
    X: ArrayLike,
    Y: ArrayLike,
    folds: ArrayLike,
    X_extra: ArrayLike | None = None,
    Y_extra: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Holdout:
    """Cross-validate an estimator: fit it without each fold and correlate its functions on that fold.

    With `LaplacianKCCACV` this is nested cross-validation: held-out samples are not used in the selection of
    ``eps`` and ``gamma``. The kernel matrices are computed once.

    Parameters
    ----------
    estimator : LaplacianKCCA or LaplacianKCCACV
        Estimator, which is cloned.
    X, Y : array-like
        As in `LaplacianKCCA.fit`.
    folds : array-like of shape (n_samples,)
        Fold of each pair, such as its run, or `contiguous_folds`.
    X_extra, Y_extra : array-like
        As in `LaplacianKCCA.fit`.
    groups : array-like of shape (n_samples,), default=None
        For `LaplacianKCCACV`: fold of each pair in the selection of ``eps`` and ``gamma``.
    """
    rows = clone(estimator)._read(X, Y, X_extra, Y_extra)
    n = len(rows[0].paired)
    folds = check_folds(folds, n)
    inner = None if groups is None else check_folds(groups, n)
    with one_blas_thread():
        K_x, K_y = (CenteredGram.of(side).K for side in rows)
    correlations, models = [], []
    for label in np.unique(folds):
        train, test = np.flatnonzero(folds != label), np.flatnonzero(folds == label)
        x, y = (_Split(K, n, train, test) for K in (K_x, K_y))
        model = clone(estimator).set_params(kernel="precomputed")
        given = {} if inner is None else {"groups": inner[train]}
        models.append(model.fit(x.train, y.train, x.extra, y.extra, **given))
        correlations.append(model.correlations(x.test, y.test))
    return Holdout(np.unique(folds), np.array(correlations), models)


def contiguous_folds(n: int, n_splits: int) -> NDArray[np.int64]:
    """Return the fold of each of ``n`` samples: blocks of consecutive samples of similar length."""
    if not 2 <= n_splits <= n // 2:
        raise ValueError(f"{n_splits} folds of {n} samples: expected at least 2, with 2 samples each")
    return np.arange(n) * n_splits // n


def check_folds(folds: ArrayLike, n: int) -> NDArray:
    """Return the folds of ``n`` samples if there are two or more, each of two samples or more."""
    folds = np.asarray(folds)
    if folds.shape != (n,):
        raise ValueError(f"folds of shape {folds.shape}: expected one for each of {n} pairs")
    labels, counts = np.unique(folds, return_counts=True)
    if len(labels) < 2:
        raise ValueError(f"all pairs are in fold {labels[0]!s}: expected at least 2 folds")
    if counts.min() < 2:
        raise ValueError(f"fold {labels[counts.argmin()]!s} has 1 pair: expected at least 2, to correlate")
    return folds


class _Split:
    """Kernel matrix of one view, split into training, held-out and unpaired samples."""

    def __init__(self, K: NDArray[np.float64], n: int, train: NDArray[np.int64], test: NDArray[np.int64]):
        unpaired = np.arange(n, len(K))
        columns = np.concatenate([train, unpaired])
        self.train, self.test = K[np.ix_(train, columns)], K[np.ix_(test, columns)]
        self.extra = K[np.ix_(unpaired, columns)] if len(unpaired) else None


def splits_of(folds: NDArray) -> dict[Any, Split]:
    """Return the training and held-out pairs of each fold."""
    return {
        label: (np.flatnonzero(folds != label), np.flatnonzero(folds == label)) for label in np.unique(folds)
    }


def holdout_scores(
    gram_x: CenteredGram,
    grams_y: Sequence[CenteredGram],
    splits: Mapping[Any, Split],
    grid: Grid,
    n_components: int,
    laplacian: Laplacian,
) -> NDArray[np.float64]:
    """Return the mean held-out correlations for several second views (view, split, eps, gamma).

    The computations for the first view, which take most of the time, are shared.
    """
    scores = np.empty((len(grams_y), len(splits), *grid.shape))
    for number, (label, split) in enumerate(splits.items()):
        (train_x, test_x), *sides = (
            gram.split(*split, f"{gram.name} without fold {label}") for gram in (gram_x, *grams_y)
        )
        x, ys = View(train_x, laplacian), [View(train_y, laplacian) for train_y, _ in sides]
        Z_x, Z_ys = test_x @ x.to_dual, [test_y @ y.to_dual for (_, test_y), y in zip(sides, ys, strict=True)]
        for j, px, pys in grid.penalized(x, ys):
            report("fold", number + 1, gamma=grid.gamma[j])
            T_x = Z_x @ px.V
            for k, (py, Z_y) in enumerate(zip(pys, Z_ys, strict=True)):
                cross, T_y = px.T.T @ py.T, Z_y @ py.V
                for i, dx, dy in grid.whitenings(px, py):
                    _, left, right = leading_pairs(dx[:, None] * cross * dy, n_components)
                    held_out = column_correlations(T_x @ (dx[:, None] * left), T_y @ (dy[:, None] * right))
                    scores[k, number, i, j] = held_out.mean()
    return scores


def spectrum_scores(
    x: View, ys: Sequence[View], grid: Grid, permutations: Sequence[NDArray[np.int64]]
) -> NDArray[np.float64]:
    """Return distances of correlations from those of permuted pairs (view, permutation, eps, gamma)."""
    scores = np.empty((len(ys), len(permutations), *grid.shape))
    orders = (np.arange(x.n), *permutations)
    for j, px, pys in grid.penalized(x, ys):
        report("value", j + 1, gamma=grid.gamma[j])
        for k, py in enumerate(pys):
            cross = [px.T.T @ py.T[order] for order in orders]
            for i, dx, dy in grid.whitenings(px, py):
                spectra = [np.linalg.svd(dx[:, None] * N * dy, compute_uv=False) for N in cross]
                scores[k, :, i, j] = [np.linalg.norm(spectra[0] - permuted) for permuted in spectra[1:]]
    return scores
