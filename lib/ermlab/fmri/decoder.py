"""Decoding of a stimulus or a condition from a scan, as a scikit-learn estimator and as one function."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from nibabel import Nifti1Image
from nilearn.masking import unmask
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import block_diag
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ermlab._utils.saving import SavedModel
from ermlab._utils.validation import check_choice, whole_number
from ermlab.cca.selection import EPS_GRID, GAMMA_GRID, Grid
from ermlab.fmri.bold_runs import BoldRuns, read_runs, scale_voxels
from ermlab.fmri.cross_decoding import Decoding, Folds, cross_decode
from ermlab.fmri.images import ImageLike, SpatialImage, check_repetition_time
from ermlab.fmri.stretches import drift_basis, filtered_parts, stretches_of_runs, without_drifts
from ermlab.fmri.targets import Target, from_events, from_labels, values_of_runs

TASKS = ("regression", "classification")
#: Length of the blocks that are shuffled and resampled, in gaps.
BLOCK = 2.0

Runs = ImageLike | ArrayLike | Sequence[ImageLike] | Sequence[ArrayLike]


class FMRIDecoder(SavedModel, BaseEstimator):
    """Predict a value or a class of each volume, with an honest estimate of how well.

    The model is `LaplacianKCCA` with one target: ridge regression that can also learn from volumes without a
    target. Whole runs are held out, or stretches of a single run with gaps between them. ``eps`` and
    ``gamma`` are selected inside each training part by the one-standard-error rule of `LaplacianKCCACV`.
    `fit` also repeats the whole procedure with shuffled targets, which gives the chance level, and fits
    scikit-learn's ridge regression to the same parts.

    Parameters
    ----------
    repetition_time : float
        Seconds between volumes.
    task : {"regression", "classification"}, default="regression"
        Whether the target is a number, evaluated by the correlation, or a class, evaluated by the balanced
        accuracy.
    mask : image or str or Path, optional
        Voxels to use, by default `brain_mask`.
    fwhm : float, default=0.0
        Spatial smoothing of images in millimeters.
    high_pass : float or None, default=128.0
        Shortest period of a drift in seconds. Drifts are removed from each run, or from each
        stretch of a single run. None for volumes that were filtered before: only means are removed.
    standardize : bool, default=True
        Whether to scale each voxel of a run to variance 1, as nilearn's `Decoder` does. This helps if the
        variance of the noise differs between voxels, and costs accuracy if it is similar: then a larger
        variance marks the voxels that respond.
    resample : bool, default=False
        Whether to resample images to the grid of the first.
    eps : sequence of float
        Increasing values of the regularization.
    gamma : sequence of float, optional
        Values of the weight of the Laplacian. By default only 0 without further volumes, since the Laplacian
        of the labeled volumes acts like another ``eps``.
    n_splits : int, default=5
        Number of held-out parts, at most the number of runs if there are several.
    gap : float, default=16.0
        Seconds between stretches of a run, for the response to one not to extend into the next.
    n_permutations : int, default=200
        Number of shuffled targets.
    random_state : int, RandomState or None, default=0
        Seed of shuffled targets and resamplings.

    Attributes
    ----------
    decoding_ : Decoding
        Scores, chance level, curve over ``eps``, ridge regression and weights.
    coef_ : ndarray of shape (1 or n_classes, n_voxels)
        Weights of the voxels, standardized or not.
    intercept_ : ndarray of shape (1 or n_classes,)
        Intercepts.
    coef_img_ : image or None
        Weights as an image, with one volume for each row of ``coef_``; None if arrays were given.
    classes_ : ndarray
        Sorted classes, for classification.
    eps_, gamma_ : float
        Selected values.
    n_features_in_ : int
        Number of voxels.

    Examples
    --------
    >>> import numpy as np
    >>> from ermlab.fmri import FMRIDecoder
    >>> rng = np.random.default_rng(0)
    >>> y = np.sin(np.arange(80) / 3)
    >>> runs = [np.outer(y, np.ones(30)) + rng.normal(size=(80, 30)) for _ in range(2)]
    >>> decoder = FMRIDecoder(2.0, n_permutations=50).fit(runs, [y, y])
    >>> decoder.decoding_.score > 0.8
    True
    """

    _unsaved = ("decoding_", "_mask")

    def __init__(
        self,
        repetition_time: float,
        task: str = "regression",
        *,
        mask: ImageLike | None = None,
        fwhm: float = 0.0,
        high_pass: float | None = 128.0,
        standardize: bool = True,
        resample: bool = False,
        eps: Sequence[float] = EPS_GRID,
        gamma: Sequence[float] | None = None,
        n_splits: int = 5,
        gap: float = 16.0,
        n_permutations: int = 200,
        random_state: int | np.random.RandomState | None = 0,
    ):
        self.repetition_time = repetition_time
        self.task = task
        self.mask = mask
        self.fwhm = fwhm
        self.high_pass = high_pass
        self.standardize = standardize
        self.resample = resample
        self.eps = eps
        self.gamma = gamma
        self.n_splits = n_splits
        self.gap = gap
        self.n_permutations = n_permutations
        self.random_state = random_state

    def fit(
        self,
        X: Runs,
        y: ArrayLike | Sequence[ArrayLike],
        groups: ArrayLike | None = None,
        X_extra: Runs | None = None,
    ) -> Self:
        """Evaluate the decoder on held-out volumes, and fit it to all volumes.

        Parameters
        ----------
        X : image, array, or sequence of them
            One image, or array of shape (n_volumes, n_voxels), for each run; or one for all runs with
            ``groups``.
        y : array-like of shape (n_volumes,), or a sequence of them
            Number or class of each volume of all runs, or of each run. Volumes of class ``""`` are not used.
        groups : array-like of shape (n_volumes,), optional
            Run of each volume, if ``X`` is one array or image.
        X_extra : image, array, or sequence of them, optional
            Further runs of the same person without a target.
        """
        check_choice("task", self.task, TASKS)
        gamma = self.gamma if self.gamma is not None else (GAMMA_GRID if X_extra is not None else (0.0,))
        Grid(self.eps, gamma, None, 0.0)  # checks the values
        runs = _separate(self._read(X, self.mask), groups)
        values = values_of_runs(y, runs.lengths)
        data = self._prepare(runs, values)
        mask = runs.mask if runs.mask is not None else self.mask
        extra = None
        if X_extra is not None:
            further = self._read(X_extra, mask)
            extra = np.concatenate([self._features(rows, np.zeros(len(rows), int)) for rows in further.rows])
            if extra.shape[1] != data.X.shape[1]:
                raise ValueError(f"X_extra has {extra.shape[1]} voxels: expected {data.X.shape[1]}, as X")
        self.decoding_ = cross_decode(
            data.X,
            data.target,
            data.folds,
            X_extra=extra,
            eps=self.eps,
            gamma=gamma,
            n_permutations=self.n_permutations,
            random_state=self.random_state,
        )
        self._target, self._mask = data.target, runs.mask
        self.coef_, self.intercept_ = self.decoding_.weights, self.decoding_.intercept
        self.eps_, self.gamma_ = self.decoding_.eps, self.decoding_.gamma
        self.n_features_in_ = data.X.shape[1]
        if self.task == "classification":
            self.classes_ = data.target.classes
        return self

    def save(self, path: str | Path) -> None:
        """Write parameters and results to a file, from which `load` restores the decoder.

        The file holds numbers and text only, no code. A mask that was given as an image is stored for
        predictions, and has to be passed to `load` as a parameter again.

        Parameters
        ----------
        path : str or Path
            The file, which is replaced if it exists.
        """
        check_is_fitted(self)
        stored = copy(self)
        results = vars(self.decoding_)
        stored._results = {name: _plain(value) for name, value in results.items()}
        stored._mask_arrays = None
        if self._mask is not None:
            stored._mask_arrays = (np.asarray(self._mask.dataobj, dtype=np.uint8), self._mask.affine)
        SavedModel.save(stored, path)

    def _after_load(self) -> None:
        results = vars(self).pop("_results")
        self.decoding_ = Decoding(
            **{
                name: pd.DataFrame(value) if isinstance(value, dict) else value
                for name, value in results.items()
            }
        )
        arrays = vars(self).pop("_mask_arrays")
        self._mask = None if arrays is None else Nifti1Image(*arrays)

    @property
    def coef_img_(self) -> SpatialImage | None:
        """Weights as an image; None if arrays were given."""
        check_is_fitted(self)
        if self._mask is None:
            return None
        weights = unmask(self.coef_, self._mask)
        weights.set_data_dtype(np.float32)  # else a file has the type of the mask, often 8 bits
        return weights

    def decision_function(self, X: Runs) -> NDArray[np.float64]:
        """Return the predicted columns (n_volumes, 1 or n_classes) of whole runs."""
        check_is_fitted(self)
        runs = self._read(X, self._mask)
        if runs.rows[0].shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {runs.rows[0].shape[1]} voxels: expected {self.n_features_in_}, as in fit"
            )
        rows = [self._features(part, np.zeros(len(part), int)) for part in runs.rows]
        return np.concatenate(rows) @ self.coef_.T + self.intercept_

    def predict(self, X: Runs) -> NDArray:
        """Return the number or class of each volume of whole runs."""
        return self._target.decide(self.decision_function(X))

    def _read(self, X: Runs, mask: ImageLike | None) -> BoldRuns:
        return read_runs(
            X, repetition_time=self.repetition_time, mask=mask, fwhm=self.fwhm, resample=self.resample
        )

    def _features(self, rows: NDArray, stretches: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the volumes of the stretches of a run without drifts, voxels standardized if asked for."""
        if self.standardize:
            rows = scale_voxels(rows)  # first, so that a constant voxel stays one
        filtered = self._filtered(rows, stretches)
        return scale_voxels(filtered) if self.standardize else filtered

    def _filtered(self, series: NDArray, stretches: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the volumes of the stretches, each filtered like a series of its own."""
        return np.concatenate(
            [
                without_drifts(
                    series[here], np.zeros(np.count_nonzero(here), int), self.repetition_time, self.high_pass
                )
                for here in _parts(stretches)
            ]
        )

    def _drifts(self, stretches: NDArray[np.int64]) -> list[NDArray[np.float64]]:
        """Return what `_filtered` removes from each stretch."""
        return [
            drift_basis(np.count_nonzero(here), self.repetition_time, self.high_pass)
            for here in _parts(stretches)
        ]

    def _prepare(self, runs: BoldRuns, values: list[NDArray]) -> _Data:
        repetition_time = check_repetition_time(self.repetition_time)
        gap = ceil(_seconds("gap", self.gap) / repetition_time)
        n_splits = whole_number("n_splits", self.n_splits, 2)
        stretches = stretches_of_runs(runs.lengths, n_splits, gap)
        parts = filtered_parts(stretches)
        X = [self._features(rows, part) for rows, part in zip(runs.rows, parts, strict=True)]
        if self.task == "regression":
            values = [
                self._filtered(Target.numbers(value).values, part)
                for value, part in zip(values, parts, strict=True)
            ]
        else:
            values = [value[part >= 0] for value, part in zip(values, parts, strict=True)]
        y = np.concatenate(values)
        stretch_of = np.concatenate([of[part >= 0] for of, part in zip(stretches, parts, strict=True)])
        run_of = np.repeat(np.arange(len(X)), [len(rows) for rows in X])
        used = np.ones(len(y), bool) if self.task == "regression" else y != ""
        if not used.any():
            raise ValueError("all volumes are of class '': expected volumes of two classes or more")
        if self.task == "regression":
            target = Target.numbers(y, block_diag(*[basis for part in parts for basis in self._drifts(part)]))
        else:
            target = Target.labels(y[used])
        folds = folds_of(run_of[used], stretch_of[used], n_splits, max(1, ceil(BLOCK * gap)))
        if self.task == "classification":
            _check_classes(target, folds)
        return _Data(np.concatenate(X)[used], target, folds)


def _plain(value: Any) -> Any:
    """Return the columns of a table, and other values unchanged."""
    if not isinstance(value, pd.DataFrame):
        return value
    return {str(name): column.to_numpy() for name, column in value.items()}


@dataclass(frozen=True)
class _Data:
    X: NDArray[np.float64]
    target: Target
    folds: Folds


def decode(
    runs: Runs,
    *,
    repetition_time: float,
    events: Sequence[pd.DataFrame] | pd.DataFrame | None = None,
    labels: Sequence[ArrayLike] | ArrayLike | None = None,
    target: str | None = None,
    contrast: Sequence[str] | None = None,
    groups: ArrayLike | None = None,
    X_extra: Runs | None = None,
    **parameters: Any,
) -> FMRIDecoder:
    """Decode a stimulus from runs of a scan.

    Parameters
    ----------
    runs : image, array, or sequence of them
        As in `FMRIDecoder.fit`.
    repetition_time : float
        Seconds between volumes.
    events : DataFrame or sequence of DataFrame, optional
        Events of each run: ``onset``, ``duration``, ``trial_type``. Either this or ``labels``.
    labels : array-like or sequence of array-like, optional
        Number or class of each volume, which should follow the response rather than the stimulus.
    target : str, optional
        With ``events``: the trial type whose expected response is predicted, a regression.
    contrast : sequence of str, optional
        Two or more trial types or classes to tell apart; other volumes are not used. With ``events``, a
        volume belongs to the type with the largest expected response. With neither ``target`` nor
        ``contrast``, numbers are predicted by regression, and classes are told apart.
    groups, X_extra
        As in `FMRIDecoder.fit`.
    **parameters
        Further parameters of `FMRIDecoder`.

    Returns
    -------
    FMRIDecoder
        Fitted decoder; ``decoding_`` has the results, ``decoding_.summary()`` a description.
    """
    if (events is None) == (labels is None):
        raise ValueError("both or neither of events and labels are given: expected one of them")
    if target is not None and (contrast is not None or labels is not None):
        raise ValueError("target is given with contrast or labels: expected it with events alone")
    decoder = FMRIDecoder(repetition_time, **parameters)
    if labels is not None:
        y, task = from_labels(labels, contrast)
    else:
        lengths = _separate(decoder._read(runs, decoder.mask), groups).lengths
        y, task = from_events(events, lengths, repetition_time, target, contrast)
    return decoder.set_params(task=task).fit(runs, y, groups, X_extra)


def folds_of(runs: NDArray[np.int64], stretches: NDArray[np.int64], n_splits: int, block: int) -> Folds:
    """Return folds of volumes: groups of whole runs, or the stretches of a single run, are held out."""
    numbers, run_of = np.unique(runs, return_inverse=True)
    outer = run_of % min(n_splits, len(numbers)) if len(numbers) > 1 else stretches
    if len(numbers) == 1 and stretches.min() < 0:
        raise ValueError("volumes in gaps between the stretches of a single run: expected none of them")
    folds = Folds(runs, outer, stretches, block)
    for train, test in folds.splits():
        if len(test) < 2:
            raise ValueError(f"a held-out part has {len(test)} volume: expected at least 2")
        if len(np.unique(stretches[train][stretches[train] >= 0])) < 2:
            raise ValueError(
                "the training volumes without a held-out part lie in fewer than 2 stretches: expected more "
                "volumes with a class, or more runs"
            )
    return folds


def _parts(stretches: NDArray[np.int64]) -> list[NDArray[np.bool_]]:
    """Return the volumes of each stretch of a run."""
    return [stretches == number for number in np.unique(stretches[stretches >= 0])]


def _check_classes(target: Target, folds: Folds) -> None:
    for name in target.classes:
        if len(np.unique(folds.outer[target.values == name])) < 2:
            raise ValueError(
                f"class {name} occurs in one held-out part only, so that it cannot be learned without it: "
                "expected each class in two runs or more, or in two stretches of a single run"
            )


def _separate(runs: BoldRuns, groups: ArrayLike | None) -> BoldRuns:
    """Divide one series into the runs that ``groups`` names, in order of their first volumes."""
    if groups is None:
        return runs
    groups = np.asarray(groups)
    if len(runs.rows) != 1:
        raise ValueError(f"groups with {len(runs.rows)} series: expected one series, or no groups")
    if groups.shape != (runs.lengths[0],):
        raise ValueError(
            f"groups has shape {groups.shape}: expected one run for each of {runs.lengths[0]} volumes"
        )
    borders = np.flatnonzero(groups[1:] != groups[:-1]) + 1
    if len(borders) + 1 != len(np.unique(groups)):
        raise ValueError("volumes of different groups alternate: expected the runs one after another")
    return BoldRuns(np.split(runs.rows[0], borders), runs.mask)


def _seconds(name: str, value: float) -> float:
    if not (isinstance(value, int | float | np.number) and 0 <= value < np.inf):
        raise ValueError(f"{name} is {value!r}: expected seconds of at least 0")
    return float(value)
