"""Stretches of a series in time that know nothing of each other, so that some can be held out."""

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import real_array, require_room, whole_number


def stretch_numbers(volumes: int, count: int, gap: int) -> NDArray[np.int64]:
    """Return the stretch, from 0, of each volume; -1 between two stretches, where ``gap`` are left out.

    What happens in one stretch lasts into the next; the gap is for that. Stretches are about equally long.
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


def drift_basis(volumes: int, repetition_time: float, cutoff: float | None = 512.0) -> NDArray[np.float64]:
    """Return what a high-pass of ``cutoff`` seconds takes out, and the mean: cosines (volumes, number)."""
    volumes = whole_number("volumes", volumes, 0)
    for name, seconds in (("repetition_time", repetition_time), ("cutoff", cutoff)):
        if seconds is not None and not (isinstance(seconds, Real) and seconds > 0):
            raise ValueError(f"{name} is {seconds!r}: expected seconds above 0")
    slow = 0.0 if cutoff is None else 2 * volumes * repetition_time / cutoff
    # More cosines than volumes would be the same ones again.
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
    """Take the drifts out of each stretch of time by itself.

    A series that was high-passed as a whole has no component along the cosines, so what a model that fits one
    part of it does there fixes those components on the other part, too: a model of nothing that fits the
    training part then correlates with what is held out. Nothing is left of this in stretches without them.

    Parameters
    ----------
    stretches
        Number of each volume's stretch; volumes of no stretch, with negative numbers, stay as they are.
    cutoff
        Of the high-pass, in seconds; None: there was none, and means alone are taken out.
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
