"""Slice-time correction (thesis, section 4.1.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import real_array
from ermlab.fmri.images import (
    ImageLike,
    SpatialImage,
    as_series,
    check_repetition_time,
    check_slice_times,
    series_like,
    volumes_first,
)


def reference_time(slice_times: ArrayLike) -> float:
    """Return the acquisition time of the middle slice, the reference of `correct_slice_timing`."""
    times = np.sort(real_array(slice_times, "slice_times").ravel())
    if not len(times):
        raise ValueError("slice_times is empty: expected one time per slice")
    if not np.isfinite(times).all():
        raise ValueError(f"slice_times is {times.tolist()}: expected finite seconds")
    return float(times[len(times) // 2])


def correct_slice_timing(
    img: ImageLike, slice_times: ArrayLike, repetition_time: float, *, axis: int = 2
) -> SpatialImage:
    """Shift the series of each slice in time to that of the middle slice, by sinc interpolation.

    As in SPM, the phase of the Fourier transform is shifted, and a straight line from the last value back to
    the first keeps the ends of the series apart. Each volume then shows the brain `reference_time` seconds
    after its start.

    Parameters
    ----------
    img : image or str or Path
        A series.
    slice_times : array-like of shape (n_slices,)
        Seconds from the start of a volume at which each slice is acquired.
    repetition_time : float
        Seconds between volumes.
    axis : {0, 1, 2}, default=2
        Axis of the slices.
    """
    img = as_series(img)
    repetition_time = check_repetition_time(repetition_time, img)
    if axis not in (0, 1, 2):
        raise ValueError(f"axis is {axis!r}: expected 0, 1 or 2")
    axis = int(axis)
    times = check_slice_times(slice_times, img.shape[axis], repetition_time)
    shifts = (reference_time(times) - times) / repetition_time
    volumes = volumes_first(img)
    for number in np.flatnonzero(shifts):
        place = (slice(None),) * (axis + 1) + (number,)
        volumes[place] = _shifted(volumes[place], shifts[number])
    return series_like(img, volumes)


def _shifted(series: NDArray[np.float32], shift: float) -> NDArray[np.float64]:
    """Return a series of shape (n_volumes, ...) at the times ``i + shift``."""
    n = len(series)
    rows = series.reshape(n, -1)
    closing = np.linspace(0, 1, n + 2)[1:-1, None]
    closed = np.concatenate([rows, rows[-1] + closing * (rows[0] - rows[-1])])
    spectrum = np.fft.rfft(closed, axis=0)
    spectrum *= np.exp(2j * np.pi * np.fft.rfftfreq(2 * n) * shift)[:, None]
    return np.fft.irfft(spectrum, n=2 * n, axis=0)[:n].reshape(series.shape)
