"""Independent stretches of a series in time, which can be held out."""

from collections.abc import Sequence
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import real_array, require_room, whole_number

#: Minimum number of stretches of a run that is cut: one is held out, and in turn one of the others.
MIN_STRETCHES = 4


def stretch_numbers(volumes: int, count: int, gap: int) -> NDArray[np.int64]:
    """Return the stretch, from 0, of each volume; -1 for the ``gap`` volumes between two stretches.

    The response to one stretch extends into the next, hence the gap. Stretches are about equally long.
    """
    gap, volumes = whole_number("gap", gap, 0), whole_number("volumes", volumes, 0)
    require_room((volumes,), f"a series of {volumes} volumes")
    if not 1 <= whole_number("count", count, 0) <= volumes:
        raise ValueError(f"{count} stretches: expected 1 to {volumes}, the number of volumes")
    numbers = np.arange(volumes) * count // volumes
    for border in np.flatnonzero(np.diff(numbers)) + 1:
        numbers[max(border - gap // 2, 0) : border - gap // 2 + gap] = -1
    if missing := sorted(set(range(count)) - set(numbers.tolist())):
        raise ValueError(
            f"nothing is left of stretch {missing[0]}: expected more than {gap} volumes in each of {count} "
            f"stretches of {volumes}"
        )
    return numbers


def stretches_of_runs(lengths: Sequence[int], folds: int, gap: int) -> list[NDArray[np.int64]]:
    """Return for each run the stretch of each volume, numbered over all runs; -1 for volumes left out.

    Whole runs are held out if there are several, else each of ``folds`` stretches in turn. The rest must be
    divisible too, for the selection of parameters. So one or two runs are cut, with ``gap`` volumes between
    stretches; of three or more, each run is a stretch. Those of two runs serve the selection only: there,
    drifts are removed from whole runs (`filtered_parts`), since removing them from short stretches also
    removes much of the response to a block design.
    """
    count = {1: max(MIN_STRETCHES, folds), 2: MIN_STRETCHES}.get(len(lengths), 1)
    parts = [stretch_numbers(volumes, count, gap) for volumes in lengths]
    return [np.where(part < 0, -1, part + run * count) for run, part in enumerate(parts)]


def filtered_parts(stretches: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Return for each run the parts from which drifts are removed separately; -1 for volumes left out.

    They are the parts that are held out as a whole: runs, or the stretches of a single run.
    """
    return list(stretches) if len(stretches) == 1 else [np.zeros_like(part) for part in stretches]


def drift_basis(volumes: int, repetition_time: float, cutoff: float | None = 512.0) -> NDArray[np.float64]:
    """Return the mean and the cosines that a high-pass filter of ``cutoff`` seconds removes, as columns."""
    volumes = whole_number("volumes", volumes, 0)
    for name, seconds in (("repetition_time", repetition_time), ("cutoff", cutoff)):
        if seconds is not None and not (isinstance(seconds, Real) and seconds > 0):
            raise ValueError(f"{name} is {seconds!r}: expected seconds above 0")
    slow = 0.0 if cutoff is None else 2 * volumes * repetition_time / cutoff
    # More cosines than volumes would repeat.
    if not slow <= 2 * volumes:
        raise ValueError(
            f"cutoff is {cutoff} s: expected at least {repetition_time} s, the time between two volumes"
        )
    slow = int(slow)
    orders = np.arange(slow + 1)
    return np.cos(np.pi * orders * (np.arange(volumes)[:, None] + 0.5) / volumes)


def without_drifts(
    series: ArrayLike,
    stretches: NDArray[np.int64],
    repetition_time: float,
    cutoff: float | None = 512.0,
) -> NDArray[np.float64]:
    """Remove the drifts from each stretch of time separately.

    A series that was high-pass filtered as a whole has no component along the cosines, so a component on the
    training part determines the one on the held-out part: a model that fits noise in the training part then
    correlates with the held-out part. Stretches without drifts do not leak this way.

    Parameters
    ----------
    series : array-like of shape (n_volumes,) or (n_volumes, n_columns)
    stretches : ndarray of shape (n_volumes,)
        Stretch of each volume; volumes with a negative number are left unchanged.
    repetition_time : float
        Seconds between volumes.
    cutoff : float or None, default=512.0
        Cutoff of the high-pass filter in seconds. None if there was none: only means are removed.
    """
    series, stretches = np.array(real_array(series, "series")), np.asarray(stretches)
    if not np.isfinite(series).all():
        raise ValueError("series has NaN or infinite values: expected finite ones")
    if stretches.dtype.kind not in "iu":
        raise ValueError(f"stretches are of type {stretches.dtype}: expected whole numbers")
    if len(stretches) != len(series):
        raise ValueError(f"{len(stretches)} stretch numbers: expected one for each of {len(series)} volumes")
    drifts = drift_basis(len(series), repetition_time, cutoff)
    for number in np.unique(stretches[stretches >= 0]):
        here = stretches == number
        if np.count_nonzero(here) <= drifts.shape[1] + 1:
            raise ValueError(
                f"stretch {number} has {np.count_nonzero(here)} volumes: expected more than "
                f"{drifts.shape[1] + 1}, for {drifts.shape[1]} drifts"
            )
        series[here] -= drifts[here] @ np.linalg.lstsq(drifts[here], series[here], rcond=None)[0]
    return series
