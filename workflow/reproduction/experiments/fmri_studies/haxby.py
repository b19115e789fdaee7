"""The Haxby slice as two views: standardised volumes, and a series for each category."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import detrend

from reproduction.datasets.haxby2001_slice import REST, HaxbySlice


@dataclass(frozen=True)
class HaxbySeries:
    """Volumes and category series, run by run without mean and trend."""

    volumes: NDArray[np.float64]  #: (volumes, voxels of the mask)
    categories: NDArray[np.float64]  #: (volumes, categories)
    names: tuple[str, ...]
    runs: NDArray[np.int64]


def prepare_haxby(data: HaxbySlice) -> HaxbySeries:
    """Take mean and linear trend out of each run, and scale every voxel to variance 1 within the run.

    The series of a category is 1 where the file names it, detrended alike. The file's labels follow the
    response rather than the pictures: moved by a volume either way they explain less of the data, and
    convolved with a haemodynamic response, which delays them once more, hardly anything.
    """
    names = tuple(sorted(set(data.labels.tolist()) - {REST}))
    if not names:
        raise ValueError(f"all volumes are {REST!r}: expected volumes of at least one category")
    indicators = np.column_stack([data.labels == name for name in names]).astype(np.float64)
    volumes = detrend_runs(data.bold[data.mask].T, data.runs)
    for run in np.unique(data.runs):
        here = data.runs == run
        deviation = volumes[here].std(axis=0)
        # A voxel without signal has rounding errors only, and stays at them.
        volumes[here] /= np.where(deviation > 1e-9 * deviation.max(initial=0), deviation, 1.0)
    return HaxbySeries(volumes, detrend_runs(indicators, data.runs), names, data.runs)


def detrend_runs(series: ArrayLike, runs: NDArray) -> NDArray[np.float64]:
    """Take the line of least squares out of every column, run by run."""
    series = np.array(series, dtype=np.float64)
    if len(runs) != len(series):
        raise ValueError(f"runs of length {len(runs)}: expected one for each of {len(series)} volumes")
    for run in np.unique(runs):
        here = np.asarray(runs) == run
        series[here] = detrend(series[here], axis=0)
    return series
