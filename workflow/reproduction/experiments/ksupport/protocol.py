"""Prediction with LASSO, elastic net and k-support norm along whole paths (thesis, section 4.2.3).

All three use the squared loss, with features and target scaled by the training part. Parameters are chosen
in two ways: by the results on the test parts, as published, and inside each training part.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path

from ermlab._utils.blas import one_blas_thread
from ermlab.metrics.splits import Sampling, Split
from ermlab.sparse import ksupport_path
from reproduction.experiments.fmri_studies.studies import Scaling

METHODS = ("lasso", "elastic_net", "ksupport")
_MAX_ITER = 5000


@dataclass(frozen=True)
class Grids:
    """Grids of parameters.

    Attributes
    ----------
    alphas : tuple of float
        LASSO and elastic net: shares of the smallest alpha for which all weights are 0.
    l1_ratios : tuple of float
        Elastic net: shares of the l1 norm in the penalty.
    ks : tuple of int
        k-support norm: those below the number of features, which is always added.
    ksupport_alphas : tuple of float
        k-support norm: regularization strengths in units of `curvature_bound`.
    tol : float
        Relative duality gap of every fit.
    """

    alphas: tuple[float, ...]
    l1_ratios: tuple[float, ...]
    ks: tuple[int, ...]
    ksupport_alphas: tuple[float, ...]
    tol: float

    def ks_up_to(self, d: int) -> list[int]:
        """Return the values of k for ``d`` features: from the LASSO, 1, to the ridge, d."""
        return [k for k in self.ks if k < d] + [d]


@dataclass(frozen=True)
class Fits:
    """Models along the paths of one method, the strongest penalty of each path first."""

    shape: NDArray[np.float64]  #: k, or the l1 ratio, which is 1 for the LASSO
    strength: NDArray[np.float64]  #: regularization strength, as in `Grids`
    coefs: NDArray[np.float64]  #: (models, features)
    gaps: NDArray[np.float64]  #: shares of the objective; for LASSO and elastic net, of that without weights


def fit_lasso(X: NDArray[np.float64], y: NDArray[np.float64], grids: Grids) -> Fits:
    """Fit ``alpha |w|_1 + 1/(2n) |Xw - y|^2`` along a path (thesis, table 4.4)."""
    return _elastic_net_fits(X, y, (1.0,), grids)


def fit_elastic_net(X: NDArray[np.float64], y: NDArray[np.float64], grids: Grids) -> Fits:
    """Fit ``alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2) + 1/(2n) |Xw - y|^2`` (thesis, table 4.4)."""
    return _elastic_net_fits(X, y, grids.l1_ratios, grids)


def fit_ksupport(X: NDArray[np.float64], y: NDArray[np.float64], grids: Grids) -> Fits:
    """Fit ``alpha/2 norm(w, k)^2 + 1/(2n) |Xw - y|^2`` along a path for each k (thesis, eq. 4.13)."""
    shapes, strengths, coefs, gaps = [], [], [], []
    largest = _largest_eigenvalue(X)
    alphas = np.sort(grids.ksupport_alphas)[::-1]
    for k in grids.ks_up_to(X.shape[1]):
        penalties = alphas * curvature_bound(k, largest)
        shapes += [k] * len(alphas)
        strengths += alphas.tolist()
        if k == X.shape[1]:
            coefs.append(_ridge(X, y, penalties))
            gaps.append(np.zeros(len(alphas)))
            continue
        path = ksupport_path(X, y, k, penalties, fit_intercept=False, tol=grids.tol, max_iter=_MAX_ITER)
        coefs.append(path.coefs)
        gaps.append(path.gaps)
    return Fits(np.array(shapes, float), np.array(strengths), np.vstack(coefs), np.concatenate(gaps))


FIT: dict[str, Callable[[NDArray, NDArray, Grids], Fits]] = {
    "lasso": fit_lasso,
    "elastic_net": fit_elastic_net,
    "ksupport": fit_ksupport,
}


def curvature_bound(k: int, largest: float) -> float:
    """Bound the curvature of the risk along k features of variance 1.

    ``largest`` is the largest curvature along all features. The bound is the natural unit of the
    regularization strength: at this strength penalty and risk have the same curvature.
    """
    return min(float(k), largest) or 1.0


def fit_methods(
    X: ArrayLike, y: ArrayLike, grids: Grids, methods: Sequence[str] = METHODS
) -> dict[str, Fits]:
    """Fit methods to scaled samples."""
    X, y = _compressed(np.asarray(X, np.float64), np.asarray(y, np.float64))
    with one_blas_thread():
        return {method: FIT[method](X, y, grids) for method in methods}


def correlations(X: NDArray[np.float64], y: ArrayLike, coefs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Pearson's correlation of target and prediction for each model; 0 if either is constant."""
    with one_blas_thread():
        predicted = X @ coefs.T
    y = np.asarray(y, dtype=np.float64) - np.mean(y)
    predicted -= predicted.mean(axis=0)
    lengths = np.linalg.norm(predicted, axis=0) * np.linalg.norm(y)
    return np.divide(y @ predicted, lengths, out=np.zeros(len(coefs)), where=lengths > 1e-12)


def score_split(X: ArrayLike, y: ArrayLike, split: Split, grids: Grids) -> pd.DataFrame:
    """Fit to the training part; return one row per model, with its correlation on the test part.

    Columns: method, shape, strength, nonzeros, gap and correlation.
    """
    return fit_split(X, y, split, grids)[1]


def fit_split(
    X: ArrayLike, y: ArrayLike, split: Split, grids: Grids, methods: Sequence[str] = METHODS
) -> tuple[dict[str, Fits], pd.DataFrame]:
    """Return the models of the training part, and the table of `score_split`."""
    X, y = _checked(X, y)
    scaling, target = Scaling.of(X[split.train]), Scaling.of(y[split.train])
    fits = fit_methods(scaling(X[split.train]), target(y[split.train]), grids, methods)
    test = scaling(X[split.test])
    return fits, pd.concat(
        [
            pd.DataFrame(
                {
                    "method": method,
                    "shape": models.shape,
                    "strength": models.strength,
                    "nonzeros": np.count_nonzero(models.coefs, axis=1),
                    "gap": models.gaps,
                    "correlation": correlations(test, y[split.test], models.coefs),
                }
            )
            for method, models in fits.items()
        ],
        ignore_index=True,
    )


def score_nested(
    X: ArrayLike,
    y: ArrayLike,
    sampling: Sampling,
    split: Split,
    grids: Grids,
    folds: int,
    seed: int | Sequence[int],
) -> pd.DataFrame:
    """Return `score_split` with a column ``inner``: the mean correlation over folds of the training part."""
    inner = [score_split(X, y, fold, grids) for fold in sampling.folds(split.train, folds, seed)]
    table = score_split(X, y, split, grids)
    return table.assign(inner=np.mean([fold["correlation"] for fold in inner], axis=0))


def chosen_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return for each split and method the row with the best ``inner``; of ties the strongest penalty."""
    return table.loc[table.groupby(["split", "method"], sort=False)["inner"].idxmax()]


def mean_paths(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean and standard deviation over the splits of each model, and its mean non-zeros."""
    grouped = table.groupby(["method", "shape", "strength"], sort=False)
    return grouped.agg(
        correlation=("correlation", "mean"),
        deviation=("correlation", standard_deviation),
        nonzeros=("nonzeros", "mean"),
    ).reset_index()


def standard_deviation(values: pd.Series) -> float:
    """Return the standard deviation over splits; 0 for a single one."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def best_rows(paths: pd.DataFrame) -> dict[str, pd.Series]:
    """Return for each method the row of `mean_paths` with the best mean correlation on the test parts."""
    return {method: rows.loc[rows["correlation"].idxmax()] for method, rows in paths.groupby("method")}


def _elastic_net_fits(X: NDArray, y: NDArray, l1_ratios: tuple[float, ...], grids: Grids) -> Fits:
    shares = np.sort(grids.alphas)[::-1]
    coefs, gaps = [], []
    n, X = len(y), np.asfortranarray(X)
    largest = np.abs(y @ X).max() / n
    for ratio in l1_ratios:
        if largest == 0:  # a constant target, which gives alpha no scale
            coefs.append(np.zeros((X.shape[1], len(shares))))
            gaps.append(np.zeros(len(shares)))
            continue
        with warnings.catch_warnings():
            # The remaining gap is returned instead. scikit-learn's tol is a share of twice the objective.
            warnings.simplefilter("ignore", ConvergenceWarning)
            _, found, gap = enet_path(
                X, y, l1_ratio=ratio, alphas=shares * largest / ratio, tol=grids.tol / 2, max_iter=_MAX_ITER
            )
        coefs.append(found)
        gaps.append(gap / (0.5 * y @ y / n))
    return Fits(
        np.repeat(np.array(l1_ratios, float), len(shares)),
        np.tile(shares, len(l1_ratios)),
        np.hstack(coefs).T,
        np.concatenate(gaps),
    )


def _ridge(X: NDArray, y: NDArray, alphas: NDArray) -> NDArray[np.float64]:
    """Minimize ``alpha/2 |w|^2 + 1/(2n) |Xw - y|^2``, the k-support norm with k = d, for each alpha."""
    values, vectors = np.linalg.eigh(X @ X.T)
    inside = vectors.T @ y
    dual = vectors @ (inside[:, None] / (np.maximum(values, 0.0)[:, None] + len(y) * alphas))
    return dual.T @ X


def _compressed(X: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
    """Return at most d + 1 rows with the same mean squared loss for all weights (QR decomposition)."""
    n, d = X.shape
    if n <= d + 1:
        return X, y
    Q, R = np.linalg.qr(X)
    inside = Q.T @ y
    rest = math.sqrt(max(float(y @ y - inside @ inside), 0.0))
    scale = math.sqrt((d + 1) / n)
    return scale * np.vstack([R, np.zeros(d)]), scale * np.append(inside, rest)


def _largest_eigenvalue(X: NDArray[np.float64]) -> float:
    """Return the largest eigenvalue of ``X'X / n``."""
    small = X @ X.T if len(X) <= X.shape[1] else X.T @ X
    return float(np.linalg.eigvalsh(small)[-1]) / len(X)


def _checked(X: ArrayLike, y: ArrayLike) -> tuple[NDArray, NDArray[np.float64]]:
    X, y = np.asarray(X), np.asarray(y, dtype=np.float64)
    if X.ndim != 2 or y.shape != (len(X),):
        raise ValueError(f"X has shape {X.shape} and y {y.shape}: expected a row of X for each entry of y")
    for name, values in (("X", X), ("y", y)):
        if not np.isfinite(values).all():
            place = np.argwhere(~np.isfinite(values))[0].tolist()
            raise ValueError(f"{name}{place} is {values[tuple(place)]}: expected finite numbers")
    if np.ptp(y) == 0:
        raise ValueError(f"y is {y[0]} everywhere: expected a target that varies")
    return X, y
