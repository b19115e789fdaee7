"""The Haxby slice as two views: standardized volumes, and one series per category."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import detrend

from ermlab._utils.array_files import ArrayFile
from reproduction.datasets.haxby2001_slice import REST, HaxbySlice
from reproduction.experiments.fmri_studies.movie_series import positions


@dataclass(frozen=True)
class HaxbySeries(ArrayFile):
    """Volumes and category series, detrended run by run."""

    volumes: NDArray[np.float64]  #: (volumes, voxels of the mask)
    categories: NDArray[np.float64]  #: (volumes, categories)
    names: NDArray[np.str_]  #: of the categories
    runs: NDArray[np.int64]
    mask: NDArray[np.bool_]  #: (x, y, z)
    affine: NDArray[np.float64]  #: voxel to millimeters

    def category(self, *names: str) -> NDArray[np.float64]:
        """Return the series of the named categories (volumes, names)."""
        return self.categories[:, positions(names, self.names, "categories")]


def prepare_haxby(data: HaxbySlice) -> HaxbySeries:
    """Remove mean and linear trend from each run, and scale every voxel to unit variance within the run.

    The series of a category is its indicator over volumes, detrended the same way. The labels in the file
    follow the response rather than the stimulus: shifted by one volume in either direction they explain less
    of the data, and convolved with a haemodynamic response, which delays them once more, hardly anything.
    """
    names = sorted(set(data.labels.tolist()) - {REST})
    if not names:
        raise ValueError(f"all volumes are {REST!r}: expected volumes of at least one category")
    indicators = np.column_stack([data.labels == name for name in names]).astype(np.float64)
    volumes = detrend_runs(data.bold[data.mask].T, data.runs)
    for run in np.unique(data.runs):
        here = data.runs == run
        deviation = volumes[here].std(axis=0)
        # A voxel without signal has rounding errors only, and keeps them.
        volumes[here] /= np.where(deviation > 1e-9 * deviation.max(initial=0), deviation, 1.0)
    categories = detrend_runs(indicators, data.runs)
    return HaxbySeries(volumes, categories, np.array(names), data.runs, data.mask, data.affine)


def detrend_runs(series: ArrayLike, runs: NDArray) -> NDArray[np.float64]:
    """Subtract the least-squares line from every column, run by run."""
    series = np.array(series, dtype=np.float64)
    if len(runs) != len(series):
        raise ValueError(f"runs of length {len(runs)}: expected one for each of {len(series)} volumes")
    for run in np.unique(runs):
        here = np.asarray(runs) == run
        series[here] = detrend(series[here], axis=0)
    return series
