"""What a decoder predicts: a value or a class of each volume."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from nilearn.glm.first_level import make_first_level_design_matrix
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import real_array
from ermlab.cca.laplacian_kcca import column_correlations
from ermlab.fmri.glm import REQUIRED, check_events

#: Share of its largest response above which a volume belongs to a condition.
RESPONDING = 0.5


@dataclass(frozen=True)
class Target:
    """A target, as columns of numbers and as the values that are predicted.

    Attributes
    ----------
    values : ndarray of shape (n_volumes,)
        Number or class of each volume.
    columns : ndarray of shape (n_volumes, n_columns)
        The numbers; or -1 and 1 for two classes; or for each of several classes 1 in it and 0 elsewhere.
    classes : ndarray of shape (n_classes,)
        Sorted classes; empty for numbers.
    drifts : ndarray of shape (n_volumes, n_drifts) or None
        What was removed from volumes and numbers, and is removed from shuffled numbers.
    """

    values: NDArray
    columns: NDArray[np.float64]
    classes: NDArray
    drifts: NDArray[np.float64] | None = None

    @classmethod
    def numbers(cls, y: ArrayLike, drifts: NDArray[np.float64] | None = None) -> Self:
        """Return a target of numbers, from which the drifts have been removed."""
        y = real_array(y, "y")
        if y.ndim != 1 or not len(y):
            raise ValueError(f"y has shape {y.shape}: expected one number for each volume")
        wrong = np.flatnonzero(~np.isfinite(y))
        if len(wrong):
            raise ValueError(f"y[{wrong[0]}] is {y[wrong[0]]}: expected a finite number")
        return cls(y, y[:, None], np.empty(0), drifts)

    @classmethod
    def labels(cls, y: ArrayLike) -> Self:
        """Return a target of classes.

        Drifts stay in its columns: the volumes of a contrast are a few blocks of a run, and what differs
        between two blocks is slow, so that removing drifts would remove what is to be learned.
        """
        y = np.asarray(y)
        if y.ndim != 1 or not len(y):
            raise ValueError(f"y has shape {y.shape}: expected one class for each volume")
        missing = np.flatnonzero(pd.isna(y))
        if len(missing):
            raise ValueError(f"y[{missing[0]}] is {y[missing[0]]}: expected the class of each volume")
        if y.dtype == object:
            y = y.astype(str)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"all volumes are of class {classes[0]}: expected two classes or more")
        columns = (y[:, None] == classes).astype(np.float64)
        return cls(y, columns if len(classes) > 2 else 2 * columns[:, 1:] - 1, classes)

    @property
    def scoring(self) -> str:
        """Name of the score."""
        return "balanced accuracy" if len(self.classes) else "correlation"

    def decide(self, predicted: NDArray[np.float64]) -> NDArray:
        """Return numbers or classes for predicted columns."""
        if not len(self.classes):
            return predicted[:, 0]
        return self.classes[self._decide(predicted)]

    def reordered(self, orders: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the columns in other orders of the volumes, numbers without drifts.

        The shape is (n_volumes, n_orders * n_columns).
        """
        Y = np.moveaxis(self.columns[orders], 0, 1).reshape(orders.shape[1], -1)
        if self.drifts is None:
            return Y
        Q = np.linalg.qr(self.drifts)[0]
        return Y - Q @ (Q.T @ Y)

    def score(self, predicted: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
        """Return the score of predicted columns.

        The balanced accuracy is the mean over the classes that occur of the share that is recognized.
        """
        if not len(self.classes):
            return float(column_correlations(predicted, truth)[0])
        truth = self._decide(truth)
        counts = np.bincount(truth, minlength=len(self.classes))
        found = np.bincount(truth[self._decide(predicted) == truth], minlength=len(self.classes))
        return float(np.mean(found[counts > 0] / counts[counts > 0]))

    def _decide(self, columns: NDArray[np.float64]) -> NDArray[np.int64]:
        if len(self.classes) > 2:
            return columns.argmax(axis=1)
        return (columns[:, 0] > 0).astype(np.int64)


def response_columns(
    events: pd.DataFrame, volumes: int, repetition_time: float, reference_time: float = 0.0
) -> pd.DataFrame:
    """Return the expected response of each volume to each kind of event.

    Parameters
    ----------
    events : DataFrame
        ``onset`` and ``duration`` in seconds, and ``trial_type``.
    volumes : int
        Number of volumes.
    repetition_time : float
        Seconds between volumes.
    reference_time : float, default=0.0
        Seconds from the start of a volume to which it corresponds.

    Returns
    -------
    DataFrame of shape (volumes, n_types)
        Events convolved with the hemodynamic response of SPM.
    """
    times = np.arange(volumes) * repetition_time + reference_time
    events = events.assign(trial_type=events["trial_type"].astype(str))
    design = make_first_level_design_matrix(times, events, hrf_model="spm", drift_model=None)
    return design[sorted(set(events["trial_type"]))]


def condition_of_volumes(responses: pd.DataFrame, conditions: Sequence[str]) -> NDArray[np.str_]:
    """Return the condition of each volume, ``""`` for none.

    A volume belongs to the condition with the largest expected response, if this is at least half of its
    largest one in the run. Labels thus follow the response, which lags the event by seconds.
    """
    peaks = responses[list(conditions)].max().to_numpy()
    shown = responses[list(conditions)].to_numpy()
    relative = np.divide(shown, peaks, where=peaks > 0, out=np.zeros_like(shown))
    best = relative.argmax(axis=1)
    active = relative[np.arange(len(relative)), best] >= RESPONDING
    return np.where(active, np.array(conditions)[best], "")


def values_of_runs(y: ArrayLike | Sequence[ArrayLike], lengths: Sequence[int]) -> list[NDArray]:
    """Return the values of each run."""
    listed = isinstance(y, list | tuple) and len(y) > 0 and np.ndim(y[0]) == 1
    parts = [np.asarray(part) for part in y] if listed else [np.asarray(y)]
    if not listed and parts[0].ndim == 1 and len(parts[0]) == sum(lengths):
        return np.split(parts[0], np.cumsum(lengths)[:-1])
    if [part.shape for part in parts] != [(n,) for n in lengths]:
        raise ValueError(
            f"y has shapes {[part.shape for part in parts]}: expected {list(lengths)} values, one per volume"
        )
    return parts


def from_labels(labels: Sequence[ArrayLike] | ArrayLike, contrast: Sequence[str] | None) -> tuple[Any, str]:
    """Return the value of each volume, and the task; volumes outside of a contrast are of class ``""``."""
    listed = isinstance(labels, list | tuple) and len(labels) > 0 and np.ndim(labels[0]) == 1
    parts = [np.asarray(part) for part in labels] if listed else [np.asarray(labels)]
    if contrast is None and all(part.dtype.kind in "fiub" for part in parts):
        return labels, "regression"
    if contrast is not None:
        parts = [part.astype(str) for part in parts]
        _require_conditions(contrast, sorted({name for part in parts for name in part.tolist()}), "labels")
        parts = [np.where(np.isin(part, list(contrast)), part, "") for part in parts]
    return parts if listed else parts[0], "classification"


def from_events(
    events: Sequence[pd.DataFrame] | pd.DataFrame,
    lengths: Sequence[int],
    repetition_time: float,
    target: str | None,
    contrast: Sequence[str] | None,
) -> tuple[list[NDArray], str]:
    """Return the value of each volume of each run from events, and the task."""
    tables = [events] if isinstance(events, pd.DataFrame) else list(events)
    if len(tables) != len(lengths):
        raise ValueError(f"{len(tables)} tables of events: expected one for each of {len(lengths)} runs")
    responses = []
    for table, n in zip(tables, lengths, strict=True):
        known = (
            table[[name for name in REQUIRED if name in table]] if isinstance(table, pd.DataFrame) else table
        )
        responses.append(response_columns(check_events(known, n * repetition_time), n, repetition_time))
    names = sorted({name for response in responses for name in response})
    if target is not None:
        _require_conditions([target], names, "events", least=1)
        without = [number for number, response in enumerate(responses) if target not in response]
        if without:
            raise ValueError(f"run {without[0]} has no event {target!r}: expected one in each run")
        return [response[target].to_numpy() for response in responses], "regression"
    wanted = names if contrast is None else list(contrast)
    _require_conditions(wanted, names, "events")
    return [
        condition_of_volumes(response, [name for name in wanted if name in response])
        for response in responses
    ], "classification"


def _require_conditions(wanted: Sequence[str], known: Sequence[str], what: str, least: int = 2) -> None:
    if isinstance(wanted, str) or len(set(wanted)) < least:
        raise ValueError(f"conditions are {wanted!r}: expected {least} or more different ones")
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"no {unknown[0]!r} in the {what}: expected some of {', '.join(known)}")
